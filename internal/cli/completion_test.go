package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"mcpServers":{"docs":{"command":"x"},"db":{"command":"y"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := Env{Getenv: func(name string) string { return map[string]string{"ADZE_HOME": home, "HOME": home}[name] }, Home: home, Dir: t.TempDir(), Environ: []string{}}
	for _, tt := range []struct {
		shell string
		words []string
		want  string // the values
	}{
		{"zsh", []string{"se"}, "session"},
		{"zsh", []string{"session", "e"}, "export"},
		{"zsh", []string{"-m", "x", "session", "e"}, "export"},
		{"zsh", []string{"session", "export", "--f"}, "--format"},
		{"zsh", []string{"session", "export", "--format", ""}, "md html json"},
		{"zsh", []string{"session", "export", "--format=h"}, "--format=html"},
		{"zsh", []string{"--approval-mode", "a"}, "auto-edit"},
		{"zsh", []string{"sandbox", "run", "--mode", "r"}, "read-only"},
		{"zsh", []string{"permission", "check", "--mode", "p"}, "plan"},
		{"zsh", []string{"sandbox", "run", "--", ""}, ":files"},
		{"zsh", []string{"--cwd", ""}, ":directories"},
		{"zsh", []string{"--cwd="}, ":directories"},
		{"zsh", []string{"mcp", "tools", "d"}, "db docs"},
		{"zsh", []string{"tool", "show", "read_m"}, "read_many_files"},
		{"zsh", []string{"config", "set", "tools.approvalM"}, "tools.approvalMode"},
		{"zsh", []string{"completion", ""}, "bash zsh fish powershell"},
		{"zsh", []string{"help", "undo"}, "undo"},
		{"zsh", []string{"nonsense", ""}, ""},
		{"zsh", []string{"__comp"}, ""},
		{"bash", []string{"adze session exp"}, "export"},
		{"bash", []string{"adze session export --format="}, "md html json"},
		{"bash", []string{`adze "session" 'exp`}, "export"},
		{"bash", []string{`adze session\ exp`}, ""},
		{"bash", []string{`adze -p "it's \"quoted\"" --approval-mode pl`}, "plan"},
		{"bash", []string{"adze $(touch x) --approval-mode pl"}, "plan"},
		{"bash", []string{""}, "acp fleet models tool undo"},
	} {
		t.Run(strings.Join(tt.words, " "), func(t *testing.T) {
			var out bytes.Buffer
			env := env
			env.Stdout = &out
			env.Args = append([]string{"__complete", tt.shell, "--"}, tt.words...)
			if err := run(context.Background(), env); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				value, _, _ := strings.Cut(line, "\t")
				got = append(got, value)
			}
			if text := strings.Join(got, " "); text != tt.want && !(tt.words[0] == "" && strings.HasPrefix(text, tt.want)) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// No character of a text is a request or an escape of roff.
func TestManText(t *testing.T) {
	for in, want := range map[string]string{".x": `\&.x`, `a\b`: `a\eb`, "'x'": `\(aqx\(aq`, "-p": `\-p`} {
		if got := roffText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
