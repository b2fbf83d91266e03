package frameworks

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

//go:embed programs.txtar
var programs []byte

// The agents read and edit a file, and ask before the edit. The test downloads the libraries.
func TestFrameworks(t *testing.T) {
	if os.Getenv("ADZE_FRAMEWORKS") == "" {
		t.Skip("set ADZE_FRAMEWORKS to download other libraries: make compare-frameworks")
	}
	repository, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	rows := "| library | lines of code | modules of others | program |\n|---|--:|--:|--:|\n"
	requires := ""
	for _, f := range txtar.Parse(programs).Files {
		if path.Base(f.Name) == "require" {
			requires = strings.ReplaceAll(string(f.Data), "\n", "\n\t")
			continue
		}
		name := path.Dir(f.Name)
		mod := "module example.com/agent\n\ngo 1.26.0\n\nrequire (\n\t" + requires + "\n)\n"
		if name == "adze" {
			mod = "module example.com/agent\n\ngo 1.26.0\n\nrequire github.com/adze-dev/adze v0.0.0\n\n" +
				"replace github.com/adze-dev/adze => " + repository + "\n"
		}
		row, err := compare(t.TempDir(), name, mod, f.Data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rows += row
	}
	t.Log("\n" + rows)
}

// compare builds a program and runs it, and returns its row.
func compare(dir, name, mod string, program []byte) (row string, err error) {
	for file, text := range map[string][]byte{"go.mod": []byte(mod), "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			return "", err
		}
	}
	var modules string
	for _, args := range [][]string{
		{"go", "mod", "tidy"}, {"go", "build", "-trimpath", "-ldflags=-s -w", "-o", "agent", "."},
		{"go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "."},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		modules = string(out)
	}
	distinct := map[string]bool{}
	for _, m := range strings.Fields(modules) {
		distinct[m] = true
	}
	delete(distinct, "github.com/adze-dev/adze")
	if err := works(dir); err != nil {
		return "", err
	}
	info, err := os.Stat(filepath.Join(dir, "agent"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("| %s | %d | %d | %.1f MB |\n", name, lines(program), len(distinct), float64(info.Size())/1e6), nil
}

// lines returns the lines of code, without empty ones.
func lines(program []byte) (n int) {
	for line := range bytes.Lines(program) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// works runs a program against a scripted model, which reads a file and edits it; the user allows that.
func works(dir string) error {
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("good day\n"), 0o600); err != nil {
		return err
	}
	server := httptest.NewServer(scripted(note))
	defer server.Close()
	cmd := exec.Command("script", "-qec", "./agent", "/dev/null") // in a terminal
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OPENAI_API_KEY=key", "OPENAI_BASE_URL="+server.URL+"/v1")
	keys, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out := &user{keys: keys}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	text, _ := os.ReadFile(note)
	if err != nil || string(text) != "hello\n" || !bytes.Contains(out.seen.Bytes(), []byte(lastAnswer)) {
		return fmt.Errorf("the program failed: %v, the note is %q\n%s", err, text, &out.seen)
	}
	return nil
}

// user types y after each question.
type user struct {
	keys io.Writer
	seen bytes.Buffer
}

func (u *user) Write(p []byte) (int, error) {
	const question = "Allow? [y/n]"
	before := bytes.Count(u.seen.Bytes(), []byte(question))
	u.seen.Write(p)
	for range bytes.Count(u.seen.Bytes(), []byte(question)) - before {
		_, _ = io.WriteString(u.keys, "y\n") // the program may have exited
	}
	return len(p), nil
}

type object map[string]any

const lastAnswer = "It says hello."

// scripted is a model for an agent. The other libraries don't stream.
func scripted(note string) http.Handler {
	call := func(id, name string, args object) openaitest.Answer {
		raw, _ := json.Marshal(args) // strings
		return openaitest.Answer{Calls: []openaitest.Call{{ID: id, Name: name, Args: raw}}}
	}
	answers := []openaitest.Answer{
		call("1", "read_file", object{"absolute_path": note}),
		call("2", "edit", object{"file_path": note, "old_string": "good day", "new_string": "hello"}),
		{Text: lastAnswer},
	}
	streaming := openaitest.New(openaitest.Script{Key: "key", Answers: answers})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"stream":true`)) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			streaming.ServeHTTP(w, r)
			return
		}
		next := answers[min(bytes.Count(body, []byte(`"role":"tool"`)), len(answers)-1)]
		message := object{"role": "assistant", "content": next.Text}
		for _, c := range next.Calls {
			message["tool_calls"] = []object{{
				"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Args)},
			}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{ // the program reports what is missing
			"id": "1", "object": "chat.completion", "model": "scripted",
			"choices": []object{{"index": 0, "message": message, "finish_reason": "stop"}},
		})
	})
}
