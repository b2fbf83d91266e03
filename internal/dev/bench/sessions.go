package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// printSessions measures recorded sessions: resuming a long one, writing a call to the journal, and listing many.
func printSessions(w io.Writer, binary string) error {
	b, err := newSessionBench(binary)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	perCall, bytes, err := b.record(sessionID(0), 1000)
	if err != nil {
		return fmt.Errorf("record a session: %w", err)
	}
	fmt.Fprintf(w, "journaling a call, without fdatasync\t%v\tunder 100 µs\n", perCall.Round(100*time.Nanosecond))
	added, err := b.resume()
	if err != nil {
		return fmt.Errorf("resume a session: %w", err)
	}
	fmt.Fprintf(w, "resuming 1,000 turns (%.0f MB), added\t%v\tunder 25 ms\n", float64(bytes)/1e6,
		added.Round(100*time.Microsecond))
	for n := 1; n < 1000; n++ {
		if _, _, err := b.record(sessionID(n), 3); err != nil {
			return fmt.Errorf("record sessions: %w", err)
		}
	}
	listed, err := b.list()
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	fmt.Fprintf(w, "adze session list, 1,000 sessions\t%v\tunder 50 ms\n", listed.Round(100*time.Microsecond))
	return nil
}

type sessionBench struct{ dir, binary, home, project string }

// newSessionBench returns a program with a home and a project in a new directory.
func newSessionBench(binary string) (*sessionBench, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return nil, err
	}
	b := &sessionBench{dir, binary, filepath.Join(dir, "home"), filepath.Join(dir, "project")}
	return b, os.MkdirAll(b.project, 0o700)
}

func sessionID(n int) string { return fmt.Sprintf("%08x-9a3c-4e0b-8c1f-3f6c1d2e4a5b", n) }

// record writes a session, and returns the time of the entries of one call and the bytes of the journal.
func (b *sessionBench) record(id string, turns int) (perCall time.Duration, bytes int64, err error) {
	all := journal.Sessions{Home: b.home}
	f, err := all.Create(id)
	if err != nil {
		return 0, 0, err
	}
	w := journal.NewWriter(f, all.Store(), journal.State{})
	if _, err := w.Write("", journal.Opened{
		ID: id, CWD: b.project, Model: "gpt-5.5", System: strings.Repeat("Follow the style guide. ", 500),
	}); err != nil {
		return 0, 0, err
	}
	var took []time.Duration
	for n := range turns {
		d, err := recordTurn(w, n+1)
		if err != nil {
			return 0, 0, err
		}
		took = append(took, d)
	}
	if err := w.Close(); err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(f.Path())
	if err != nil {
		return 0, 0, err
	}
	slices.Sort(took)
	return took[len(took)/2], info.Size(), nil
}

// recordTurn writes a turn with one call that reads 100 lines, and returns the time of the call's own entries.
func recordTurn(w *journal.Writer, n int) (time.Duration, error) {
	id := fmt.Sprint("call-", n)
	args := json.RawMessage(`{"absolute_path":"/home/user/project/main.go","offset":100}`)
	call := model.Call{Call: tool.Call{ID: id, Name: "read_file", Args: args}}
	result := tool.TextResult(strings.Repeat("\tfmt.Println(\"hello\", n) // prints a line\n", 90))
	var began, ended time.Time
	for i, d := range []journal.Data{
		journal.Message{Message: model.Prompt("Read main.go from line 100 on.")},
		journal.Asked{Turn: n},
		journal.Called{Turn: n, Call: call},
		journal.Started{
			ID: id, Name: "read_file", Args: args,
			Access: []tool.Access{{Verb: tool.Reads, Target: "/home/user/project/main.go"}},
		},
		journal.Finished{ID: id, Outcome: journal.Outcome{
			Name: "read_file", Status: tool.StatusSuccess, Result: result,
		}},
		journal.Answer{Turn: n, Reason: model.Calls, Message: model.Message{
			Role: model.Assistant, Parts: []model.Part{model.Text("I read it."), call},
		}},
		journal.Responses{Turn: n, Message: model.Message{
			Role: model.Tool, Parts: []model.Part{model.Response{ID: id, Name: "read_file", Content: result.Content}},
		}},
	} {
		if i == 2 {
			began = time.Now()
		}
		if _, err := w.Write("", d); err != nil {
			return 0, err
		}
		if i == 4 {
			ended = time.Now()
		}
	}
	return ended.Sub(began), nil
}

