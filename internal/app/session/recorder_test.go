package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// The first read of a session waited until its journal had been created and had its first entry. Now only a call that
// changes something does, whether the journal can be created or not.
func TestReadsDoNotWaitForTheJournal(t *testing.T) {
	t.Parallel()
	full := errors.New("no space")
	for _, failure := range []error{nil, full} {
		d := newDesk(t)
		path, made := filepath.Join(d.dir, "a.txt"), filepath.Join(d.dir, "made")
		if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d.server = openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
			{Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path})}},
			{Calls: []openaitest.Call{call("c2", "write_file", map[string]any{"file_path": made, "content": "x"})}},
			{Text: "done"},
		}})
		s, err := d.try(&recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		approved := make(chan struct{}) // the write call
		s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			close(approved)
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		create := s.Recorder.Create
		s.Recorder.Create = func() (*journal.Writer, error) {
			select {
			case <-approved: // so the read call has ended, and its result was sent
			case <-t.Context().Done():
				t.Error("the read call waits for the journal")
			}
			if _, err := os.Stat(made); err == nil {
				t.Error("the write call didn't wait for the journal")
			}
			if failure != nil {
				return nil, failure
			}
			return create()
		}
		c := d.converse(t, s, nil)
		d.say(t, c, "go")
		if failure != nil {
			lost := filepath.Join((journal.Sessions{Home: d.home}).Dir(s.ID), record.LostName)
			if err := os.MkdirAll(filepath.Dir(lost), 0o700); err != nil {
				t.Fatal(err)
			}
			s.Close()
			if calls, err := os.ReadFile(lost); err != nil || strings.Count(string(calls), "\n") != 1 {
				t.Errorf("lost: %q, %v", calls, err)
			}
			continue
		}
		s.Close()
		got := d.types(t, s.ID)
		if diff := slices.Index(got, "call.finished"); diff < 0 || got[0] != "session.opened" || got[1] != "message" {
			t.Errorf("entries: %q", got)
		}
		if h := d.state(t, s.ID).Agent("").History; len(h) != 6 || h[5].Text() != "done" {
			t.Errorf("history: %+v", h)
		}
	}
}
