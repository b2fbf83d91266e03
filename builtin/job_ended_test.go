package builtin

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/tool"
)

// A front end is notified that a background command has ended, and gets the message for the model.
func TestJobEnded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a POSIX shell")
	}
	ended := make(chan struct{}, 1)
	set, err := New(Options{Dir: t.TempDir(), Helper: testHelper, Session: true, JobEnded: func() { ended <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
	b := x.Batch(t.Context())
	b.Add(tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"exit 3","is_background":true}`)})
	if o := b.Wait()[0]; o.Status != tool.StatusSuccess {
		t.Fatalf("%+v", o)
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("not called")
	}
	if news := set.JobNews(); len(news) != 1 || !strings.Contains(news[0], "has ended") {
		t.Errorf("%q", news)
	}
	if news := set.JobNews(); len(news) != 0 {
		t.Errorf("again: %q", news)
	}
}
