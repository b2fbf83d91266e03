package session

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
	"github.com/google/go-cmp/cmp"
)

// Sessions stay. What they have besides their journals goes when they weren't used for 30 days and the user knows it;
// live ones keep it. Sessions were deleted after 30 days without a word.
func TestOnlyCopiesOfOldSessionsAreDeleted(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"})
	var ids []string
	var alive *Session
	for i := range 3 {
		s, c := d.open(t, &recording.Options{})
		d.say(t, c, "go"+strings.Repeat(" on", 20_000))
		if _, err := s.long.Save("c1", "grep_search", "long"); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
		if i == 2 {
			alive = s
			waittest.Until(t, "the answer is in the journal", func() bool { // it is written meanwhile
				info, err := (journal.Sessions{Home: d.home}).Info(s.ID)
				return err == nil && info.Turns == 1
			})
			continue
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	old := d.now.Add(-31 * 24 * time.Hour)
	for _, id := range []string{ids[0], ids[2]} {
		d.lastUsed(t, id, old)
	}
	next := func(later time.Duration) {
		d.now = d.now.Add(later)
		s, _ := d.open(t, &recording.Options{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Each start looked at all sessions: 0.06 s of CPU time at 1,000 of them.
	next(59 * time.Minute)
	if d.warned("will be deleted") {
		t.Error("looked at twice in an hour")
	}
	next(time.Minute)
	if left := namesIn(t, d.home, "spill"); !d.warned("will be deleted; the sessions stay") || !slices.Contains(left, ids[0]) {
		t.Errorf("not announced before: %v of %v are left", left, ids)
	}
	next(time.Hour)
	waittest.Until(t, "the saved results of "+ids[0]+" are gone", func() bool { return !slices.Contains(namesIn(t, d.home, "spill"), ids[0]) })
	if left := namesIn(t, d.home, "spill"); !slices.Contains(left, ids[1]) || !slices.Contains(left, ids[2]) {
		t.Errorf("saved results left: %v of %v", left, ids)
	}
	if left := namesIn(t, d.home, "sessions"); !slices.Contains(left, ids[0]) {
		t.Errorf("a session was deleted: %v", left)
	}
	waittest.Until(t, "the journal of "+ids[0]+" is compressed", func() bool {
		return slices.Contains(namesIn(t, d.home, "sessions", ids[0]), "journal.jsonl.gz")
	})
	alive.Close()
}

// The user's settings can delete sessions.
func TestOldSessionsAreDeletedIfTheUserWants(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"})
	var ids []string
	for range 2 {
		s, c := d.open(t, &recording.Options{})
		d.say(t, c, "go")
		ids = append(ids, s.ID)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d.lastUsed(t, ids[0], d.now.Add(-31*24*time.Hour))
	d.userSettings(t, `{"general":{"cleanupPeriodDays":30}}`)
	d.now = d.now.Add(time.Hour)
	s, _ := d.open(t, &recording.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "session "+ids[1]+" is left", func() bool { return slices.Equal(namesIn(t, d.home, "sessions"), ids[1:]) })
}

// lastUsed sets when a session was last used.
func (d *desk) lastUsed(t *testing.T, id string, at time.Time) {
	t.Helper()
	dir := (journal.Sessions{Home: d.home}).Dir(id)
	for _, path := range []string{filepath.Join(dir, "journal.jsonl"), dir} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *desk) warned(text string) bool {
	return slices.ContainsFunc(d.told, func(note string) bool { return strings.Contains(note, text) })
}

func (d *desk) userSettings(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Deleting ends when its time is over: it used to continue after the session was closed.
func TestDeletingEnds(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"})
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "go")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d.lastUsed(t, s.ID, d.now.Add(-31*24*time.Hour))
	g := s.Settings.General
	g.CleanupPeriodDays = 30
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := record.Of(s.Directory).CleanUp(over, g); err != nil {
		t.Fatal(err)
	}
	if left := namesIn(t, d.home, "sessions"); !slices.Contains(left, s.ID) {
		t.Errorf("deleted after the end: %v", left)
	}
	if err := record.Of(s.Directory).CleanUp(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if left := namesIn(t, d.home, "sessions"); slices.Contains(left, s.ID) {
		t.Errorf("not deleted: %v", left)
	}
}

// Above the limit the oldest sessions go first.
func TestSessionsOverTheLimitAreDeleted(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "ok"}, openaitest.Answer{Text: "ok"})
	var ids []string
	for i := range 2 {
		s, c := d.open(t, &recording.Options{})
		d.say(t, c, "go")
		if err := os.WriteFile(filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), "journal.jsonl.broken-1"), []byte(strings.Repeat("x", 1<<20)), 0o600); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		past := d.now.Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), "journal.jsonl"), past, past); err != nil {
			t.Fatal(err)
		}
	}
	d.userSettings(t, `{"general":{"maxStateBytes":2000000}}`)
	d.now = d.now.Add(time.Hour)
	s, _ := d.open(t, &recording.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "session "+ids[1]+" is left", func() bool { return slices.Equal(namesIn(t, d.home, "sessions"), ids[1:]) })
}

