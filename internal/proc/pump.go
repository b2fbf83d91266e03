package proc

import (
	"errors"
	"io"
	"os"
	"time"
)

// readSize is as much as is read at once. The pipe holds more, so that the
// command can write on meanwhile.
const readSize = 64 << 10

// stream is the read end of a pipe that a command prints to.
type stream struct {
	file    *os.File
	take    func([]byte)
	wait    time.Duration // how long it is read after the command has exited
	settled chan struct{} // all that counts was read
	closed  chan struct{} // everybody has closed it
}

func newStream(f *os.File, wait time.Duration, take func([]byte)) *stream {
	return &stream{f, take, wait, make(chan struct{}), make(chan struct{})}
}

// pump reads the output until everybody has closed it. While the command runs
// and for a short time after, it is taken; what leftovers print later is read
// and dropped, so that they neither block nor die of it.
func (s *stream) pump() {
	defer close(s.closed)
	buf := make([]byte, readSize)
	err := s.copyOut(buf, s.file)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = s.drain(buf)
	}
	close(s.settled)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.file.SetReadDeadline(time.Time{})
		io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{s.file}, buf[:4<<10])
	}
}

// drain reads what was in the pipe when the command exited, all of it, and
// what comes within the drain time.
func (s *stream) drain(buf []byte) error {
	s.file.SetReadDeadline(time.Time{})
	if err := s.copyOut(buf, io.LimitReader(s.file, waiting(s.file))); err != io.EOF {
		return err
	}
	s.file.SetReadDeadline(time.Now().Add(s.wait))
	return s.copyOut(buf, s.file)
}

// copyOut reads until there is an error, which it returns: io.EOF at the end.
func (s *stream) copyOut(buf []byte, from io.Reader) error {
	for {
		n, err := from.Read(buf)
		if n > 0 {
			s.take(buf[:n])
		}
		if err != nil {
			return err
		}
	}
}

// readToEnd waits until all output of a command that has exited is taken.
func (s *stream) readToEnd() {
	if err := s.file.SetReadDeadline(time.Now()); err == nil {
		<-s.settled
		return
	}
	// No deadlines for pipes here (Windows): a process that holds the pipe open is
	// cut off after the drain time.
	select {
	case <-s.settled:
	case <-time.After(s.wait):
		s.file.Close()
		<-s.settled
	}
}

// close ends the reading.
func (s *stream) close() {
	s.file.Close()
	<-s.closed
}

// These hide the methods by which io.Copy would go another way.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
