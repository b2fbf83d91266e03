package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestListFlags(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"--core-tools a,b", []string{"a", "b"}},
		{"--core-tools a --core-tools b,c", []string{"a", "b", "c"}},
		{"--core-tools=,a,,", []string{"a"}},
		{"--core-tools=", []string{}},
		{"--core-tools Shell(a,b),c", []string{"Shell(a,b)", "c"}},
		{"--core-tools Shell(x(1,2),y),c)d,e", []string{"Shell(x(1,2),y)", "c)d", "e"}},
		{"-p x", nil},
	} {
		o, _, err := parse(strings.Fields(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, o.coreTools); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, d)
		}
	}
}

func TestFlagSynonyms(t *testing.T) {
	o, words, err := parse(strings.Fields("--max-session-turns -1 --max-wall-time 90 --disallowed-tools a --exclude-tools b --include-directories d " +
		"--channel=SDK --telemetry=false --chat-recording --approval-mode auto --sandbox --yolo word -1"))
	if err != nil {
		t.Fatal(err)
	}
	if o.maxTurns != -1 || o.maxTime != 90*time.Second || strings.Join(o.excludeTools, " ") != "a b" || strings.Join(o.addDirs, " ") != "d" {
		t.Errorf("%+v", o)
	}
	if o.record.setting != "true" || o.mode != "auto-edit" || o.sandbox != "workspace" || !o.yolo || strings.Join(words, " ") != "word -1" {
		t.Errorf("%+v, words %q", o, words)
	}
	want := []string{"--channel has no effect in Adze", "--telemetry has no effect in Adze",
		"--approval-mode auto is not supported; using auto-edit, the nearest stricter mode"}
	if d := cmp.Diff(want, o.notes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "10m": 10 * time.Minute, "90": 90 * time.Second, "0.5": time.Second / 2, "-1": -time.Second,
		"0": 0, "-2": 0, "x": 0, "": 0, "1e99": 0, "NaN": 0, "Inf": 0,
	} {
		var got time.Duration
		if err := duration(&got)(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

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
		{"bash", []string{""}, "acp fleet models tool diff undo"},
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

// docs/cli.md is generated from the tables of commands and flags: run make golden.
func TestCommandReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands and flags\n\nGenerated from the program: `make golden`. `adze COMMAND --help`, `adze help all` and `adze man` print the same.\n")
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		name := strings.TrimSpace("adze " + c.name)
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", name, upperFirst(c.about), strings.Join(strings.Fields(name+" [FLAGS] "+c.words), " "))
		if rows := flagRows(c); len(rows) > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n")
			for i, r := range rows {
				text := markdownCell(r[1])
				switch {
				case r[0] == "":
					b.WriteString(" " + text)
				case i > 0:
					fmt.Fprintf(&b, " |\n| `%s` | %s", markdownCell(strings.TrimSpace(r[0])), text)
				default:
					fmt.Fprintf(&b, "| `%s` | %s", markdownCell(strings.TrimSpace(r[0])), text)
				}
			}
			b.WriteString(" |\n")
		}
		if c.help != "" { // only the first paragraph is for a shell
			commands, rest, more := strings.Cut(strings.TrimSpace(c.help), "\n\n")
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", commands)
			if more {
				fmt.Fprintf(&b, "\n```\n%s\n```\n", rest)
			}
		}
	}
	fmt.Fprintf(&b, "\n## Environment and exit codes\n\n```\n%s\n```\n", strings.TrimSpace(environment))
	golden(t, filepath.Join("..", "..", "..", "docs", "cli.md"), b.String())
}

func markdownCell(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s) }

// The commands and flags that pages for new users show exist.
func TestPagesNameWhatExists(t *testing.T) {
	known := map[string]bool{}
	for _, f := range flags(&options{}) {
		for _, name := range append([]string{f.long}, f.also...) {
			known["--"+name] = true
		}
		known["-"+f.short] = true
	}
	code := regexp.MustCompile("`([^`\n]+)`|(?m)^(adze .*)$")
	for page, least := range map[string]int{"README.md": 10, "docs/coming-from.md": 20, "docs/troubleshooting.md": 10} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(m[1]+m[2], " #")
			words := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "adze "):
				var ours []string
				for _, w := range words[1:] {
					if w == "--" {
						break
					}
					if name, _, _ := strings.Cut(w, "="); strings.HasPrefix(w, "-") && !known[name] {
						t.Errorf("%s: adze has no %s: %s", page, w, line)
					} else if !strings.HasPrefix(w, "-") {
						ours = append(ours, w)
					}
				}
				if _, _, err := choose(ours); err != nil && len(ours) > 0 {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			case strings.HasPrefix(line, "--"):
				if !known[words[0]] {
					t.Errorf("%s: adze has no %s", page, words[0])
				}
			default:
				continue
			}
			found++
		}
		if found < least {
			t.Errorf("%s: found %d", page, found)
		}
	}
}
