package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loadModel reads settings from Qwen Code's, Adze's and a trusted project's file.
func loadModel(t *testing.T, qwen, adze, project string, flags ...Flag) (*Settings, error) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(home, ".qwen"): qwen, filepath.Join(home, ".adze"): adze, filepath.Join(dir, ".adze"): project,
	} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(path, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(Sources{UserHome: home, AdzeHome: filepath.Join(home, ".adze"), Project: dir, Trusted: true, Flags: flags})
}

func TestModelSettings(t *testing.T) {
	s, err := loadModel(t,
		`{"security":{"auth":{"selectedType":"openai"}},"modelProviders":{"openai":[{"id":"a","name":"A","baseUrl":"http://q"},{"id":"b"}],"bedrock":[]},"modelPricing":{"a":{"input":1}}}`,
		`{"modelProviders":{"openai":[{"id":"a","baseUrl":"http://adze","generationConfig":{"maxRetries":0}}],"gemini":[{"id":"c"}]},"modelPricing":{"b":{"output":2,"cacheWrite":0.5}},"model":{"name":"m","reasoningEffort":"low"}}`,
		`{"modelProviders":{"openai":[{"id":"evil"}]},"model":{"reasoningEffort":"high"}}`,
		Flag{Name: "--auth-type", Key: "security.auth.selectedType", Value: "gemini"}, Flag{Name: "--effort", Key: "model.reasoningEffort", Value: "max"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, name := range AuthTypes() {
		for _, p := range s.Model.Providers[name] {
			ids = append(ids, name+" "+p.ID+" "+p.BaseURL)
		}
	}
	if got := strings.Join(ids, ", "); got != "openai a http://adze, openai a http://q, openai b , gemini c " {
		t.Errorf("providers %s", got)
	}
	m := s.Model
	if got := fmt.Sprint(m.Name, m.ForRun, m.AuthType, m.Effort, m.Pricing); got != "mfalsegeminimaxmap[a:{1 0 0 0} b:{0 2 0 0.5}]" {
		t.Errorf("got %s", got)
	}
	var notes []string
	for _, n := range s.Notes() {
		notes = append(notes, n.Key+" "+n.Text)
	}
	want := "modelProviders bedrock: not supported (expected openai, openai-responses, anthropic, gemini, azure-openai, vertex-ai); modelProviders ignored (allowed only in user settings)"
	if got := strings.Join(notes, "; "); got != want {
		t.Errorf("notes %s", got)
	}
}

func TestModelSettingsRejected(t *testing.T) {
	for text, want := range map[string]string{
		`{"security":{"auth":{"selectedType":"bedrock"}}}`: `security.auth.selectedType has the invalid value "bedrock"` + "\nExpected one of: openai, openai-responses, anthropic, gemini, azure-openai, vertex-ai",
		`{"modelProviders":[]}`:                            "modelProviders must be an object with lists of models by API",
		`{"modelProviders":{"openai":{"id":"x"}}}`:         "modelProviders has an invalid list openai",
		`{"modelProviders":{"openai":[{"baseUrl":"x"}]}}`:  "modelProviders has no id in openai[0]",
		`{"modelPricing":{"m":{"input":"1"}}}`:             "modelPricing must be an object with prices in US dollars per million tokens",
	} {
		if _, err := loadModel(t, "", text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	s, err := loadModel(t, `{"security":{"auth":{"selectedType":"qwen-oauth"}}}`, "", "")
	if err != nil || s.Model.AuthType != "" || len(s.Notes()) != 1 {
		t.Errorf("another type of Qwen Code: %v", err)
	}
}

func TestCompactionSettings(t *testing.T) {
	s, err := loadModel(t, `{"context":{"autoCompactThreshold":0.5}}`, `{"compactionModel":"small"}`, "")
	if err != nil || s.Context.CompactAt != 0.5 || s.Model.Compaction != "small" {
		t.Errorf("%v, %q, %v", s.Context.CompactAt, s.Model.Compaction, err)
	}
	if s, err = loadModel(t, "", "", ""); err != nil || s.Context.CompactAt != 0.85 {
		t.Errorf("%v without settings, %v", s.Context.CompactAt, err)
	}
}

func servers(s *Settings) map[string]string {
	out := map[string]string{}
	for alias, server := range s.MCP.Servers {
		out[alias] = string(server.JSON)
	}
	return out
}

func TestServersMergeByName(t *testing.T) {
	dir, src := place(t, map[string]string{
		"home/.qwen": `{"mcpServers": {"a": {"command": "qwen"}, "b": {"command": "qwen"}}, "toolDiscoveryCommand": "./old", "tools": {"discoveryCommand": "./list"}}`,
		"home/.adze": `{"mcpServers": {"b": {"command": "adze"}, "n": null}, "mcp": {"allowed": ["a", "c"], "excluded": ["x"], "serverCommand": "one"}}`,
		"app/.adze":  `{"mcpServers": {"d": {"httpUrl": "http://d"}}, "mcp": {"allowed": [], "excluded": ["y"]}, "tools": {"toolCallCommand": "./call"}}`,
	})
	if err := os.WriteFile(filepath.Join(dir, "app", ".mcp.json"), []byte(`{"mcpServers": {"c": {"command": "c"}, "d": {}}, "other": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"a": `{"command": "qwen"}`, "b": `{"command": "adze"}`}
	all := map[string]string{"a": own["a"], "b": own["b"], "c": `{"command": "c"}`, "d": `{"httpUrl": "http://d"}`}
	for _, trusted := range []bool{false, true} {
		src.Trusted = trusted
		s, err := Load(src)
		if err != nil {
			t.Fatal(err)
		}
		want, call := own, ""
		if trusted {
			want, call = all, "./call"
		}
		if diff := cmp.Diff(want, servers(s)); diff != "" {
			t.Errorf("trusted %v: (-want +got)\n%s", trusted, diff)
		}
		if len(s.MCP.Allowed) != 0 || s.MCP.Allowed == nil || len(s.MCP.Excluded) != 2 || s.MCP.ServerCommand != "one" {
			t.Errorf("trusted %v: %+v", trusted, s.MCP)
		}
		if s.Tools.DiscoveryCommand != "./list" || s.Tools.CallCommand != call {
			t.Errorf("trusted %v: %+v", trusted, s.Tools)
		}
		var withheld []string
		for _, w := range s.Withheld() {
			withheld = append(withheld, w.Key)
		}
		if got := strings.Join(withheld, " "); !trusted && got != "mcpServers tools.toolCallCommand mcpServers" || trusted && got != "" {
			t.Errorf("trusted %v: withheld %s", trusted, got)
		}
	}
}

// A .mcp.json has no rules that protect: errors in it are reported and don't stop the start.
func TestBrokenMCPFile(t *testing.T) {
	for text, note := range map[string]string{
		"{":                           "the file is ignored: unexpected end of JSON input",
		`{"mcpServers": 3}`:           "mcpServers is ignored: must be an object of servers, got 3",
		`{"mcpServers": {"a": "sh"}}`: "mcpServers is ignored: server a must be an object, got a string",
	} {
		dir, src := place(t, map[string]string{"app/.adze": "{}"})
		if err := os.WriteFile(filepath.Join(dir, "app", ".mcp.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(src)
		if err != nil || len(s.Notes()) != 1 || !strings.HasSuffix(s.Notes()[0].String(), note) || len(s.MCP.Servers) > 0 {
			t.Errorf("%s: %v, %v", text, s.Notes(), err)
		}
	}
}

func TestGeneral(t *testing.T) {
	for _, c := range []struct {
		name, user, project string
		want                General
	}{
		{"nothing said", `{}`, `{}`, General{true, 0, 0, false}},
		{"the user's own", `{"general":{"chatRecording":false,"cleanupPeriodDays":7,"maxStateBytes":1e10}}`, `{}`, General{false, 7, 1e10, false}},
		{"a project can't", `{}`, `{"general":{"chatRecording":false,"cleanupPeriodDays":1,"maxStateBytes":1}}`, General{true, 0, 0, false}},
	} {
		s, err := loadModel(t, "", c.user, c.project)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, s.General); diff != "" {
			t.Error(c.name, diff)
		}
	}
	for _, bad := range []string{`{"general":{"maxStateBytes":1.5}}`, `{"general":{"chatRecording":"no"}}`, `{"general":{"cleanupPeriodDays":"x"}}`} {
		if _, err := loadModel(t, "", bad, ""); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