func namesIn(t *testing.T, path ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// countedLog counts how often it is synced.
type countedLog struct {
	journal.Memory
	synced atomic.Int64
}

func (l *countedLog) Sync() error {
	l.synced.Add(1)
	return nil
}

// The journal is synced before a call that can modify something runs, and beside the request after the responses of a turn;
// not for reads, and not for answers without calls.
func TestJournalIsSyncedWhereItMatters(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.dir, "a.txt")
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.server = openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path}), call("c2", "glob", map[string]any{"pattern": "*"})}},
		{Calls: []openaitest.Call{call("c3", "edit", map[string]any{"file_path": path, "old_string": "one", "new_string": "two"})}},
		{Text: "done"},
	}})
	s, err := d.try(&recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	log := &countedLog{}
	s.Recorder.Create = func() (*journal.Writer, error) {
		return journal.NewWriter(log, &journal.MemoryBlobs{}, journal.State{}), nil
	}
	got, turns := map[string]int64{}, int64(0)
	c := d.converse(t, s, func(e agent.Event) {
		switch e := e.(type) {
		case agent.Step:
			if e.Stage == tool.Running {
				got["when "+e.Request.Call.ID+" runs"] = log.synced.Load()
			}
		case agent.Responded:
			turns++
			waittest.Until(t, "the turn is synced", func() bool { return log.synced.Load() >= 2*turns-1 }) // no request does
			got["after "+e.Outcomes[0].Call.ID] = log.synced.Load()
		}
	})
	d.say(t, c, "go")
	got["before the end"] = log.synced.Load()
	s.Close()
	got["after the end"] = log.synced.Load()
	want := map[string]int64{
		"when c1 runs": 0, "when c2 runs": 0, "after c1": 1, "when c3 runs": 2, "after c3": 3, "before the end": 3, "after the end": 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The first request of a session doesn't wait for its journal, which then has everything in order.
func TestFirstRequestDoesNotWaitForTheJournal(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openaitest.Answer{Text: "hello"}, openaitest.Answer{Text: "again"})
	s, err := d.try(&recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answered, create := make(chan struct{}), s.Recorder.Create
	s.Recorder.Create = func() (*journal.Writer, error) {
		<-answered
		return create()
	}
	c := d.converse(t, s, func(e agent.Event) {
		if _, ok := e.(agent.Answered); ok {
			close(answered)
		}
	})
	d.say(t, c, "first prompt")
	if !s.Recorder.Recorded() {
		t.Error("the session isn't recorded")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, c = d.open(t, &recording.Options{Resume: s.ID})
	d.say(t, c, "second prompt")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	request := d.lastRequest()
	at := -1
	for _, text := range []string{"first prompt", "hello", "second prompt"} {
		i := strings.Index(request, text)
		if i <= at {
			t.Errorf("%q isn't where it should be in %s", text, request)
		}
		at = i
	}
}

// lastRequest returns the last request to the model.
func (d *desk) lastRequest() string {
	all := d.server.Requests()
	return all[len(all)-1].Body
}

// A resumed model still read that its command was running in the background.
func TestResumedModelKnowsThatBackgroundCommandsStopped(t *testing.T) {
	skipWindows(t)
	t.Parallel()
	run := func(id, command string) openaitest.Answer {
		return openaitest.Answer{Calls: []openaitest.Call{
			call(id, "run_shell_command", map[string]any{"command": command, "is_background": true})}}
	}
	d := newDesk(t, run("c1", "sleep 1001"), openaitest.Answer{Text: "runs"}, openaitest.Answer{Text: "again"}, openaitest.Answer{Text: "once"})
	s, c := d.open(t, &recording.Options{})
	if _, err := c.Turn(t.Context(), model.Text("start it")); err != nil {
		t.Fatal(err)
	}
	const stopped = "Background commands were stopped when the session ended, and their output is lost: bg_1 (sleep 1001)"
	for _, want := range []int{1, 1} { // the model gets it once; then it is part of the history
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, c = d.open(t, &recording.Options{Resume: s.ID})
		d.say(t, c, "continue")
		if got := strings.Count(d.lastRequest(), stopped); got != want {
			t.Errorf("told %d times, want %d: %s", got, want, d.lastRequest())
		}
	}
	s.Close()
}

// fillingLog is a journal on a disk that fills.
type fillingLog struct {
	journal.Log
	full, closed atomic.Bool
}

func (l *fillingLog) Close() error {
	l.closed.Store(true)
	return l.Log.Close()
}

func (l *fillingLog) Append(e journal.Entry) error {
	if l.full.Load() {
		return syscall.ENOSPC
	}
	return l.Log.Append(e)
}

// A journal whose first entry couldn't be written stayed open, so its session was in use until Adze exited.
func TestJournalWithoutAnEntryIsClosed(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: "hello"})
	s, err := d.try(&recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	disk := &fillingLog{Log: &journal.Memory{}}
	disk.full.Store(true)
	s.Recorder.Create = func() (*journal.Writer, error) {
		return journal.NewWriter(disk, &journal.MemoryBlobs{}, journal.State{}), nil
	}
	d.say(t, d.converse(t, s, nil), "hello")
	if err := s.Close(); err != nil || !disk.closed.Load() {
		t.Errorf("%v, closed: %v", err, disk.closed.Load())
	}
}

// After a full disk, calls ran that the resumed model knew nothing about.
func TestResumedModelKnowsOfLostCalls(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} { // whether the disk is still full at the end
		write := call("c1", "write_file", map[string]any{"file_path": "FILE", "content": "x"})
		d := newDesk(t)
		path := filepath.Join(d.dir, "made")
		write.Args = json.RawMessage(strings.Replace(string(write.Args), "FILE", path, 1))
		d.server = openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
			{Text: "hello"}, {Calls: []openaitest.Call{write}}, {Text: "done"}, {Text: "ok"}}})
		s, err := d.try(&recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		disk := &fillingLog{}
		s.Recorder.Create = func() (*journal.Writer, error) {
			all := record.Of(s.Directory)
			f, err := all.Create(s.ID)
			disk.Log = f
			return journal.NewWriter(disk, all.Store(), journal.State{}), err
		}
		s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		c := d.converse(t, s, nil)
		d.say(t, c, "hello")
		s.Recorder.Sync() // the journal has been created
		disk.full.Store(true)
		d.say(t, c, "write")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		lost := filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), record.LostName)
		if full {
			if err := os.Truncate(lost, 0); err != nil {
				t.Fatal(err)
			}
		}
		s, c = d.open(t, &recording.Options{Resume: s.ID})
		d.say(t, c, "continue")
		got := d.lastRequest()
		if !strings.Contains(got, "The end of this session wasn't recorded") || strings.Contains(got, "These calls ran: write made") == full {
			t.Errorf("still full: %v: the model reads %s", full, got)
		}
		if _, err := os.Lstat(lost); err == nil {
			t.Error("it would be told again")
		}
		s.Close()
	}
}
