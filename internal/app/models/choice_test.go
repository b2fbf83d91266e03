package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// chosen returns a choice in a line: API, model, base URL, key, where the key is from.
func chosen(c choice) string {
	o := c.options
	return strings.Join(strings.Fields(strings.Join([]string{c.provider.name, o.Model, o.BaseURL, o.Key, "(" + o.KeyName + ")"}, " ")), " ")
}

func TestChoice(t *testing.T) {
	const entries = `{
		"openai": [{"id": "qwen3/coder:free", "baseUrl": "https://q.example/v1", "envKey": "DASH"}, {"id": "claude-mine", "baseUrl": "http://127.0.0.1:1"}],
		"anthropic": [{"id": "glm", "envKey": "ZAI"}, {"id": "claude-own"}]}`
	for _, tt := range []struct {
		name string
		vars string // NAME=VALUE, separated by blanks
		flag string // --model
		file string // model.name in a file
		auth string
		list string // modelProviders
		want string // the choice, an error with "error: ", or "" for a local server
	}{
		{"nothing", "", "", "", "", "", ""},
		{"the only key", "OPENAI_API_KEY=k", "", "", "", "", "openai k (OPENAI_API_KEY)"},
		{"the only key, with a name", "OPENAI_API_KEY=k OPENAI_MODEL=gpt", "", "", "", "", "openai gpt k (OPENAI_API_KEY)"},
		{"Anthropic's key", "ANTHROPIC_API_KEY=a", "", "", "", "", "anthropic a (ANTHROPIC_API_KEY)"},
		{"Google's key", "GOOGLE_API_KEY=g", "", "", "", "", "gemini g (GOOGLE_API_KEY)"},
		{"two keys for Gemini", "GOOGLE_API_KEY=g GEMINI_API_KEY=h", "", "", "", "", "gemini h (GEMINI_API_KEY)"},
		{"a base URL, without a key", "OPENAI_BASE_URL=http://u", "", "", "", "", "openai http://u (OPENAI_API_KEY)"},
		{"a base URL beats the only key", "OPENAI_BASE_URL=http://u ANTHROPIC_API_KEY=a", "x", "", "", "", "openai x http://u (OPENAI_API_KEY)"},
		{"claude with its key beats a base URL", "OPENAI_BASE_URL=http://u ANTHROPIC_API_KEY=a", "claude-9", "", "", "", "anthropic claude-9 a (ANTHROPIC_API_KEY)"},
		{"claude without its key", "OPENAI_BASE_URL=http://u", "claude-9", "", "", "", "openai claude-9 http://u (OPENAI_API_KEY)"},
		{"gemini with its key", "OPENAI_API_KEY=k GEMINI_API_KEY=g GOOGLE_GEMINI_BASE_URL=http://p", "gemini-9", "", "", "", "gemini gemini-9 http://p g (GEMINI_API_KEY)"},
		{"another name with several keys", "OPENAI_API_KEY=k GEMINI_API_KEY=g", "gpt-9", "", "", "", "openai gpt-9 k (OPENAI_API_KEY)"},
		{"several keys", "OPENAI_API_KEY=k ANTHROPIC_API_KEY=a", "", "", "", "",
			"error: several API keys are set, but no model is selected\nUse --model NAME or --auth-type TYPE. Set are: OPENAI_API_KEY (openai), ANTHROPIC_API_KEY (anthropic)."},
		{"several keys, and a name of none", "GEMINI_API_KEY=k ANTHROPIC_API_KEY=a", "x", "", "", "", "error: several API keys are set, and the name \"x\" selects none of them\nUse --auth-type TYPE."},
		{"several keys, one with a name", "OPENAI_API_KEY=k ANTHROPIC_API_KEY=a ANTHROPIC_MODEL=sonnet", "", "", "", "", "anthropic sonnet a (ANTHROPIC_API_KEY)"},
		{"several keys and names", "OPENAI_API_KEY=k OPENAI_MODEL=m ANTHROPIC_API_KEY=a ANTHROPIC_MODEL=sonnet", "", "", "", "", "error: several API keys"},
		{"a key for searches isn't Gemini's", "OPENAI_API_KEY=k GOOGLE_API_KEY=g GOOGLE_SEARCH_ENGINE_ID=1", "", "", "", "", "openai k (OPENAI_API_KEY)"},

		{"the API decides", "OPENAI_API_KEY=k ANTHROPIC_API_KEY=a", "", "", "anthropic", "", "anthropic a (ANTHROPIC_API_KEY)"},
		{"the API limits names", "OPENAI_API_KEY=k ANTHROPIC_API_KEY=a", "claude-9", "", "openai", "", "openai claude-9 k (OPENAI_API_KEY)"},
		{"responses", "OPENAI_API_KEY=k OPENAI_MODEL=m", "", "", "openai-responses", "", "openai-responses m k (OPENAI_API_KEY)"},
		{"an API without a key", "OPENAI_API_KEY=k", "", "", "gemini", "", "error: no API key for gemini\nSet GEMINI_API_KEY."},
		{"openai without a key may be local", "", "", "", "openai", "", ""},

		{"the flag beats variables and files", "OPENAI_API_KEY=k OPENAI_MODEL=m", "flag", "file", "", "", "openai flag k (OPENAI_API_KEY)"},
		{"variables beat files", "OPENAI_API_KEY=k OPENAI_MODEL=m", "", "file", "", "", "openai m k (OPENAI_API_KEY)"},
		{"a name in a file", "OPENAI_API_KEY=k ANTHROPIC_API_KEY=a", "", "claude-9", "", "", "anthropic claude-9 a (ANTHROPIC_API_KEY)"},

		{"an entry, with slashes and colons", "DASH=d OPENAI_BASE_URL=http://u", "qwen3/coder:free", "", "", entries, "openai qwen3/coder:free https://q.example/v1 d (DASH)"},
		{"an entry beats the family", "ANTHROPIC_API_KEY=a", "claude-mine", "", "", entries, "openai claude-mine http://127.0.0.1:1 ()"},
		{"an entry without a URL has the API's key", "ANTHROPIC_API_KEY=a", "claude-own", "", "", entries, "anthropic claude-own a (ANTHROPIC_API_KEY)"},
		{"an entry of another API", "OPENAI_API_KEY=k ZAI=z", "glm", "", "openai", entries, "openai glm k (OPENAI_API_KEY)"},
		{"an entry without its key", "OPENAI_API_KEY=k", "glm", "", "", entries, "anthropic glm (ZAI) needs ZAI"},
		{"entries and no name", "", "", "", "", entries, "error: no model is selected\nUse --model with one of: qwen3/coder:free, claude-mine, glm, claude-own."},
		{"one entry and no name", "", "", "", "", `{"openai":[{"id":"one","baseUrl":"http://1"}]}`, "openai one http://1 ()"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			vars := map[string]string{}
			for _, kv := range strings.Fields(tt.vars) {
				name, value, _ := strings.Cut(kv, "=")
				vars[name] = value
			}
			set := settings.Model{AuthType: tt.auth}
			if tt.list != "" {
				if err := json.Unmarshal([]byte(tt.list), &set.Providers); err != nil {
					t.Fatal(err)
				}
			}
			name := tt.file
			if tt.flag != "" {
				name = tt.flag
			}
			c := newChooser(set, variables{getenv: func(name string) string { return vars[name] }})
			found, ok, err := c.choose(name, tt.flag != "")
			got := ""
			switch {
			case err != nil:
				if got = "error: " + err.Error(); !errors.Is(err, project.ErrModel) {
					t.Errorf("the error is of kind %v", err)
				}
			case ok:
				got = chosen(found)
				if found.key != "" {
					got += " needs " + found.key
				}
			}
			if got != tt.want && !(strings.HasPrefix(tt.want, "error: ") && strings.HasPrefix(got, tt.want)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The configuration of an entry is passed to the adapter.
func TestEntryOptions(t *testing.T) {
	var e settings.Provider
	if err := json.Unmarshal([]byte(`{"id":"m","baseUrl":"http://u","generationConfig":{"contextWindowSize":5,"timeout":1500,"maxRetries":2,
		"samplingParams":{"temperature":0.1},"customHeaders":{"X-A":"b"},"extra_body":{"c":{"d":1}}}}`), &e); err != nil {
		t.Fatal(err)
	}
	o := newChooser(settings.Model{}, variables{}).fromEntry(providers()[0], e).options
	got := fmt.Sprintf("%v %v %d %d %s %v %s", o.FirstByte, o.NextByte, o.Retry.Times, o.Retry.Most, o.Sampling["temperature"], o.Headers, o.Extra["c"])
	if want := `1.5s 1.5s 2 2 0.1 map[X-A:b] {"d":1}`; got != want {
		t.Errorf("got %s", got)
	}
	set := &settings.Settings{Model: settings.Model{Window: 9, Providers: map[string][]settings.Provider{"gemini": {e}}}}
	if got := (&Models{settings: set}).ContextWindow("m"); got != 5 {
		t.Errorf("window %d", got)
	}
}

// The .env files of the user are read, the environment first, and a project's is not.
func TestDotenv(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(home, ".adze", ".env"): "# keys\nexport OPENAI_API_KEY='from adze' # mine\nA = plain # comment\r\nB=\"x # y\"\nnonsense\n",
		filepath.Join(home, ".qwen", ".env"): "\ufeffOPENAI_API_KEY=from-qwen\nGEMINI_API_KEY=from-qwen\n",
		filepath.Join(dir, ".env"):           "ANTHROPIC_API_KEY=stolen\nOPENAI_BASE_URL=http://elsewhere\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	env := project.Env{Home: home, Getenv: func(name string) string { return map[string]string{"C": " environment "}[name] }}
	v := readVariables(env, filepath.Join(home, ".adze"))
	for name, want := range map[string]string{
		"OPENAI_API_KEY": "from adze", "GEMINI_API_KEY": "from-qwen", "ANTHROPIC_API_KEY": "", "OPENAI_BASE_URL": "", "A": "plain", "B": "x # y", "C": "environment",
	} {
		if got := v.get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := v.first([]string{"GEMINI_API_KEY"}).String(); got != "GEMINI_API_KEY ("+filepath.Join(home, ".qwen", ".env")+")" {
		t.Errorf("named %s", got)
	}
}

// Without a name, a model is used that the server has.
func TestDefaultName(t *testing.T) {
	for _, tt := range []struct {
		models []string
		want   string
	}{
		{[]string{"a", "gpt-5.5", "b"}, "gpt-5.5"},
		{[]string{"only"}, "only"},
		{[]string{"a", "b"}, "no model is selected, and the default gpt-5.5 is not available at URL\nUse --model with one of: a, b."},
		{[]string{}, "no models at URL\nLoad a model in the server, or set OPENAI_MODEL."},
	} {
		srv := openaitest.Serve(t, openaitest.Script{Models: tt.models})
		c := newChooser(settings.Model{}, variables{getenv: func(name string) string { return map[string]string{"OPENAI_BASE_URL": srv.URL}[name] }})
		found, ok, err := c.choose("", false)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		m, err := found.open(t.Context(), func([]api.Info) {})
		got := ""
		if err == nil {
			got = m.Name()
			m.Close()
		} else if got = strings.ReplaceAll(err.Error(), srv.URL, "URL"); !errors.Is(err, project.ErrModel) {
			t.Errorf("the error is of kind %v", err)
		}
		if got != tt.want {
			t.Errorf("%q: got %q", tt.models, got)
		}
	}
}

// A variable that has a key by the settings reaches no command.
func TestKeysOfEntriesStayHere(t *testing.T) {
	set := settings.Model{Providers: map[string][]settings.Provider{"openai": {{ID: "m", EnvKey: "MINE"}}}}
	got := WithoutKeys([]string{"A=1", "MINE=secret", "B=2"}, set)
	if fmt.Sprint(got) != "[A=1 B=2]" {
		t.Errorf("got %q", got)
	}
}
