package models

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

// choose returns what is chosen with these variables.
func choose(t *testing.T, name string, set settings.Model, home string, pairs ...string) (choice, error) {
	t.Helper()
	vars := map[string]string{"ADZE_LOCAL_MODELS": "off"}
	for _, kv := range pairs {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	c := newChooser(set, variables{getenv: func(name string) string { return vars[name] }, home: home})
	found, ok, err := c.choose(name, name != "")
	if !ok {
		t.Fatalf("%v: %v %v", pairs, ok, err)
	}
	return found, err
}

// Azure OpenAI has two kinds of addresses; a URL with a path is used as it is.
func TestAzureAddress(t *testing.T) {
	t.Parallel()
	const key, at = "AZURE_OPENAI_API_KEY=k", "AZURE_OPENAI_ENDPOINT=https://own.openai.azure.com/"
	entry := settings.Model{Providers: map[string][]settings.Provider{
		"azure-openai": {{ID: "own", BaseURL: "https://own.openai.azure.com", EnvKey: "MINE"}},
	}}
	for _, tt := range []struct {
		name string
		set  settings.Model
		vars []string
		want string
	}{
		{"", settings.Model{}, []string{key, at, "AZURE_OPENAI_DEPLOYMENT=gpt"}, "azure-openai gpt https://own.openai.azure.com/openai/v1 api-key k"},
		{"gpt 5/x", settings.Model{}, []string{key, at, "OPENAI_API_VERSION=2024-10-21"}, "azure-openai gpt 5/x https://own.openai.azure.com/openai/deployments/gpt%205/x?api-version=2024-10-21 api-key k"},
		{"gpt", settings.Model{}, []string{key, at, "AZURE_OPENAI_API_VERSION=v1"}, "azure-openai gpt https://own.openai.azure.com/openai/v1 api-key k"},
		{"gpt", settings.Model{}, []string{key, "AZURE_OPENAI_ENDPOINT=https://proxy.example/azure?a=b", "OPENAI_API_VERSION=x"}, "azure-openai gpt https://proxy.example/azure?a=b api-key k"},
		{"gpt", settings.Model{AuthType: "azure-openai"}, []string{key, at, "OPENAI_API_KEY=o"}, "azure-openai gpt https://own.openai.azure.com/openai/v1 api-key k"},
		{"own", entry, []string{key, "MINE=m"}, "azure-openai own https://own.openai.azure.com/openai/v1 api-key m"},
	} {
		found, err := choose(t, tt.name, tt.set, "", tt.vars...)
		o := found.options
		got := strings.Join(strings.Fields(fmt.Sprint(found.provider.name, " ", o.Model, " ", o.BaseURL, " ", o.KeyHeader, " ", o.Key)), " ")
		if err != nil || got != tt.want {
			t.Errorf("%v:\n%s %v, want\n%s", tt.vars, got, err, tt.want)
		}
	}
	if _, err := choose(t, "gpt", settings.Model{}, "", key); err == nil || !strings.Contains(err.Error(), "Set AZURE_OPENAI_ENDPOINT") {
		t.Errorf("without a server: %v", err)
	}
	if _, err := choose(t, "", settings.Model{}, "", key, at); err == nil || !strings.Contains(err.Error(), "AZURE_OPENAI_DEPLOYMENT") {
		t.Errorf("without a deployment: %v", err)
	}
}

// replay answers each request with the next of some recorded answers.
func replay(t *testing.T, check func(*http.Request, string), answers ...string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		check(r, string(body))
		if len(answers) == 0 {
			t.Errorf("unexpected request: %s %s", r.Method, r.URL)
			return
		}
		next := answers[0]
		answers = answers[1:]
		if strings.HasPrefix(next, "{") {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, next)
	}))
	t.Cleanup(s.Close)
	return s
}

// said returns the text, the calls and the tokens of an answer.
func said(ctx context.Context, m model.Model) (string, error) {
	var b strings.Builder
	for e, err := range m.Stream(ctx, model.Request{Messages: []model.Message{model.Prompt("hi")}}) {
		if err != nil {
			return b.String(), err
		}
		switch e := e.(type) {
		case model.Text:
			b.WriteString(string(e))
		case model.Call:
			fmt.Fprintf(&b, "%s%s", e.Name, e.Args)
		case model.Usage:
			fmt.Fprintf(&b, " %d+%d", e.Input, e.Output)
		}
	}
	return b.String(), nil
}

// An Azure stream begins with the results of the prompt's filter, without an answer, and has those of the answer's
// filter in every event.
const azureStream = `data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":false,"detected":false}}}]}

data: {"choices":[{"content_filter_results":{},"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1,"id":"chatcmpl-1","model":"gpt-4.1-2025-04-14","object":"chat.completion.chunk","system_fingerprint":"fp_1"}

data: {"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"delta":{"content":"Hello"},"finish_reason":null,"index":0,"logprobs":null}],"created":1,"id":"chatcmpl-1","model":"gpt-4.1-2025-04-14","object":"chat.completion.chunk"}

data: {"choices":[{"content_filter_results":{},"delta":{},"finish_reason":"stop","index":0,"logprobs":null}],"created":1,"id":"chatcmpl-1","model":"gpt-4.1-2025-04-14","object":"chat.completion.chunk"}

data: {"choices":[],"created":1,"id":"chatcmpl-1","model":"gpt-4.1-2025-04-14","object":"chat.completion.chunk","usage":{"completion_tokens":2,"prompt_tokens":8,"total_tokens":10}}

data: [DONE]

`

