package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/screentest"
	"github.com/adze-dev/adze/internal/dev/waittest"
)

// patience is how long a test waits for something to happen.
const patience = 2 * time.Minute

// glass is a terminal with the program in it.
type glass struct {
	*screentest.Screen
	keys  *os.File
	cmd   *exec.Cmd
	ended chan int
	around

	columns, rows int           // 0: 80 and 24
	found         *unix.Termios // the state of the terminal before the start
	record        io.Writer     // gets what the program writes; nil: nothing does
}

// start starts a program in a terminal of 80 columns and 24 rows. ahead is typed before. stop ends it.
func (g *glass) start(cmd *exec.Cmd, ahead string) (stop func(), err error) {
	keys, tty, err := openTTY()
	if err != nil {
		return nil, err
	}
	if _, err := keys.WriteString(ahead); err != nil {
		return nil, err
	}
	g.keys, g.cmd = keys, cmd
	if g.found, err = unix.IoctlGetTermios(descriptor(keys), unix.TCGETS); err != nil {
		return nil, err
	}
	if g.columns == 0 {
		g.columns, g.rows = 80, 24
	}
	if err := unix.IoctlSetWinsize(descriptor(keys), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(g.rows), Col: uint16(g.columns)}); err != nil {
		return nil, err
	}
	g.Screen = screentest.New(g.columns, g.rows, func(reply string) { keys.WriteString(reply) })
	g.prepare()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	err = cmd.Start()
	tty.Close()
	if err != nil {
		keys.Close()
		return nil, err
	}
	g.ended = make(chan int, 1)
	painted := make(chan struct{})
	go func() {
		defer close(painted)
		b := make([]byte, 32<<10)
		for {
			n, err := keys.Read(b)
			if g.record != nil {
				g.record.Write(b[:n])
			}
			g.Write(b[:n])
			if err != nil {
				return // EIO: no program has the terminal
			}
		}
	}()
	go func() {
		cmd.Wait()
		<-painted
		g.ended <- cmd.ProcessState.ExitCode()
	}()
	return func() {
		cmd.Process.Kill()
		<-painted
		keys.Close()
	}, nil
}

func openTTY() (keys, tty *os.File, err error) {
	keys, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := descriptor(keys)
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return keys, tty, err
}

// descriptor returns the descriptor of a file. Fd would let reads block, and Close wait for them: a terminal that is closed
// would stay until the program prints something.
func descriptor(f *os.File) (fd int) {
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(d uintptr) { fd = int(d) })
	}
	return fd
}

// shown returns the visible screen.
func (g *glass) shown() string { return strings.TrimRight(strings.Join(g.Lines(), "\n"), "\n") + "\n" }

// see waits until the scrollback and the screen contain a text.
func (g *glass) see(t *testing.T, want string) {
	t.Helper()
	g.holds(t, fmt.Sprintf("the terminal shows %q", want), func() bool { return strings.Contains(g.Text(), want) })
}

// holds waits until a condition holds. Rows show how it is instead.
func (g *glass) holds(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !waittest.Holds(ok) {
		t.Fatalf("it did not happen that %s:\n%.5000s", what, g.Text())
	}
}

// exits waits until the program has ended, and returns its exit code.
func (g *glass) exits(t *testing.T) int {
	t.Helper()
	select {
	case code := <-g.ended:
		g.ended <- code
		return code
	case <-time.After(patience):
		t.Fatalf("the program did not end:\n%.5000s", g.Text())
		return 0
	}
}

// untouched checks that the terminal is as it was found.
func (g *glass) untouched(t *testing.T) {
	t.Helper()
	if s := g.State(); s.Erased > 0 || !g.Mode(25) || !g.Mode(7) || g.Mode(2004) || g.Mode(1004) || g.Mode(1036) {
		t.Errorf("the terminal is not as it was: %+v", s)
	}
}

// types types text.
func (g *glass) types(t *testing.T, text string) {
	t.Helper()
	if _, err := g.keys.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// conversation starts adze in a terminal, in its own home, with a scripted model.
func conversation(t *testing.T, d *desk, url, ahead string, args ...string) *glass {
	t.Helper()
	return talk(t, d, exec.Command("adze", args...), url, ahead)
}

// talk starts a program as conversation does.
func talk(t *testing.T, d *desk, cmd *exec.Cmd, url, ahead string) *glass {
	t.Helper()
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "ADZE_HOME=" + d.home, "GORACE=atexit_sleep_ms=0", "ADZE_LOCAL_MODELS=off",
		"TERM=xterm-256color", "OPENAI_BASE_URL=" + url, "EDITOR=" + os.Getenv("ADZE_TEST_EDITOR")}
	g := &glass{}
	g.open(t, cmd, ahead)
	return g
}

// open starts a program, until the test ends.
func (g *glass) open(t *testing.T, cmd *exec.Cmd, ahead string) {
	t.Helper()
	stop, err := g.start(cmd, ahead)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(stop)
}
