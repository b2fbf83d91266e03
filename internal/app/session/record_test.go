package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

// desk is where sessions of a test run: one home, one project, one model.
type desk struct {
	home, dir string
	server    *openaitest.Server
	now       time.Time
	environ   []string
	told      []string
	helper    builtin.Helper // for trials
}

func newDesk(t *testing.T, answers ...openaitest.Answer) *desk {
	d := &desk{home: project.Canonical(t.TempDir()), dir: project.Canonical(t.TempDir()), now: time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)}
	d.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home}
	d.server = openaitest.Serve(t, openaitest.Script{Answers: answers})
	return d
}

func (d *desk) try(o *recording.Options) (*Session, error) {
	return Open(project.Env{
		HasUser: true, Home: d.home, Now: func() time.Time { return d.now }, Environ: d.environ, Version: "test", Helper: d.helper,
		Getenv: func(name string) string { return map[string]string{"ADZE_HOME": d.home}[name] },
		Tell:   func(note string) { d.told = append(d.told, note) },
	}, Options{Dir: d.dir, Record: o})
}

// open opens a session in which the user approves everything, and its conversation.
func (d *desk) open(t *testing.T, o *recording.Options) (*Session, *Conversation) {
	t.Helper()
	s, err := d.try(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	return s, d.converse(t, s, nil)
}

func (d *desk) converse(t *testing.T, s *Session, observe func(agent.Event)) *Conversation {
	t.Helper()
	m, err := openai.Open(t.Context(), openai.Options{BaseURL: d.server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return s.Converse(t.Context(), ConversationOptions{Model: m, Observe: observe})
}

func (d *desk) say(t *testing.T, c *Conversation, prompt string) string {
	t.Helper()
	answer, err := c.Run(t.Context(), model.Text(prompt))
	if err != nil {
		t.Fatal(err)
	}
	return answer.Text
}

// state returns what the journal of a session says.
func (d *desk) state(t *testing.T, id string) *journal.State {
	t.Helper()
	f, state, err := (journal.Sessions{Home: d.home}).View(id)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return &state
}

// content returns a content that is kept for undo.
func (d *desk) content(t *testing.T, session, name string) string {
	t.Helper()
	store, err := undo.OpenStore(d.home, session)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b, err := store.Get(name)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// change returns the one file that a call changed.
func change(t *testing.T, d *desk, session, id string) journal.Change {
	t.Helper()
	all := journal.Sessions{Home: d.home}
	f, err := all.Entries(session)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for e, err := range f.Read(1) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := journal.Decode(e, all.Store())
		if err != nil {
			t.Fatal(err)
		}
		if done, ok := data.(journal.Finished); ok && done.ID == id && len(done.Changes) == 1 {
			return done.Changes[0]
		}
	}
	t.Fatalf("call %s changed no single file", id)
	return journal.Change{}
}

func (d *desk) types(t *testing.T, id string) []string {
	t.Helper()
	f, err := (journal.Sessions{Home: d.home}).Entries(id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var types []string
	for e, err := range f.Read(1) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, string(e.Type))
	}
	return types
}

func call(id, name string, args any) openaitest.Call {
	raw, _ := json.Marshal(args)
	return openaitest.Call{ID: id, Name: name, Args: raw}
}

// Everything that happens is an entry, in the order in which it happened.
func TestRecording(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.dir, "a.txt")
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.server = openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path})}},
		{Calls: []openaitest.Call{call("c2", "edit", map[string]any{"file_path": path, "old_string": "one", "new_string": "two"})}},
		{Text: "done"},
	}})
	s, c := d.open(t, &recording.Options{})
	if _, err := os.Stat((journal.Sessions{Home: d.home}).Dir(s.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a journal before the first prompt: %v", err)
	}
	d.say(t, c, "go")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"session.opened", "message", "asked", "called", "call.started", "call.finished", "answer", "responses",
		"asked", "called", "answer", "call.started", "call.finished", "responses", "asked", "answer", "session.closed",
	}
	got := d.types(t, s.ID)
	if i := slices.Index(got, "answer"); i == 4 || i == 5 { // a call can run before or after its answer ends
		got[i], got[4], got[5], got[6] = "", "call.started", "call.finished", "answer"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	a := d.state(t, s.ID)
	if seen := a.Agent("").Seen[path]; !seen.Whole || seen.Hash == "" {
		t.Errorf("seen: %+v", a.Agent("").Seen)
	}
	if c := change(t, d, s.ID, "c2"); c.Path != path || d.content(t, s.ID, c.Before) != "one\n" || d.content(t, s.ID, c.After) != "two\n" || c.Mode != 0o600 {
		t.Errorf("change: %+v", c)
	}
	if a.Title != "go" || a.Opened.Model != "m" || a.Opened.CWD != d.dir || a.Agent("").Turns != 3 {
		t.Errorf("%+v", a)
	}
	if diff := cmp.Diff(c.agent.History(), a.Agent("").History); diff != "" {
		t.Error(diff)
	}
}

