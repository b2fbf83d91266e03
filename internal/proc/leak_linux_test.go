package proc

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/soak"
)

func descriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// Commands leave no goroutine, descriptor, child or ledger entry, however they end.
func TestLeaksNothing(t *testing.T) {
	state := t.TempDir()
	r := Open(Options{Helper: helper, State: state})
	run(t, r, Command{Line: "true"}) // creates what is created once
	r.Close()
	fds, routines := descriptors(t), runtime.NumGoroutine()

	r = Open(Options{Helper: helper, State: state})
	for i := range soak.Count(100, 1000) {
		switch i % 5 {
		case 0:
			r.Run(context.Background(), Command{Line: "sleep 0.2 & echo a"})
		case 1:
			r.Run(context.Background(), Command{Line: "sleep 600", Timeout: 3 * time.Millisecond})
		case 2:
			r.Run(context.Background(), Command{Argv: []string{"/missing"}})
		default:
			r.Run(context.Background(), Command{Line: "echo a; exit 1", Live: func(Progress) {}})
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "descriptors are closed", func() bool { return descriptors(t) <= fds })
	eventually(t, "goroutines return", func() bool { return runtime.NumGoroutine() <= routines })
	if kids := descendants(os.Getpid()); len(kids) > 0 {
		t.Errorf("children %v", kids)
	}
	if files, _ := os.ReadDir(state); len(files) > 0 {
		t.Errorf("%d ledger entries", len(files))
	}
}
