package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func read(t *testing.T, name, text string) (File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Read(path)
}

func TestRead(t *testing.T) {
	t.Parallel()
	want := []Task{
		{ID: "a", Repo: "https://example.com/r.git", Ref: "v1", Prompt: "fix", Model: "m", Setup: []string{"make"}, Checks: []string{"make test", "make lint"},
			Limits: Limits{Turns: 5, Wall: 30 * time.Minute, Cost: 1.5}, Env: map[string]string{"A": "1", "B": "secret:TOKEN"}},
		{ID: "b/c d", Repo: "/abs", Ref: "v1", Prompt: "do", Model: "n", Setup: []string{"make"}, Limits: Limits{Turns: 9, Wall: time.Minute}, Env: map[string]string{"A": "1"}},
	}
	for name, text := range map[string]string{
		"tasks.jsonl": "\ufeff" + `{"defaults":{"repo":"https://example.com/r.git","ref":"v1","model":"m","setup":"make","limits":{"turns":5},"env":{"A":"1"}}}

{"id":"a","prompt":"fix","checks":["make test","make lint"],"limits":{"wall":"30m","cost":1.5},"env":{"B":"secret:TOKEN"}}
{"id":"b/c d","prompt":"do","model":"n","repo":"/abs","limits":{"turns":9,"wall":60}}`,
		"tasks.yaml": `
defaults: {repo: "https://example.com/r.git", ref: v1, model: m, setup: make, limits: {turns: 5}, env: {A: "1"}}
tasks:
  - id: a
    prompt: fix
    checks: [make test, make lint]
    limits: {wall: 30m, cost: 1.5}
    env: {B: "secret:TOKEN"}
  - {id: b/c d, prompt: do, model: n, repo: /abs, limits: {turns: 9, wall: 60}}
`,
	} {
		f, err := read(t, name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, f.Tasks, cmpopts.IgnoreFields(Task{}, "Line"), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if !strings.HasPrefix(f.Run, "tasks-") {
			t.Errorf("name of the run: %s", f.Run)
		}
	}
}

// All errors of a file are reported at once, by line.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ name, text, want string }{
		"json": {"t.jsonl", `{"id":"a","prompt":"x"}
{"id":"b","prompt":
{"id":"a","prompt":"y"}
{"id":"c","promt":"z","repo":5}
[1]
{"id":"d","prompt":"x","limits":{"turns":0,"wall":"soon","cost":-1,"money":3}}
{"id":"e","prompt":"x","env":{"A B":"1"},"checks":[1],"ref":"-x"}
{"id":"f","id":"g"}
{"id":"h","prompt":"x"} {}
{"defaults":{}}
{"id":"","prompt":""}
{"id":"A","prompt":"case"}`, `2: invalid JSON in "prompt": the line ends too early
3: the id "a" is that of line 1 already
4: unknown key "promt"; did you mean "prompt"?
4: repo must be a text, got 5
4: the task has no prompt
5: not a JSON object: expected {
6: limits.cost must be US dollars above 0, got -1
6: unknown key "money" in limits; expected one of: turns, wall, cost
6: limits.turns must be a whole number above 0, got 0
6: limits.wall must be a time such as "30m" or seconds above 0, got "soon"
7: checks must be a command or a list of commands, got [1]
7: env has the invalid variable name "A B"
7: ref must not begin with -
8: the key "id" is there twice
9: invalid JSON: text after the object
10: defaults must be in the first line
11: id must not be empty
11: prompt must not be empty
12: the id "A" differs only in case from that of line 1`},
		"yaml": {"t.yml", "tasks:\n  - id: a\n    prompt: x\n  - id: a\n    prompt: y\n    color: red\n  - 5\nmore: 1\n", `4: the id "a" is that of line 2 already
6: unknown key "color"; expected one of: id, repo, ref, prompt, model, image, setup, checks, limits, env
7: expected a mapping of keys to values
8: unknown key "more"; expected defaults or tasks`},
		"empty": {"t.jsonl", "\n", "1: the file has no tasks"},
		"bytes": {"t.jsonl", "{}\n\xff", "2: not valid UTF-8"},
		"bad":   {"t.yaml", "a: [", "1: invalid YAML: line 1: did not find expected node content"},
	}
	for name, test := range tests {
		_, err := read(t, test.name, test.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, p := range e.Problems {
			got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Text))
		}
		if d := cmp.Diff(strings.Split(test.want, "\n"), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Tokens are safe in subjects and file names, and different for different IDs.
func TestToken(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, id := range []string{"a", "a.b", "a b", "a/b", "../x", "*", ">", "ä", "", strings.Repeat("x", 300), "django__django-11099"} {
		token := Token(id)
		if strings.ContainsAny(token, ". */\\>") || token == "" || len(token) > 90 || seen[token] != "" {
			t.Errorf("%q: %q", id, token)
		}
		seen[token] = id
	}
}
