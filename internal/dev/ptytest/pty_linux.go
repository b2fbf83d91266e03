package ptytest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/term"
)

// Terminal is a terminal of 80 columns and 24 rows, from the user's side.
type Terminal struct {
	TTY *os.File // the program's stdin, stdout and stderr

	t    testing.TB
	keys *os.File
	done chan struct{} // closed when there is no more output

	mu   sync.Mutex
	more *sync.Cond
	seen bytes.Buffer
	over bool
}

// Open opens a terminal. It skips the test if that isn't possible.
func Open(t testing.TB) *Terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	fd := int(keys.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		keys.Close()
		t.Skipf("there are no terminals here: %v", err)
	}
	p := &Terminal{TTY: tty, t: t, keys: keys, done: make(chan struct{})}
	p.more = sync.NewCond(&p.mu)
	go p.watch()
	t.Cleanup(func() {
		tty.Close() // ends watch
		<-p.done
		keys.Close()
	})
	return p
}

// watch collects output until no program has the terminal open.
func (p *Terminal) watch() {
	defer close(p.done)
	piece := make([]byte, 4096)
	for {
		n, err := p.keys.Read(piece)
		p.mu.Lock()
		p.seen.Write(piece[:n])
		p.more.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Await waits until a text was printed n times in total, or the program has exited.
func (p *Terminal) Await(text string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.over && strings.Count(p.seen.String(), text) < n {
		p.more.Wait()
	}
}

// Type types text. "\x03" is Ctrl-C.
func (p *Terminal) Type(keys string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// End must be called when the program has exited. It waits until all its output was read.
func (p *Terminal) End() {
	const mark = "\x1b[m\x1b[m" // invisible, and after all other output
	if _, err := p.TTY.WriteString(mark); err != nil {
		p.t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for !strings.HasSuffix(p.seen.String(), mark) {
		p.more.Wait()
	}
	p.over = true
	p.more.Broadcast()
}

// Raw returns the output so far, byte for byte.
func (p *Terminal) Raw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// Shown returns the output as a reader sees it, including lines that have scrolled away.
func (p *Terminal) Shown() string {
	var b strings.Builder
	s := term.New(func(line []byte, _ bool) { fmt.Fprintf(&b, "%s\n", bytes.TrimRight(line, " ")) })
	s.Write([]byte(p.Raw()))
	s.Flush()
	return b.String()
}
