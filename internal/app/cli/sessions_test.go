package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/google/go-cmp/cmp"
)

// --resume takes the next word only if it can be the start of an ID; otherwise the word is the prompt.
func TestOptionalValue(t *testing.T) {
	for line, want := range map[string]string{
		"-r":                  "",
		"-r -p x":             "",
		"-r 3f2a":             "3f2a",
		"-r 3F2A more":        "3F2A; more",
		"-r 3f2":              "; 3f2",
		"-r fix it":           "; fix it",
		"-r 3f2a9c00-11":      "3f2a9c00-11",
		"-r 3f2a9c0011":       "; 3f2a9c0011",
		"-r 3f2a-9c00":        "; 3f2a-9c00",
		"--resume=x":          "x",
		"--resume=":           "",
		"--resume 3f2a9c00-1": "3f2a9c00-1",
		"-r 0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b":  "0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b",
		"-r 0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b0": "; 0b2d2f8e-9a3c-4e0b-8c1f-3f6c1d2e4a5b0",
		"-r -- 3f2a": "; 3f2a",
	} {
		o, words, err := parse(strings.Fields(line))
		if err != nil {
			t.Errorf("adze %s: %v", line, err)
			continue
		}
		got := o.record.id
		if len(words) > 0 {
			got += "; " + strings.Join(words, " ")
		}
		if got != want || !o.record.resume {
			t.Errorf("adze %s: %q, want %q", line, got, want)
		}
	}
}

// recordedHome is a home with sessions: each has a prompt and an answer.
type recordedHome struct {
	home, dir string
	ids       []string
}

func newRecordedHome(t *testing.T, prompts ...string) *recordedHome {
	t.Helper()
	return recordedEvery(t, time.Hour, prompts...)
}

func recordedEvery(t *testing.T, step time.Duration, prompts ...string) *recordedHome {
	t.Helper()
	h := &recordedHome{home: t.TempDir(), dir: project.Canonical(t.TempDir())}
	all := journal.Sessions{Home: filepath.Join(h.home, ".adze")}
	for i, prompt := range prompts {
		id := fmt.Sprintf("%08x-9a3c-4e0b-8c1f-3f6c1d2e4a5b", 0xabc00000+uint32(i))
		f, err := all.Create(id)
		if err != nil {
			t.Fatal(err)
		}
		w := journal.NewWriter(f, all.Store(), journal.State{})
		w.Now = func() time.Time { return time.Now().Add(time.Duration(i-len(prompts)) * step) }
		for _, d := range []journal.Data{
			journal.Opened{ID: id, CWD: h.dir, Model: "m"}, journal.Message{Message: model.Prompt(prompt)},
			journal.Answer{Turn: 1, Model: "m", Usage: model.Usage{Input: 1000, Output: 10}, Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Text("fine")}}},
		} {
			if _, err := w.Write("", d); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		h.ids = append(h.ids, id)
	}
	return h
}

func (h *recordedHome) run(t *testing.T, terminal bool, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Run(t.Context(), Env{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err, Terminal: terminal,
		Getenv: func(string) string { return "" }, Dir: h.dir, Home: h.home, Version: "test",
	})
	return code, out.String(), err.String()
}

