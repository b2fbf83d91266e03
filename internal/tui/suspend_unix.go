//go:build unix

package tui

import "syscall"

// suspend stops the program, as Ctrl+Z does elsewhere, until the shell continues it.
func (s *Screen) suspend() {
	if err := s.outside(func() { syscall.Kill(0, syscall.SIGTSTP) }); err != nil {
		s.fail(err)
	}
}