// A resumed session sends requests that begin with the bytes of the requests before, and in the end it has said and done
// the same as one that was never closed.
func TestResumedRequestsOnlyGrow(t *testing.T) {
	serial.Test(t)
	const turns = 60
	d := newDesk(t, growing(turns)...)
	if err := os.WriteFile(filepath.Join(d.dir, "AGENTS.md"), []byte("Use tabs.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, c := d.open(t, &recording.Options{})
	id := s.ID
	for i := 0; len(d.server.Requests()) < turns; i++ {
		if i%2 == 1 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, c = d.open(t, &recording.Options{Resume: id})
		}
		d.now = d.now.Add(5 * time.Hour)
		vary(t, s, i)
		d.say(t, c, fmt.Sprintf("prompt %d", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkGrowth(t, d.server.Requests())
	if diff := cmp.Diff(c.agent.History(), d.state(t, id).Agent("").History); diff != "" {
		t.Error(diff)
	}
	if len(d.told) > 0 {
		t.Errorf("told: %q", d.told)
	}
}

// Read files and the to-do list are known after a resume; a file that changed meanwhile has to be read again.
func TestResumeKnows(t *testing.T) {
	d := newDesk(t)
	same, other := filepath.Join(d.dir, "same.txt"), filepath.Join(d.dir, "other.txt")
	for _, path := range []string{same, other} {
		if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(id, path string) openaitest.Call {
		return call(id, "edit", map[string]any{"file_path": path, "old_string": "one", "new_string": "two"})
	}
	d.server = openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Calls: []openaitest.Call{
			call("c1", "read_file", map[string]any{"absolute_path": same}), call("c2", "read_file", map[string]any{"absolute_path": other}),
			call("c3", "todo_write", map[string]any{"todos": []map[string]string{{"id": "1", "content": "Look", "status": "pending"}}}),
		}},
		{Text: "read"},
		{Calls: []openaitest.Call{edit("c4", same), edit("c5", other)}},
		{Text: "edited"},
	}})
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "read")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("one more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, c = d.open(t, &recording.Options{Resume: s.ID})
	defer s.Close()
	if todos := s.Tools.Todos(""); len(todos) != 1 || todos[0].Content != "Look" {
		t.Errorf("to-dos: %v", todos)
	}
	d.say(t, c, "edit")
	for path, want := range map[string]string{same: "two\n", other: "one more\n"} {
		if b, _ := os.ReadFile(path); string(b) != want {
			t.Errorf("%s: %q", path, b)
		}
	}
}

// Mode and rules come from settings and flags, never from the journal.
func TestResumeTakesNoModeFromTheJournal(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"})
	s, c := d.open(t, &recording.Options{})
	if err := s.SetMode("yolo"); err != nil {
		t.Fatal(err)
	}
	d.say(t, c, "go")
	s.Close()
	s, _ = d.open(t, &recording.Options{Resume: s.ID})
	defer s.Close()
	if mode := s.Policy.Mode().String(); mode != "default" {
		t.Errorf("mode after a resume: %s", mode)
	}
}

// Secrets of the environment are masked.
func TestRecordingMasksSecrets(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "I see hunter2-hunter2."})
	d.environ = append(d.environ, "DB_PASSWORD=hunter2-hunter2")
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "the password is hunter2-hunter2")
	s.Close()
	text, err := os.ReadFile(filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), "journal.jsonl"))
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Count(string(text), "[secret:") < 2 {
		t.Errorf("%v: %s", err, text)
	}
}

