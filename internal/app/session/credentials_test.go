package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
)

// Variables of network.credentials have to be set; commands don't get them, and their values are masked.
func TestOpenCredentials(t *testing.T) {
	for _, tt := range []struct{ name, in, value, want string }{
		{"set", "user", "Bearer $PLAIN_NAME", ""},
		{"missing", "user", "Bearer $MISSING_NAME", "api.example.com: the variable MISSING_NAME isn't set"},
		{"short", "user", "Bearer x", "the value for api.example.com is too short"},
		{"project", "project", "Bearer $MISSING_NAME", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, dir := t.TempDir(), project.Canonical(t.TempDir())
			at := map[string]string{"user": home, "project": filepath.Join(dir, ".adze")}[tt.in]
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			text := `{"network":{"credentials":[{"host":"api.example.com","header":"X","value":"` + tt.value + `"}]}}`
			if err := os.WriteFile(filepath.Join(at, "settings.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			const value = "kq7-9fXw2-Lm"
			notes := ""
			env := project.Env{
				Home: t.TempDir(), Environ: []string{"PLAIN_NAME=" + value, "OTHER=1"}, Tell: func(n string) { notes += n },
				Getenv: func(name string) string { return map[string]string{"ADZE_HOME": home, "PLAIN_NAME": value}[name] },
			}
			s, err := Open(env, Options{Dir: dir})
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.in == "project" {
				defer s.Close()
				if s.credentials != nil || !strings.Contains(notes, "network.credentials ignored (allowed only in user settings)") {
					t.Errorf("%v, %q", s.credentials, notes)
				}
				return
			}
			if strings.Contains(strings.Join(s.Env.Environ, " "), value) || s.Executor.Mask("a "+value) == "a "+value {
				t.Errorf("%q", s.Env.Environ)
			}
			bundle := s.credentials.Bundle()
			if _, err := os.Stat(bundle); err != nil {
				t.Error(err)
			}
			s.Close()
			if _, err := os.Stat(bundle); err == nil {
				t.Error("the certificates are still there")
			}
		})
	}
}