// resume returns how much longer opening a session takes if it continues the long one.
func (b *sessionBench) resume() (time.Duration, error) {
	all := journal.Sessions{Home: b.home}
	env := project.Env{Home: b.home, Getenv: func(
		name string) string {
		return map[string]string{"ADZE_HOME": b.home}[name]
	}}
	least := map[bool]time.Duration{}
	for n := range 20 {
		record := &recording.Options{}
		continues := n%2 == 1
		if continues {
			record.Resume = sessionID(0x10000 + n) // a copy, because each run adds to its session
			if err := all.Fork(sessionID(0), 0, record.Resume); err != nil {
				return 0, err
			}
		}
		began := time.Now()
		s, err := session.Open(env, session.Options{Dir: project.Canonical(b.project), Record: record})
		took := time.Since(began)
		if err != nil {
			return 0, err
		}
		if err := s.Close(); err != nil {
			return 0, err
		}
		if least[continues] == 0 || took < least[continues] {
			least[continues] = took
		}
		if continues {
			if err := all.Delete(record.Resume); err != nil {
				return 0, err
			}
		}
	}
	return least[true] - least[false], nil
}

// list returns the least time of adze session list.
func (b *sessionBench) list() (time.Duration, error) {
	least := time.Hour
	for range 10 {
		cmd := exec.Command(b.binary, "session", "list", "--all", "--json")
		cmd.Dir = b.project
		cmd.Env = []string{"HOME=" + b.home, "ADZE_HOME=" + b.home}
		began := time.Now()
		if text, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%w: %s", err, text)
		}
		least = min(least, time.Since(began))
	}
	return least, nil
}

// printUndo measures the cost of undo for commands in a workspace of 30,000 files and 100 MB: the base before the first
// one, and the scans before and after each. A session watches directories where it can.
func printUndo(w io.Writer) error {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "project")
	for i := range 30_000 {
		path := filepath.Join(root, fmt.Sprintf("d%d/e%d/f%d", i/1000, i/50%20, i))
		if i%50 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, bytes.Repeat(fmt.Appendf(nil, "line %d\n", i), 300), 0o600); err != nil {
			return err
		}
	}
	ctx := context.Background()
	q := tool.Request{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Execs, Target: "true"}}}}
	base, scan, watched := time.Duration(0), time.Duration(0), time.Duration(0)
	for i := range 6 {
		o := undo.Options{
			Home: filepath.Join(dir, "home"), Session: fmt.Sprint(i), Roots: []string{root},
			Limits: undo.Limits{FileBytes: 4 << 20, Bytes: 512 << 20, Files: 100_000},
		}
		if i == 5 {
			o.Watch, watched = &watch.Hub{}, 0
		}
		t := undo.New(o)
		began := time.Now()
		window := t.Before(ctx, q, tool.Decision{})
		base = least(base, time.Since(began))
		for range 5 {
			cpu := cpuTime()
			began = time.Now()
			window.After(ctx)
			if watched = least(watched, cpuTime()-cpu); o.Watch == nil {
				scan = least(scan, time.Since(began))
			}
		}
		if err := t.Close(func() (map[string]bool, error) { return nil, nil }); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "undo: base of 30,000 files, 100 MB\t%v\tunder 800 ms\n", base.Round(time.Millisecond))
	fmt.Fprintf(w, "undo: scan of 30,000 files\t%v\tunder 80 ms\n", scan.Round(100*time.Microsecond))
	fmt.Fprintf(w, "undo: nothing changed in 30,000 watched files, CPU\t%v\tunder 20 ms\n",
		watched.Round(10*time.Microsecond))
	return nil
}

// least returns the smaller time; 0 means none yet.
func least(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}
