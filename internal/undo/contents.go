package undo

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/nofollow"
)

// maxShown is the size of the largest file whose contents are shown.
const maxShown = 1 << 20

// ErrNotShown is the error of a step that can't be shown as a difference of contents.
var ErrNotShown = errors.New("not shown")

// Contents are what a step's file contains now, and what it would contain then; "" for a file that isn't there.
func (p Plan) Contents(s Step) (now, to []byte, err error) {
	if now, err = s.Now.content(func() ([]byte, error) { return readNow(s.Path) }); err != nil {
		return nil, nil, err
	}
	to, err = s.To.content(func() ([]byte, error) { return p.store.Get(s.To.Is) })
	if len(to) > maxShown {
		err = fmt.Errorf("%w: larger than %d MB", ErrNotShown, maxShown>>20)
	}
	return now, to, err
}

func (s State) content(read func() ([]byte, error)) ([]byte, error) {
	switch {
	case s.Is == "":
		return nil, nil
	case s.Is == isDir:
		return nil, fmt.Errorf("%w: a directory", ErrNotShown)
	case strings.HasPrefix(s.Is, linkPrefix):
		return []byte("link to " + s.target() + "\n"), nil
	}
	return read()
}

func readNow(path string) ([]byte, error) {
	f, err := nofollow.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxShown+1))
	if err == nil && len(content) > maxShown {
		err = fmt.Errorf("%w: larger than %d MB", ErrNotShown, maxShown>>20)
	}
	return content, err
}
