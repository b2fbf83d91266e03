package repo

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/fenced"
	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The program of README.md, as it is, has at most 20 lines and builds in a module outside the repository. It asks on the
// terminal before it edits, is denied if the answer isn't y, without a terminal or without an asker, and its change can
// be undone. docs/embedding.md begins with it, too.
func TestEmbeddingProgram(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds programs")
	}
	source := firstProgram(t, "README.md")
	if other := firstProgram(t, "docs/embedding.md"); other != source {
		t.Errorf("docs/embedding.md has another program than README.md:\n%s", other)
	}
	if n := strings.Count(strings.ReplaceAll(source, "\n\n", "\n"), "\n"); n > 20 {
		t.Errorf("the program has %d lines that aren't blank", n)
	}
	replaced := func(old, with string) string {
		if strings.Count(source, old) != 1 {
			t.Fatalf("README.md has no program with %q", old)
		}
		return strings.Replace(source, old, with, 1)
	}
	args, _ := json.Marshal(map[string]string{"file_path": "a.txt", "content": "fixed\n"})
	answers := []openaitest.Answer{{Calls: []openaitest.Call{{ID: "1", Name: "write_file", Args: args}}}, {Text: "That is all."}}
	asIs := built(t, outside(t, source), "-ldflags=-w")
	for _, c := range []struct {
		name, program, answer string
		terminal              bool
		status                string
		writes                bool
	}{
		{"approved", asIs, "y\n", true, "success", true},
		{"denied", asIs, "n\n", true, "denied", false},
		{"no answer", asIs, "\x04", true, "denied", false},
		{"no terminal", asIs, "y\n", false, "denied", false},
		{"no asker", built(t, outside(t, replaced(", adze.Ask(adze.OnTerminal)", "")), "-ldflags=-w"), "", true, "denied", false},
		{"undone", built(t, outside(t, replaced("// a.Undo(", "a.Undo(")), "-ldflags=-w"), "y\n", true, "success", false},
	} {
		dir := t.TempDir()
		server := openaitest.Serve(t, openaitest.Script{Models: []string{"qwen3-coder-plus"}, Answers: answers})
		cmd := exec.Command(c.program)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=", "GEMINI_API_KEY=", "GOOGLE_API_KEY=")
		out, err := answered(t, cmd, c.terminal, c.answer)
		text, _ := os.ReadFile(filepath.Join(dir, "a.txt"))
		asks := c.terminal && c.answer != ""
		if err != nil || strings.Contains(out, "Allow? [y/n]") != asks ||
			!strings.HasSuffix(out, "write_file: "+c.status+"\nThat is all.\n") || (string(text) == "fixed\n") != c.writes {
			t.Errorf("%s: %v, the file has %q\n%s", c.name, err, text, out)
		}
	}
}

// firstProgram returns the first program of a page.
func firstProgram(t *testing.T, page string) string {
	t.Helper()
	blocks, err := fenced.Read(page)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(blocks, func(b fenced.Block) bool { return strings.HasPrefix(b.Text, "package main") })
	if i < 0 {
		t.Fatalf("%s has no program", page)
	}
	return blocks[i].Text
}

// answered runs a program, in a terminal or not, and returns its output. The answer is typed after the question.
func answered(t *testing.T, cmd *exec.Cmd, terminal bool, answer string) (string, error) {
	t.Helper()
	if !terminal {
		cmd.Stdin = strings.NewReader(answer)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	p := ptytest.Open(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.TTY, p.TTY, p.TTY
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		if p.Await("Allow? [y/n]", 1); strings.Contains(p.Raw(), "Allow? [y/n]") {
			p.Type(answer)
		}
	}()
	err := cmd.Wait()
	p.End()
	return strings.ReplaceAll(strings.ReplaceAll(p.Raw(), "\r", ""), "\x1b[m", ""), err // without End's mark
}
