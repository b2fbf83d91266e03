package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/app/settings"
)

// A mode that the user chose applies, and without a sandbox nothing is allowed by default.
func TestRights(t *testing.T) {
	for name, c := range map[string]struct {
		user          string
		o             options
		mode, sandbox string
	}{
		"nothing chosen":     {`{}`, options{}, "yolo", "workspace+network"},
		"default chosen":     {`{"tools": {"approvalMode": "default"}}`, options{}, "", ""},
		"plan chosen":        {`{"tools": {"approvalMode": "plan"}}`, options{}, "", ""},
		"flag":               {`{}`, options{mode: "auto-edit"}, "auto-edit", ""},
		"sandbox off":        {`{"tools": {"sandbox": "off"}}`, options{}, "", ""},
		"sandbox off, flag":  {`{}`, options{sandbox: "off"}, "", "off"},
		"sandbox of its own": {`{"tools": {"sandbox": "workspace"}}`, options{}, "yolo", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(c.user), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := settings.Load(settings.Sources{AdzeHome: home, Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			if mode, sandbox := rights(&c.o, s); mode != c.mode || sandbox != c.sandbox {
				t.Errorf("%q in %q, want %q in %q", mode, sandbox, c.mode, c.sandbox)
			}
		})
	}
}
