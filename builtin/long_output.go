package builtin

import (
	"errors"
	"fmt"
	"io"

	"github.com/adze-dev/adze/tool"
)

// file is where the whole of a long output goes.
type file struct {
	io.WriteCloser
	path string
}

var errNotKept = errors.New("no directory to save it in")

func (s *shell) open(c tool.Call) (file, error) {
	if s.output == nil {
		return file{}, errNotKept
	}
	w, path, err := s.output(c)
	return file{w, path}, err
}

// longOutput makes a file of an output only when it is longer than what is given at once: most are not.
type longOutput struct {
	open func() (file, error)
	keep int
	held []byte
	file *file
	err  error
}

// Write never fails: a command must not die of a full disk that only its log is on.
func (l *longOutput) Write(p []byte) (int, error) {
	if l.file == nil && l.err == nil {
		l.held = append(l.held, p...)
		if len(l.held) <= l.keep {
			return len(p), nil
		}
		f, err := l.open()
		if err != nil {
			l.err, l.held = err, nil
			return len(p), nil
		}
		l.file = &f
		_, l.err = l.file.Write(l.held)
		l.held = nil
		return len(p), nil
	}
	if l.err == nil {
		_, l.err = l.file.Write(p)
	}
	return len(p), nil
}

// close ends the file and says where the whole output is, if it is longer than what was given.
func (l *longOutput) close() string {
	if l.file != nil {
		l.err = errors.Join(l.err, l.file.Close())
	}
	switch {
	case l.err != nil:
		return fmt.Sprintf("The whole output could not be kept: %v", l.err)
	case l.file != nil:
		return fmt.Sprintf("The whole output is in %s; read or search that file for the rest.", l.file.path)
	}
	return ""
}
