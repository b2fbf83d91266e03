//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopTime is how long the system has to stop the program. Without a shell that could continue it, it doesn't.
const stopTime = time.Second

// suspend stops the program, as Ctrl+Z does elsewhere, until the shell continues it.
func (s *Screen) suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	err := s.outside(func() {
		if syscall.Kill(0, syscall.SIGTSTP) != nil {
			return
		}
		select { // the signal arrives a moment later
		case <-continued:
		case <-time.After(stopTime):
		}
	})
	if err != nil {
		s.fail(err)
	}
}
