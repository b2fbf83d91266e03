package proc

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// boxArg is the one argument of a process that enters a box and becomes the
// command. It alone does nothing: the command comes through a pipe.
const (
	boxArg = "--adze-process-box"
	boxFD  = 3
)

func (h Helper) works() bool { return h.path != "" }

// startHere starts a process of this program that becomes the command.
func startHere(h Helper, s *spec) (*os.Process, error) {
	if s.made == nil || !s.plan.InProcess() {
		return startPlain(s)
	}
	s.env = s.made.Environ(s.env)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	attr := &syscall.SysProcAttr{}
	if s.plan.Layers.Has(sandbox.Namespaces) {
		attr = sandbox.NamespaceAttr()
	}
	p, err := os.StartProcess(h.path, []string{"adze-box", boxArg}, &os.ProcAttr{Env: helperEnv(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, r}, Sys: attr})
	if err == nil {
		_, err = w.Write(s.encode())
		if err != nil {
			p.Kill()
			p.Wait()
		}
	}
	w.Close()
	return p, err
}

// become is that process. It returns only if it fails, with an exit code as of
// a shell that cannot execute.
func become() int {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "adze: make the sandbox: %v\n", err)
		return 126
	}
	runtime.LockOSThread() // it is this thread that enters the box
	body, err := io.ReadAll(os.NewFile(boxFD, "command"))
	if err != nil {
		return fail(err)
	}
	s, box, err := decodeSpec(body)
	if err != nil || box == nil {
		return fail(fmt.Errorf("the command did not arrive: %w", err))
	}
	unix.CloseRange(boxFD, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	if err := box.Enter(); err != nil {
		return fail(err)
	}
	// After the box, so that the folder is the one seen from inside.
	if err := os.Chdir(s.dir); err != nil {
		return fail(err)
	}
	err = syscall.Exec(s.argv[0], s.argv, s.env)
	fmt.Fprintf(os.Stderr, "adze: start %s: %v\n", s.argv[0], err)
	return 126
}
