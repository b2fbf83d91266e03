package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// mistake is a command line that fails, in a directory with the given files.
type mistake struct {
	args  []string
	files map[string]string
	about string // the files, where their text says little
	stdin string
}

// mistakes are the command lines whose errors are in testdata/errors.txt.
func mistakes() []mistake {
	var all []mistake
	for _, line := range []string{
		"", "-p", "-p one two", "--nope", "--out json", "--output-format xml -p x", "--approval-mode wild -p x", "--sandbox tight -p x",
		"--max-turns 0 -p x", "--max-time soon -p x", "--yolo=1 -p x", "--yolo --approval-mode plan -p x", "--json -p x",
		"-p hello", "-p /nope", "-p !", "--cwd /nowhere -p x", "--add-dir /nowhere -p x",
		"docter", "tol list", "help nothing",
		"tool", "tool make", "tool lst", "tool list extra", "tool list --dry-run", "tool show", "tool show Nope", "tool call read_file",
		"tool call --dryrun read_file {}", "tool call nope {}", "tool call read_file {", "tool call read_file {}",
		"tool call write_file {\"file_path\":\"/nowhere/x\",\"content\":\"x\"}", "tool run extra",
		"mcp", "mcp add x", "mcp add x --http h --sse s", "mcp add --env A x b", "mcp add --env A=b x --sse y", "mcp add --header A:b x y",
		"mcp add x --http y", "mcp add x https://example.com/mcp", "mcp add --scope all x y", "mcp remove x", "mcp tools", "mcp tools x",
		"mcp logs x", "mcp login x", "mcp logout x", "mcp reconnect x", "mcp serve now", "mcp serve --tools nope", "mcp serve --http 0.0.0.0:1",
		"memory", "permission check", "permission check ls -la", "permission check --mode wild -- ls",
		"sandbox run", "sandbox run --mode wild -- ls", "trust /nowhere", "trust a b", "demo --json", "demo x", "doctor x", "version x",
		"-c -p x", "-r -p x", "-r 3f2a -p x", "--resume=x -p x", "-c -r 3f2a -p x", "--fork-session -p x", "--session-id 7 -p x", "--no-session -c -p x",
		"-c --session-id 0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b -p x", "session", "session show", "session show 3f2a", "session fork", "session fork 3f2a x",
		"session delete", "session delete 3f2a", "session list x", "session export 3f2a", "session export 3f2a --format pdf",
	} {
		all = append(all, mistake{args: strings.Fields(line)})
	}
	for _, text := range []string{"{", "[]", `{"tools":{"approvalMode":"fast"}}`, `{"tools":{"sandbox":"tight"}}`, `{"permissions":{"allow":"x"}}`, `{"permissions":{"deny":["Shell(rm"]}}`} {
		all = append(all, mistake{args: []string{"tool", "list"}, files: map[string]string{"home/.adze/settings.json": text}})
	}
	for _, line := range []string{
		"-r 0b2d -p x", "-r 0b2c2f8e -p x", "--session-id 0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b -p x", "-r 1b2d -p x", "-r 2b2d -p x", "-r -p x",
	} {
		all = append(all, mistake{args: strings.Fields(line), files: recordedSessions(), about: "recorded sessions: 0b2d…, 0b2d…, 1b2d… of a newer version, 2b2d… broken"})
	}
	trusted := map[string]string{"project/.adze/settings.json": `{"permissions":{"allow":["Shell(make)"]}}`}
	return append(all, mistake{args: []string{"trust"}, files: trusted})
}

// recordedSessions are two sessions whose IDs start alike, one of a newer version, and one that can't be read.
func recordedSessions() map[string]string {
	files := map[string]string{}
	for id, text := range map[string]string{
		"0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b": openedLine("1"),
		"0b2d2f8e-0000-4e0b-8c1f-3f6c1d2e4a5b": openedLine("1"),
		"1b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b": openedLine("2"),
		"2b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b": "{\n",
	} {
		files["home/.adze/sessions/"+id+"/journal.jsonl"] = text
	}
	return files
}

// openedLine is the first entry of a journal.
func openedLine(version string) string {
	return `{"v":` + version + `,"seq":1,"at":"2026-11-16T12:00:00Z","type":"session.opened","data":{"id":"x","cwd":"/"}}` + "\n"
}

// run runs the command line and returns what it printed on stderr, with the directory replaced.
func (m mistake) run(t *testing.T) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "project"} {
		if err := os.Mkdir(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range m.files {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), Env{
		Args: m.args, Stdin: strings.NewReader(m.stdin), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" },
		Dir: filepath.Join(top, "project"), Home: filepath.Join(top, "home"), Version: "test",
	})
	if code == exitOK {
		t.Errorf("adze %q: no error; stdout:\n%s", m.args, stdout.String())
	}
	text := strings.NewReplacer(filepath.Join(top, "project"), "$PROJECT", filepath.Join(top, "home"), "$HOME").Replace(stderr.String())
	return fmt.Sprintf("(exit code %d)\n%s", code, text)
}

// The golden makes a change of the error texts reviewable.
func TestErrorTexts(t *testing.T) {
	var b strings.Builder
	for _, m := range mistakes() {
		if m.about != "" {
			fmt.Fprintf(&b, "# %s\n$ adze %s\n%s\n", m.about, strings.Join(m.args, " "), m.run(t))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(m.files)) {
			fmt.Fprintf(&b, "# %s: %s\n", name, strings.TrimSpace(m.files[name]))
		}
		fmt.Fprintf(&b, "$ adze %s\n%s\n", strings.Join(m.args, " "), m.run(t))
	}
	golden(t, filepath.Join("testdata", "errors.txt"), b.String())
}

// longErrors are the command lines whose error may have a long first line, each with the reason.
func longErrors() map[string]string {
	const names, path = "it names every tool, which is the next step", "the path and the position take 50 characters"
	return map[string]string{
		"tool show Nope":                names,
		"tool call nope {}":             names,
		"mcp serve --tools nope":        names,
		"tool call read_file {":         "the model reads the same text, with the next step",
		"sandbox run --mode wild -- ls": "it names every mode",
		`tool call write_file {"file_path":"/nowhere/x","content":"x"}`: "the model reads the same text: what the call reads and writes",
		`tool list {"permissions":{"allow":"x"}}`:                       path,
		`tool list {"permissions":{"deny":["Shell(rm"]}}`:               path,
	}
}

// maxFirstLine is the limit for the first line of an error, in characters.
const maxFirstLine = 100

func TestFirstLinesOfErrorsAreShort(t *testing.T) {
	justified := longErrors()
	for _, m := range mistakes() {
		line := strings.Join(m.args, " ")
		for _, text := range m.files {
			line += " " + text
		}
		_, text, _ := strings.Cut(m.run(t), "\n")
		first, _, _ := strings.Cut(text, "\n")
		if n := utf8.RuneCountInString(first); n > maxFirstLine && justified[line] == "" {
			t.Errorf("adze %s: the first line has %d characters; shorten it, or justify it in longErrors:\n%s", line, n, first)
		}
		if strings.HasSuffix(first, ".") {
			t.Errorf("adze %s: the first line ends with a period:\n%s", line, first)
		}
	}
}
