package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// The table itself has no key twice, and every key in it is one that settings can name.
func TestKeyTable(t *testing.T) {
	if _, problems := newKeymap(nil); problems != nil {
		t.Error(problems)
	}
	seen := map[string]bool{}
	for _, a := range actions() {
		if seen[a.name] {
			t.Errorf("action %s is there twice", a.name)
		}
		seen[a.name] = true
		m, problems := newKeymap(map[string]string{a.name: a.keys})
		if problems != nil || m.label(a.name) == "" {
			t.Errorf("%s: %q: %v", a.name, a.keys, problems)
		}
	}
}

func TestRebind(t *testing.T) {
	for _, c := range []struct {
		set      map[string]string
		key      string
		action   string // "": none
		problems []string
	}{
		{nil, "ctrl+b", "background", nil},
		{map[string]string{"background": "alt+b"}, "alt+b", "background", []string{"ui.keys: alt+b is bound to background, no longer to word-left"}},
		{map[string]string{"background": "f5  CTRL+X"}, "ctrl+x", "background", nil},
		{map[string]string{"background": "f5"}, "ctrl+b", "", nil},
		{map[string]string{"background": ""}, "ctrl+b", "", nil},
		{map[string]string{"background": "ctrl+z", "suspend": "ctrl+b"}, "ctrl+z", "background", nil},
		{map[string]string{"background": "f5", "suspend": "f5"}, "f5", "background", []string{"ui.keys: suspend: f5 is bound to background already, ignored"}},
		{map[string]string{"background": "f5", "suspend": "f5"}, "ctrl+z", "suspend", []string{"ui.keys: suspend: f5 is bound to background already, ignored"}},
		{map[string]string{"backgrounds": "f5"}, "ctrl+b", "background", []string{`ui.keys: unknown action "backgrounds", ignored. Did you mean "background"? /keys lists them`}},
		{map[string]string{"background": "hyper+x"}, "ctrl+b", "background", []string{`ui.keys: background: unknown key "hyper+x", ignored. Expected a key such as alt+u or f5`}},
		{map[string]string{"background": "x"}, "ctrl+b", "background", []string{`ui.keys: background: the key "x" types text, ignored. Add ctrl+ or alt+`}},
		{map[string]string{"background": "shift+space"}, "ctrl+b", "background", []string{`ui.keys: background: the key "shift+space" types text, ignored. Add ctrl+ or alt+`}},
	} {
		m, problems := newKeymap(c.set)
		k, _ := keys.Parse(c.key)
		if a, _ := m.find(k); a.name != c.action {
			t.Errorf("%v: %s is bound to %q, not %q", c.set, c.key, a.name, c.action)
		}
		if d := cmp.Diff(c.problems, problems); d != "" {
			t.Errorf("%v: %s", c.set, d)
		}
	}
}
