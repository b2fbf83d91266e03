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

// Commands of all fates leave no goroutine, descriptor, child or ledger entry.
func TestLeaksNothing(t *testing.T) {
	state := t.TempDir()
	r := Open(Options{Helper: helper, State: state})
	run(t, r, Command{Line: "true"}) // what is made once is made
	r.Close()
	fds, routines := descriptors(t), runtime.NumGoroutine()

	r = Open(Options{Helper: helper, State: state})
	for i := range soak.Count(100, 1000) {
		switch i % 5 {
		case 0:
			r.Run(context.Background(), Command{Line: "sleep 0.2 & echo a"})
		case 1:
			r.Run(context.Background(), Command{Line: "sleep 9", Timeout: 3 * time.Millisecond})
		case 2:
			r.Run(context.Background(), Command{Argv: []string{"/missing"}})
		default:
			r.Run(context.Background(), Command{Line: "echo a; exit 1", Live: func(Progress) {}})
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(slack(time.Second)); time.Now().Before(end) && (descriptors(t) > fds || runtime.NumGoroutine() > routines); {
		time.Sleep(5 * time.Millisecond)
	}
	if n := descriptors(t); n > fds {
		t.Errorf("%d descriptors, before %d", n, fds)
	}
	if n := runtime.NumGoroutine(); n > routines {
		t.Errorf("%d goroutines, before %d", n, routines)
	}
	if kids := descendants(os.Getpid()); len(kids) > 0 {
		t.Errorf("children %v", kids)
	}
	if files, _ := os.ReadDir(state); len(files) > 0 {
		t.Errorf("%d ledger entries", len(files))
	}
}