// A conversation with Azure OpenAI: the key is in its own header, and nowhere else. A deployment that doesn't exist is
// an unknown model, not a wrong URL.
func TestAzure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ version, path string }{
		{"2024-10-21", "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"},
		{"", "/openai/v1/chat/completions"},
	} {
		var paths []string
		s := replay(t, func(r *http.Request, _ string) {
			paths = append(paths, r.URL.String())
			if r.Header.Get("Api-Key") != "secret-key" || r.Header.Get("Authorization") != "" {
				t.Errorf("headers: %v", r.Header)
			}
		}, azureStream, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}`,
			`{"error":{"code":"404","message":"Resource not found"}}`, `{"error":{"code":"404","message":"Resource not found"}}`)
		found, err := choose(t, "gpt", settings.Model{}, "", "AZURE_OPENAI_API_KEY=secret-key", "AZURE_OPENAI_ENDPOINT="+s.URL, "AZURE_OPENAI_API_VERSION="+tt.version)
		if err != nil {
			t.Fatal(err)
		}
		m, err := found.open(t.Context(), func([]api.Info) {})
		if err != nil {
			t.Fatal(err)
		}
		got, err := said(t.Context(), m)
		if err != nil || got != "Hello 8+2" || paths[0] != tt.path {
			t.Errorf("%q %v %v", got, err, paths)
		}
		if _, err = said(t.Context(), m); err == nil || !strings.Contains(err.Error(), "deployment for this resource does not exist") || strings.Contains(err.Error(), "base URL") {
			t.Errorf("%v", err)
		}
		m.Close()
	}
}

// A recorded answer of Vertex AI.
const vertexStream = `data: {"candidates": [{"content": {"role": "model","parts": [{"text": "Hello"}]}}],"usageMetadata": {"trafficType": "ON_DEMAND"},"modelVersion": "gemini-2.5-flash","createTime": "2025-10-01T00:00:00.000000Z","responseId": "a"}

data: {"candidates": [{"content": {"role": "model","parts": [{"functionCall": {"name": "clock","args": {}},"thoughtSignature": "c2ln"}]},"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 4,"candidatesTokenCount": 3,"totalTokenCount": 27,"trafficType": "ON_DEMAND","thoughtsTokenCount": 20},"modelVersion": "gemini-2.5-flash","responseId": "a"}

`

// A conversation with Vertex AI: the login is gcloud's, and one token serves both requests.
func TestVertex(t *testing.T) {
	t.Parallel()
	home, tokens := t.TempDir(), 0
	logins := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens++
		if r.FormValue("grant_type") != "refresh_token" || r.FormValue("refresh_token") != "refresh" || r.FormValue("client_secret") != "shh" {
			t.Errorf("login: %v", r.Form)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"ya29.token","expires_in":3599,"token_type":"Bearer"}`)
	}))
	defer logins.Close()
	file := filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]string{
		"type": "authorized_user", "client_id": "id", "client_secret": "shh", "refresh_token": "refresh", "quota_project_id": "own-project",
		"token_uri": logins.URL,
	})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := replay(t, func(r *http.Request, _ string) {
		if r.Header.Get("Authorization") != "Bearer ya29.token" || r.Header.Get("X-Goog-Api-Key") != "" {
			t.Errorf("headers: %v", r.Header)
		}
		if r.Method == http.MethodPost && r.URL.String() != "/v1/projects/own-project/locations/europe-west4/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse" {
			t.Errorf("path %s", r.URL)
		}
	}, vertexStream, `{"error":{"code":404,"message":"Publisher Model gemini-2.5-flash was not found for ya29.token","status":"NOT_FOUND"}}`, `{"error":{"code":404,"message":"none"}}`)
	vars := []string{"GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_API_KEY=other", "GOOGLE_CLOUD_LOCATION=europe-west4", "GOOGLE_VERTEX_BASE_URL=" + s.URL}
	found, err := choose(t, "gemini-2.5-flash", settings.Model{}, home, vars...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := found.provider.open(t.Context(), found.options)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got, err := said(t.Context(), m); err != nil || got != "Helloclock{} 4+23" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := said(t.Context(), m); err == nil || strings.Contains(err.Error(), "ya29") {
		t.Errorf("the error has the token, or there is none: %v", err)
	}
	if tokens != 1 {
		t.Errorf("%d logins", tokens)
	}
}

// Vertex AI is used if the user says so; its models aren't listed.
func TestVertexChoice(t *testing.T) {
	t.Parallel()
	for _, vars := range [][]string{{"GOOGLE_CLOUD_PROJECT=p"}, {"GOOGLE_CLOUD_PROJECT=p", "GOOGLE_GENAI_USE_VERTEXAI=false"}} {
		c := newChooser(settings.Model{}, variables{getenv: func(name string) string {
			for _, kv := range vars {
				if value, ok := strings.CutPrefix(kv, name+"="); ok {
					return value
				}
			}
			return ""
		}})
		if found, ok, err := c.choose("", false); ok || err != nil {
			t.Errorf("%v: %v %v", vars, found, err)
		}
	}
	if _, err := choose(t, "", settings.Model{}, t.TempDir(), "GOOGLE_GENAI_USE_VERTEXAI=1"); err == nil || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Errorf("without a file: %v", err)
	}
	m := &Models{opened: map[string]opening{}, settings: &settings.Settings{}, env: project.Env{Getenv: func(name string) string {
		return map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_DEPLOYMENT": "gpt", "ADZE_LOCAL_MODELS": "off"}[name]
	}}}
	list, errs := m.List(t.Context())
	if len(errs) != 0 || len(list) != 2 || list[0].ID != "gpt" || list[1].ID != "gemini-2.5-pro" {
		t.Errorf("%v %v", list, errs)
	}
}