func TestSessionCommands(t *testing.T) {
	h := newRecordedHome(t, "first", "second \x1b[31m", "third")
	code, out, _ := h.run(t, false, "", "session", "list", "--json")
	var listed []map[string]any
	if err := json.Unmarshal([]byte(out), &listed); err != nil || code != 0 || len(listed) != 3 {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	first := listed[2]
	delete(first, "created")
	delete(first, "updated")
	delete(first, "bytes")
	if diff := cmp.Diff(map[string]any{"id": h.ids[0], "cwd": h.dir, "title": "first", "model": "m", "turns": 1.0, "state": "closed", "parent": nil}, first); diff != "" {
		t.Error(diff)
	}
	if _, out, _ = h.run(t, false, "", "session", "list"); strings.Contains(out, "\x1b") || strings.Count(out, "\n") != 3 {
		t.Errorf("list: %q", out)
	}
	if code, out, _ = h.run(t, false, "", "session", "show", h.ids[0], "--json"); code != 0 || strings.Count(out, "\n") != 4 || !strings.HasPrefix(out, `{"v":1,"seq":1,`) {
		t.Errorf("show: exit %d: %s", code, out)
	}
	for format, want := range map[string]string{"md": "first", "html": "<!doctype html>", "json": `"entries"`} {
		if code, out, stderr := h.run(t, false, "", "session", "export", h.ids[0], "--format", format); code != 0 || !strings.Contains(strings.ToLower(out), want) {
			t.Errorf("export %s: exit %d: %.200s %s", format, code, out, stderr)
		}
	}
	code, out, _ = h.run(t, false, "", "session", "fork", h.ids[0], "2")
	copied := strings.TrimSpace(out)
	if code != 0 || !journal.ValidID(copied) {
		t.Fatalf("fork: exit %d: %s", code, out)
	}
	if _, out, _ = h.run(t, false, "", "session", "show", copied, "--json"); strings.Count(out, "\n") != 2 || !strings.Contains(out, `"parent":{"id":"`+h.ids[0]+`","seq":2}`) {
		t.Errorf("the copy: %s", out)
	}
	if code, out, _ = h.run(t, false, "", "session", "delete", h.ids[1], h.ids[2]); code != 0 || strings.Count(out, "deleted ") != 2 {
		t.Errorf("delete: exit %d: %s", code, out)
	}
	if left, _ := os.ReadDir(filepath.Join(h.home, ".adze", "sessions")); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	elsewhere := *h
	elsewhere.dir = project.Canonical(t.TempDir())
	if _, out, _ = elsewhere.run(t, false, "", "session", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("in another directory: %s", out)
	}
	if _, out, _ = elsewhere.run(t, false, "", "session", "list", "--all", "--json"); strings.Count(out, `"id":`) < 2 {
		t.Errorf("in all directories: %s", out)
	}
}

// Old sessions are listed, and deleted after a yes.
func TestDeleteOldSessions(t *testing.T) {
	h := recordedEvery(t, 60*24*time.Hour, "first", "second", "third")
	for _, c := range []struct {
		args     []string
		terminal bool
		stdin    string
		code     int
		want     string // on stdout
		left     int
	}{
		{[]string{"--older", "500d"}, true, "", exitOK, "All sessions were used in the last 500 days.", 3},
		{[]string{"--older", "90d"}, false, "", exitDenied, "second", 3},
		{[]string{"--older", "90d"}, true, "n\n", exitDenied, "first", 3},
		{[]string{"--older", "90d", h.ids[0]}, true, "y\n", exitUsage, "", 3},
		{nil, true, "y\n", exitUsage, "", 3},
		{[]string{"--older", "90d"}, true, "y\n", exitOK, "deleted " + h.ids[1], 1},
		{[]string{"--older", "50", "--yes", "--json"}, false, "", exitOK, `{"deleted":["` + h.ids[2] + `"]}`, 0},
	} {
		code, out, stderr := h.run(t, c.terminal, c.stdin, append([]string{"session", "delete"}, c.args...)...)
		left, _ := os.ReadDir(filepath.Join(h.home, ".adze", "sessions"))
		if code != c.code || !strings.Contains(out, c.want) || len(left) != c.left || strings.Contains(out, "third") {
			t.Errorf("%v: exit %d, %d left\n%s%s", c.args, code, len(left), out, stderr)
		}
	}
}

// Tokens are summed by day and model; models with a price have a cost.
func TestUsage(t *testing.T) {
	// Of 47, 94 and 141 hours ago, the last five days have the first two, whatever the time of day is.
	h := recordedEvery(t, 47*time.Hour, "first", "second", "third")
	code, out, stderr := h.run(t, false, "", "usage", "--days", "5")
	if code != exitOK || strings.Count(out, "\n") != 4 || !strings.HasPrefix(out, "DAY ") || !strings.Contains(out, "\ntotal ") {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
	if err := os.WriteFile(filepath.Join(h.home, ".adze", "settings.json"), []byte(`{"modelPricing":{"m":{"input":2}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr = h.run(t, false, "", "usage", "--json")
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); err != nil || code != exitOK || len(rows) != 3 || rows[0]["model"] != "m" || rows[0]["requests"] != 1.0 || rows[0]["cost"] != 0.002 {
		t.Errorf("exit %d, %v\n%s%s", code, err, out, stderr)
	}
	if _, out, _ := newRecordedHome(t).run(t, false, "", "usage"); out != "No requests in the last 30 days.\n" {
		t.Errorf("none: %s", out)
	}
}

// Without an ID, --resume shows a list where a user can choose, and fails elsewhere.
func TestResumeWithoutID(t *testing.T) {
	h := newRecordedHome(t, "first", "second")
	code, _, stderr := h.run(t, false, "", "-r", "-p", "x")
	if code != exitInput || !strings.Contains(stderr, "--resume needs an ID, a name or words of a title") {
		t.Errorf("without a terminal: exit %d: %s", code, stderr)
	}
	env := Env{Stdin: strings.NewReader("7\n2\n"), Stderr: &bytes.Buffer{}, Terminal: true, Home: h.home, Dir: h.dir, Getenv: func(string) string { return "" }}
	o, _, err := parse([]string{"-r"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := recorded(t.Context(), env, o)
	if err != nil || r.Resume != h.ids[0] { // the newest is the first of the list
		t.Errorf("chose %+v, %v", r, err)
	}
	shown := env.Stderr.(*bytes.Buffer).String()
	if !strings.Contains(shown, "  1  abc00001") || !strings.Contains(shown, "Type a number from 1 to 2") {
		t.Errorf("shown:\n%s", shown)
	}
	env.Stdin = strings.NewReader("")
	if _, err := recorded(t.Context(), env, o); exitCode(err) != exitInterrupted {
		t.Errorf("no choice: %v", err)
	}
}

// Beside a prompt, words after --resume name a session by its title. They used to be an error: "--resume needs an ID".
func TestResumeByTitle(t *testing.T) {
	h := newRecordedHome(t, "fix the Parser", "fix the tests")
	choose := func(stdin string, terminal bool, args ...string) (id, shown string, err error) {
		env := Env{Stdin: strings.NewReader(stdin), Stderr: &bytes.Buffer{}, Terminal: terminal, Home: h.home, Dir: h.dir, Getenv: func(string) string { return "" }}
		o, words, err := parse(args)
		if err != nil {
			t.Fatal(err)
		}
		if rest := titleWords(env, o, words); len(rest) > 0 {
			t.Errorf("%q: left %q", args, rest)
		}
		r, err := recorded(t.Context(), env, o)
		if err == nil {
			id = r.Resume
		}
		return id, env.Stderr.(*bytes.Buffer).String(), err
	}
	for _, args := range [][]string{{"-r", "parser", "-p", "x"}, {"-p", "x", "-r", "parser", "fix"}, {"--resume=parser"}} {
		if id, _, err := choose("", false, args...); id != h.ids[0] || err != nil {
			t.Errorf("%q: %q, %v", args, id, err)
		}
	}
	_, _, err := choose("", false, "-r", "fix", "-p", "x")
	if err == nil || !strings.Contains(err.Error(), `2 sessions have "fix" in their names or titles`) || !strings.Contains(err.Error(), "fix the Parser") {
		t.Errorf("several: %v", err)
	}
	if id, shown, err := choose("2\n", true, "-r", "fix", "-p", "x"); id != h.ids[0] || err != nil || !strings.Contains(shown, "Resume which session? [1-2]") {
		t.Errorf("several in a terminal: %q, %v\n%s", id, err, shown)
	}
	if _, _, err := choose("", false, "-r", "nothing", "-p", "x"); err == nil || !strings.Contains(err.Error(), `no session with "nothing" in its name or title`) {
		t.Errorf("none: %v", err)
	}
	if _, _, err := choose("", false, "--resume=ffff"); err == nil || !strings.Contains(err.Error(), "unknown session") {
		t.Errorf("an ID: %v", err)
	}
}
