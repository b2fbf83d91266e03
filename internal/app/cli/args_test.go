package cli

import (
	"bytes"
	"context"
	goflag "flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = goflag.Bool("update", false, "rewrite the goldens")

// try runs a command line with nothing around it.
func try(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	home := t.TempDir()
	code = Run(t.Context(), Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err,
		Getenv: func(string) string { return "" }, Dir: home, Home: home, Version: "test",
	})
	return code, out.String(), err.String()
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"--nope", "unknown flag --nope"},
		{"--out json", "unknown flag --out\nDid you mean --output-format? See 'adze --help'."},
		{"--output-format xml -p x", `--output-format: expected text, json, stream-json, got "xml"`},
		{"--approval-mode wild -p x", "--approval-mode: "},
		{"-p", "-p needs a value"},
		{"--yolo=1 -p x", "--yolo takes no value"},
		{"usage --days -1", `--days: expected a number of days such as 90d, got "-1"`}, // it was the day after tomorrow
		{"session delete --older 0d", `--older: expected a number of days such as 90d, got "0d"`},
		{"--max-turns 0 -p x", `--max-turns: expected a number above 0, or -1 for no limit, got "0"`},
		{"--max-time soon -p x", `--max-time: expected a time such as 90s or 10m, got "soon"`},
		{"--yolo --approval-mode plan tool list", "use either --yolo or --approval-mode, not both"},
		{"tool", "no command given after 'adze tool'"},
		{"tool make", `unknown command "tool make"`},
		{"tool lst", "Did you mean 'adze tool list'?"},
		{"docter", `unknown command "docter"`},
		{"docter", "Did you mean 'adze doctor'? To send a prompt, use adze -p \"docter\"."},
		{"tol list", "Did you mean 'adze tool list'?"},
		{"mpc add x y z", "Did you mean 'adze mcp add'?"},
		{"permision check -- ls", "Did you mean 'adze permission check'?"},
		{"tool list extra", "usage: adze tool list"},
		{"tool call read_file", "usage: adze tool call NAME JSON"},
		{"tool list --dry-run", "--dry-run can't be used with adze tool list"},
		{"demo --json", "--json can't be used with adze demo"},
		{"--cwd nowhere tool list", "adze: directory not found: "},
		{"--add-dir /nowhere tool list", "adze: --add-dir: directory not found: /nowhere\n"},
		{"trust /nowhere", "adze: directory not found: /nowhere\n"},
		{"tool call --dryrun read_file", "unknown flag --dryrun\nDid you mean --dry-run? See 'adze tool call --help'."},
		{"permission check ls -la", "unknown flag -la\nPut the command after --: "},
		{"--json -p x", "--json can't be used with a prompt\nUse --output-format json."},
		{"-p one two", "two prompts given"},
		{"--input-format xml -p x", `--input-format: expected text, stream-json, got "xml"`},
		{"--input-format stream-json", "--input-format stream-json needs --output-format stream-json"},
		{"--input-format stream-json -o json", "--input-format stream-json needs --output-format stream-json"},
		{"--include-partial-messages -p x -o json", "--include-partial-messages needs --output-format stream-json"},
		{"--input-format stream-json -o stream-json -p one two", "two prompts given"},
		{"help nothing", `unknown command "nothing"`},
		{"", "no prompt given, and standard input and output aren't a terminal\n"},
	} {
		code, stdout, stderr := try(t, strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("adze %s: exit %d, stdout %q, stderr %q; want exit 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

// A schema that can't be used has the exit code of an invalid one.
func TestSchemaWithoutAPrompt(t *testing.T) {
	for args, want := range map[string]string{
		"--input-format stream-json -o stream-json --json-schema {}": "--json-schema can't be used with --input-format stream-json",
		"-i go --json-schema {}":                                     "--json-schema can't be used with --prompt-interactive",
	} {
		code, _, stderr := try(t, strings.Fields(args)...)
		if code != exitInput || !strings.Contains(stderr, want) {
			t.Errorf("adze %s: exit %d, %q; want exit 42 and %q", args, code, stderr, want)
		}
	}
}

func TestFlagsStandAnywhere(t *testing.T) {
	for _, line := range []string{"tool list --json", "--json tool list", "tool --json list"} {
		code, stdout, stderr := try(t, strings.Fields(line)...)
		if code != 0 || !strings.HasPrefix(stdout, `[{"name":`) {
			t.Errorf("adze %s: exit %d, %.80q, %q", line, code, stdout, stderr)
		}
	}
}

// The goldens make a change of the help texts reviewable.
func TestHelp(t *testing.T) {
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		args := append(strings.Fields(c.name), "--help")
		code, stdout, stderr := try(t, args...)
		if code != 0 || stderr != "" {
			t.Errorf("adze %v: exit %d, stderr %q", args, code, stderr)
		}
		golden(t, filepath.Join("testdata", "help", c.key()+".txt"), stdout)
	}
}

// The main help fits on a screen of 24 rows and 80 columns, with the prompt after it, and names every command. All of it is in
// 'adze help all'.
func TestOverview(t *testing.T) {
	code, all, _ := try(t, "help", "all")
	if code != 0 || !strings.Contains(all, "--disabled-slash-commands") || !strings.Contains(all, "Exit codes:") {
		t.Errorf("adze help all: exit %d:\n%s", code, all)
	}
	golden(t, filepath.Join("testdata", "help", "all.txt"), all)
	code, text, _ := try(t, "--help")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if code != 0 || len(lines) > 23 {
		t.Errorf("exit %d, %d rows", code, len(lines))
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	words := regexp.MustCompile(`[a-z]+`).FindAllString(text, -1)
	for _, c := range commands() {
		for word := range strings.FieldsSeq(c.name) {
			if !c.hidden && !slices.Contains(words, word) {
				t.Errorf("it doesn't name %q of adze %s", word, c.name)
			}
		}
	}
	for _, name := range []string{"adze", "all"} {
		if !slices.Contains(words, name) {
			t.Errorf("it doesn't have %s", name)
		}
	}
}

// Examples can be copied: what explains them is a comment.
func TestExamplesAreCommands(t *testing.T) {
	for _, c := range commands() {
		lines, _, _ := strings.Cut(strings.TrimSpace(c.help), "\n\n")
		for line := range strings.Lines(lines) {
			if rest, _, _ := strings.Cut(line, " #"); strings.Contains(strings.TrimSpace(rest), "   ") {
				t.Errorf("adze %s: %s", c.name, line)
			}
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s is not what is printed now (%v); if that is meant, run make golden:\n%s", path, err, got)
	}
}

func TestNoModel(t *testing.T) {
	code, stdout, stderr := try(t, "-p", "hello")
	if code != exitCredentials || stdout != "" || !strings.Contains(stderr, "OPENAI_BASE_URL") || !strings.Contains(stderr, "adze demo") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		if code, stdout, stderr := try(t, arg); code != 0 || stdout != "adze test\n" || stderr != "" {
			t.Errorf("adze %s: exit %d, stdout %q, stderr %q", arg, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := try(t, "version", "--json"); code != 0 || !strings.HasPrefix(stdout, `{"go":"go`) || !strings.HasSuffix(stdout, `,"version":"test"}`+"\n") || stderr != "" {
		t.Errorf("adze version --json: exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// An open pipe without a writer doesn't delay a prompt.
func TestSilentPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	text, err := promptText(Env{Stdin: r}, &options{prompt: "hello", hasPrompt: true}, nil)
	if err != nil || text.text() != "hello" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestPipedTextComesFirst(t *testing.T) {
	text, err := promptText(Env{Stdin: strings.NewReader("some diff\n")}, &options{prompt: "explain", hasPrompt: true}, nil)
	if err != nil || text.text() != "some diff\n\nexplain" {
		t.Errorf("got %q, %v", text, err)
	}
}

// What a driver writes is read line by line, and no answer waits for the next line.
func TestToolRunAnswersBeforeItReadsOn(t *testing.T) {
	in, calls := pipe(t)
	answers, out := pipe(t)
	home := t.TempDir()
	done := make(chan int, 1)
	go func() {
		done <- Run(context.Background(), Env{
			Args: []string{"tool", "run"}, Stdin: in, Stdout: out, Stderr: os.Stderr,
			Getenv: func(string) string { return "" }, Dir: home, Home: home,
		})
		out.Close()
	}()
	buf := make([]byte, 1<<16)
	for _, id := range []string{`"a"`, "7", "null"} {
		if _, err := calls.WriteString(`{"id":` + id + `,"name":"list_directory","args":{"path":"` + home + `"}}` + "\n"); err != nil {
			t.Fatal(err)
		}
		n, err := answers.Read(buf)
		if want := strings.Replace(id, "null", "3", 1); err != nil || !strings.HasPrefix(string(buf[:n]), `{"id":`+want+`,"name":"list_directory","status":"success"`) {
			t.Fatalf("answer to %s: %q, %v", id, buf[:n], err)
		}
	}
	calls.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit %d", code)
	}
}

func pipe(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}