// Without recording there is no journal, and nothing to resume.
func TestNoRecording(t *testing.T) {
	for name, o := range map[string]*recording.Options{"nothing said": nil, "off": {Off: true}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, openaitest.Answer{Text: "ok"})
			s, c := d.open(t, o)
			d.say(t, c, "go")
			s.Close()
			if _, err := os.Stat(filepath.Join(d.home, "sessions")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("recorded: %v", err)
			}
		})
	}
	d := newDesk(t)
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(`{"general":{"chatRecording":false}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := d.try(&recording.Options{})
	if err != nil || s.Recorder != nil {
		t.Errorf("general.chatRecording: false: %v", err)
	}
	s.Close()
	if _, err := d.try(&recording.Options{Resume: record.NewID()}); !errors.Is(err, project.ErrSession) {
		t.Errorf("resume without recording: %v", err)
	}
}

// An ID that was given is taken from the start, and given back if nothing happens.
func TestGivenID(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"})
	id := record.NewID()
	s, _ := d.open(t, &recording.Options{ID: id})
	if _, err := d.try(&recording.Options{ID: id}); !errors.Is(err, project.ErrSession) || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a taken ID: %v", err)
	}
	s.Close()
	s, c := d.open(t, &recording.Options{ID: id})
	d.say(t, c, "go")
	if _, err := d.try(&recording.Options{Resume: id}); !errors.Is(err, project.ErrSession) || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Errorf("a session in use: %v", err)
	}
	s.Close()
	if _, err := d.try(&recording.Options{ID: id}); !errors.Is(err, project.ErrSession) {
		t.Errorf("a taken ID: %v", err)
	}
	s, _ = d.open(t, &recording.Options{Resume: id})
	s.Close()
	if state := d.state(t, id); !state.Closed || state.Agent("").Turns != 1 {
		t.Errorf("%+v", state)
	}
}

// failing is a journal on a disk that is full.
type failing struct{ journal.Memory }

func (*failing) Append(journal.Entry) error { return errors.New("no space left on device") }

// A journal that can't be written is reported once, and the work continues.
func TestFullDiskIsReportedOnce(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Calls: []openaitest.Call{call("c1", "glob", map[string]any{"pattern": "*"})}}, openaitest.Answer{Text: "ok"})
	s, c := d.open(t, &recording.Options{})
	s.Recorder.Create = func() (*journal.Writer, error) {
		return journal.NewWriter(&failing{}, &journal.MemoryBlobs{}, journal.State{}), nil
	}
	if text := d.say(t, c, "go"); text != "ok" {
		t.Errorf("answer: %q", text)
	}
	s.Close()
	if len(d.told) != 1 || !strings.Contains(d.told[0], "no space left on device") {
		t.Errorf("told: %q", d.told)
	}
}

// Calls of an MCP client are recorded too, as calls of its model with their results.
func TestRecordingWithoutConversation(t *testing.T) {
	d := newDesk(t)
	s, err := d.try(&recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			b := s.Executor.Batch(t.Context())
			b.Add(tool.Call{ID: fmt.Sprint(i), Name: "glob", Args: json.RawMessage(`{"pattern":"*"}`)})
			b.Wait()
		})
	}
	all.Wait()
	s.Close()
	a := d.state(t, s.ID).Agent("")
	if len(a.History) != 8 || len(a.Calls) != 0 {
		t.Errorf("%d messages, %d open calls", len(a.History), len(a.Calls))
	}
	for i := 0; i+1 < len(a.History); i += 2 {
		calls := a.History[i].Calls()
		if r, ok := a.History[i+1].Parts[0].(model.Response); len(calls) != 1 || !ok || r.ID != calls[0].ID {
			t.Errorf("messages %d: %+v", i, a.History[i:i+2])
		}
	}
}

// A damaged journal is repaired, and the session continues with the rest.
func TestResumeOfADamagedJournal(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(lines []string) string
		told   string
		turns  int
	}{
		"torn": {func(lines []string) string {
			return strings.Join(lines[:len(lines)-2], "") + lines[len(lines)-2][:20]
		}, "the last line of its journal was incomplete; removed 20 bytes", 2},
		"broken": {func(lines []string) string {
			lines[5] = "what is this\n"
			return strings.Join(lines, "")
		}, "line 6 of its journal can't be read; the session continues before it, and the rest is in", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, openaitest.Answer{Text: "one"}, openaitest.Answer{Text: "two"}, openaitest.Answer{Text: "three", Expect: []string{"first prompt"}})
			s, conversation := d.open(t, &recording.Options{})
			d.say(t, conversation, "first prompt")
			d.say(t, conversation, "second prompt")
			s.Close()
			path := filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), "journal.jsonl")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.damage(strings.SplitAfter(strings.TrimSuffix(string(text), "\n")+"\n", "\n")[:9])), 0o600); err != nil {
				t.Fatal(err)
			}
			s, conversation = d.open(t, &recording.Options{Resume: s.ID})
			if len(d.told) != 1 || !strings.Contains(d.told[0], c.told) {
				t.Errorf("told %q, want %q", d.told, c.told)
			}
			if text := d.say(t, conversation, "third prompt"); text != "three" {
				t.Errorf("answer: %q", text)
			}
			s.Close()
			if state := d.state(t, s.ID); state.Agent("").Turns != c.turns+1 || !state.Closed {
				t.Errorf("%d turns", state.Agent("").Turns)
			}
		})
	}
}

// Where no journal can be made, the work continues, after one notice.
func TestNoPlaceForAJournal(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"})
	if err := os.WriteFile(filepath.Join(d.home, "sessions"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "go")
	d.say(t, c, "go")
	s.Close()
	if len(d.told) != 1 || !strings.Contains(d.told[0], "the session is no longer recorded") {
		t.Errorf("told: %q", d.told)
	}
}

// A session on a disk that can't be written continues unrecorded.
func TestResumeOnAReadOnlyDisk(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("permissions don't hold root, and Windows has others")
	}
	d := newDesk(t, openaitest.Answer{Text: "one"}, openaitest.Answer{Text: "two", Expect: []string{"first prompt", "second prompt"}})
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "first prompt")
	s.Close()
	dir := (journal.Sessions{Home: d.home}).Dir(s.ID)
	for path, mode := range map[string]os.FileMode{"journal.jsonl": 0o400, "lock": 0o400, ".": 0o500} {
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	before := d.types(t, s.ID)
	s, c = d.open(t, &recording.Options{Resume: s.ID})
	d.say(t, c, "second prompt")
	s.Close()
	if len(d.told) != 1 || !strings.Contains(d.told[0], "the session is no longer recorded") {
		t.Errorf("told: %q", d.told)
	}
	if diff := cmp.Diff(before, d.types(t, s.ID)); diff != "" {
		t.Error(diff)
	}
}

// A copy continues independently, and the original session is unchanged.
func TestFork(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "one"}, openaitest.Answer{Text: "two", Expect: []string{"first prompt", "second prompt"}})
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "first prompt")
	first := s.ID
	own := record.NewID()
	copied, c := d.open(t, &recording.Options{Resume: first, Fork: true, ID: own}) // while the other one is open
	d.say(t, c, "second prompt")
	copied.Close()
	s.Close()
	if state := d.state(t, own); copied.ID != own || state.Opened.Parent == nil || state.Opened.Parent.ID != first || state.Agent("").Turns != 2 {
		t.Errorf("the copy %s: %+v", copied.ID, state.Opened.Parent)
	}
	if state := d.state(t, first); state.Agent("").Turns != 1 || !state.Closed {
		t.Errorf("the first: %d turns", state.Agent("").Turns)
	}
	if _, err := d.try(&recording.Options{Resume: first, Fork: true, ID: own}); !errors.Is(err, project.ErrSession) {
		t.Errorf("a copy under a taken ID: %v", err)
	}
}

// After a compaction a resumed session has the compacted conversation.
func TestResumeAfterACompaction(t *testing.T) {
	answers := slices.Repeat([]openaitest.Answer{{Text: "fine"}}, 12)
	d := newDesk(t, append(answers, openaitest.Answer{Text: "The user said a lot. " + strings.Repeat("Summary. ", 20)})...)
	s, c := d.open(t, &recording.Options{})
	for range answers {
		d.say(t, c, "first "+strings.Repeat("x", 20_000))
	}
	if _, err := c.agent.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	before := c.agent.History()
	s.Close()
	s, c = d.open(t, &recording.Options{Resume: s.ID})
	defer s.Close()
	if diff := cmp.Diff(before, c.agent.History()); diff != "" {
		t.Error(diff)
	}
	if title := d.state(t, s.ID).Title; !strings.HasPrefix(title, "first xxx") {
		t.Errorf("title: %q", title)
	}
}
