//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tty

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// CanRedraw reports whether a terminal understands the sequences that move its cursor.
func CanRedraw(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// InBackground reports whether another program has the terminal.
func InBackground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// Echo gives the switch of a terminal's echo: what is typed while the live area is there is dropped, and shown it would
// tear the area apart. It is nil where this program does not have the terminal.
func Echo(f *os.File) func(on bool) {
	fd := int(f.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return nil
	}
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || before.Lflag&unix.ECHO == 0 {
		return nil
	}
	return func(on bool) {
		now, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil || InBackground(f) { // whose settings are another program's now
			return
		}
		now.Lflag &^= unix.ECHO
		if on {
			now.Lflag |= unix.ECHO
		}
		_ = unix.IoctlSetTermios(fd, setTermios, now) // it is for looks only
	}
}

// terminal reads a terminal only while a prompt is open, so that no line is on its way from an earlier one.
type terminal struct{ fd int }

func newTerminal(f *os.File) Answers { return terminal{int(f.Fd())} }

const (
	// A paste can reach the terminal in pieces: discard repeats until nothing comes within burstPause.
	burstPause = 50 * time.Millisecond
	maxBursts  = 20
	// readPause is how long a withdrawn prompt may take to notice.
	readPause = 50 * time.Millisecond
)

func (t terminal) Discard() error {
	for range maxBursts {
		more, err := t.readable(0)
		if err == nil {
			err = flushInput(t.fd)
		}
		if err != nil {
			return fmt.Errorf("discard what was typed before the prompt: %w", err)
		}
		if !more {
			break
		}
		time.Sleep(burstPause)
	}
	return nil
}

func (t terminal) Next(ctx context.Context) ([]byte, error) {
	var line []byte
	piece := make([]byte, 4096)
	for {
		ready, err := t.readable(readPause)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case !ready:
			continue
		}
		n, err := unix.Read(t.fd, piece)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return nil, err
		case n == 0 && len(line) == 0:
			return nil, io.EOF
		case n == 0: // Ctrl-D after some text
			return line, nil
		}
		line = append(line, piece[:n]...)
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			return line[:end], nil // nothing that came with it answers another prompt
		}
		if len(line) > MaxLine {
			return nil, ErrLongLine
		}
	}
}

// readable waits until there is a line, or the end, to read.
func (t terminal) readable(wait time.Duration) (bool, error) {
	var set unix.FdSet
	set.Set(t.fd)
	limit := unix.NsecToTimeval(int64(wait))
	n, err := unix.Select(t.fd+1, &set, nil, nil, &limit)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}
