//go:build unix

package tui

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// watchFatal restores the terminal before a signal ends the program with a report of what it was doing: SIGQUIT and SIGABRT.
func (t *terminal) watchFatal() (stop func()) {
	fatal := []os.Signal{syscall.SIGQUIT, syscall.SIGABRT}
	signals := make(chan os.Signal, 1)
	ended := make(chan struct{})
	signal.Notify(signals, fatal...)
	old := t.old // as it was at the start
	go func() {
		select {
		case s := <-signals:
			io.WriteString(t.out, "\r\x1b[J"+t.leave)
			term.Restore(int(t.in.Fd()), old)
			signal.Reset(fatal...)
			syscall.Kill(syscall.Getpid(), s.(syscall.Signal))
		case <-ended:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(ended)
	}
}
