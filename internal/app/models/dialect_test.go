package models

import (
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/tool"
)

func TestDialect(t *testing.T) {
	for _, f := range families() {
		if f.source == "" {
			t.Errorf("%s has no source", f.word)
		}
	}
	set := &settings.Settings{}
	own := settings.Provider{ID: "my-gpt-5"}
	own.Config.Dialect = "replace"
	set.Model.Providers = map[string][]settings.Provider{"openai": {own}}
	m := New(project.Env{}, t.TempDir(), set, nil)
	for name, want := range map[string]tool.Dialect{
		"gpt-5.5": "patch", "openai/gpt-5-codex": "patch", "gpt-4.1": "patch", "gpt-4o": "replace", "claude-opus-4-5": "replace",
		"qwen3-coder": "replace", "my-gpt-5": "replace", "unknown": "replace", "": "replace",
	} {
		if got := m.Dialect(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	set.Model.Dialect = "patch"
	if got := m.Dialect("unknown"); got != "patch" {
		t.Errorf("by settings: %s", got)
	}
}
