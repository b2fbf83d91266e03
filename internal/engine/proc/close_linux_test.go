package proc

import (
	"io"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// A descriptor that is given to CloseLast is closed: by an idle keeper, which is gone then, without one, and after Close.
func TestCloseLast(t *testing.T) {
	for name, prepare := range map[string]func(r *Runner){
		"keeper": func(r *Runner) { r.keeper.probe() },
		"none":   func(*Runner) {},
		"closed": func(r *Runner) { r.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t, Options{})
			prepare(r)
			pid := 0
			if i := r.keeper.spare[plain]; i != nil {
				pid = i.kept.keeper.Pid
			}
			if (pid != 0) != (name == "keeper") {
				t.Fatalf("idle keeper %d", pid)
			}
			var ends [2]int
			if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			r.CloseLast(ends[1])
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			read := os.NewFile(uintptr(ends[0]), "read end")
			defer read.Close()
			if n, err := read.Read(make([]byte, 1)); n != 0 || err != io.EOF { // otherwise it blocks
				t.Errorf("%d bytes, %v", n, err)
			}
			waittest.Until(t, "the keeper is gone", func() bool {
				return pid == 0 || syscall.Kill(pid, 0) == syscall.ESRCH
			})
		})
	}
}
