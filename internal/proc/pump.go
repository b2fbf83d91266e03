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

// pump reads the output until everybody has closed it. While the command runs
// and for a short time after, it goes to the capture; what leftovers print
// later is read and dropped, so that they neither block nor die of it.
func (p *Process) pump() {
	defer close(p.pumped)
	buf := make([]byte, readSize)
	err := p.copyOut(buf, p.out)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = p.drain(buf)
	}
	close(p.settled)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.out.SetReadDeadline(time.Time{})
		io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{p.out}, buf[:4<<10])
	}
}

// drain reads what was in the pipe when the command exited, all of it, and
// what comes within the drain time.
func (p *Process) drain(buf []byte) error {
	p.out.SetReadDeadline(time.Time{})
	if err := p.copyOut(buf, io.LimitReader(p.out, waiting(p.out))); err != io.EOF {
		return err
	}
	p.out.SetReadDeadline(time.Now().Add(p.runner.opt.Drain))
	return p.copyOut(buf, p.out)
}

// copyOut reads until there is an error, which it returns: io.EOF at the end.
func (p *Process) copyOut(buf []byte, from io.Reader) error {
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.cap.write(buf[:n])
		}
		if err != nil {
			return err
		}
	}
}

// readToEnd waits until all output of a command that has exited is taken.
func (p *Process) readToEnd() {
	if err := p.out.SetReadDeadline(time.Now()); err == nil {
		<-p.settled
		return
	}
	// No deadlines for pipes here (Windows): whoever holds the pipe open is
	// cut off after the drain time.
	select {
	case <-p.settled:
	case <-time.After(p.runner.opt.Drain):
		p.out.Close()
		<-p.settled
	}
}

// These hide the methods by which io.Copy would go another way.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
