package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/tool"
)

// jobPiece is how much of a job's output is read at once.
const jobPiece = 20 << 10

// Read returns the output of a background command from an offset on; nil: from where the last read ended. It waits a
// while for new output.
func (s *Shell) Read(ctx context.Context, live *tool.Live, id string, offset *int64, wait time.Duration) (tool.Result,
	error) {
	s.mu.Lock()
	from := s.told[id]
	s.mu.Unlock()
	if offset != nil {
		from = *offset
	}
	piece, job, err := s.await(ctx, id, from, wait)
	if err != nil {
		return tool.Result{}, err
	}
	if err := s.heldBack(id).release(ctx, live, job.Label, s.ws.Project()); err != nil {
		return tool.Result{}, err
	}
	s.mu.Lock()
	s.told[id] = piece.Next
	s.mu.Unlock()
	state := "running"
	if !job.Running {
		state = "ended, " + ending(job.Outcome)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Background Id: %s\nState: %s\nBytes: %d to %d of %d\n", job.ID, state, piece.From, piece.Next,
		piece.Total)
	if piece.Skipped > 0 {
		fmt.Fprintf(&b, "%d bytes before that are no longer kept.\n", piece.Skipped)
	}
	fmt.Fprintf(&b, "Output: %s", orEmpty(strings.TrimRight(piece.Text, "\n")))
	offered, err := s.offer(ctx, live, job)
	if offered != "" {
		b.WriteString("\n" + offered)
	}
	b.WriteString(noteLines(s.aside()))
	return tool.Result{Content: []tool.Part{tool.Text(b.String())}, Display: tool.Literal(piece.Text)}, err
}

// settle is how long a waiting reader continues to wait after new output: often it is the last output, and the result
// can include the end of the command.
const settle = 50 * time.Millisecond

// await reads, and waits a while if there is nothing new yet.
func (s *Shell) await(ctx context.Context, id string, from int64, wait time.Duration) (proc.Piece, proc.Job, error) {
	deadline := time.Now().Add(wait)
	settling := false
	for {
		piece, job, err := s.jobs.Read(id, from, jobPiece)
		if err != nil || !job.Running || !time.Now().Before(deadline) {
			return piece, job, err
		}
		if soon := time.Now().Add(settle); piece.Text != "" && !settling {
			settling = true
			if soon.Before(deadline) {
				deadline = soon
			}
		}
		select {
		case <-ctx.Done():
			return piece, job, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// file is the file for a long output.
type file struct {
	io.WriteCloser
	path string
}

var errNotKept = errors.New("no directory to save it in")

func (s *Shell) open(c tool.Call) (file, error) {
	if s.output == nil {
		return file{}, errNotKept
	}
	w, path, err := s.output(c)
	return file{w, path}, err
}

// longOutput writes an output to a file once it is longer than what the result includes.
type longOutput struct {
	open    func() (file, error)
	keep    int
	private bool // nothing is saved before close
	held    []byte
	file    *file
	size    int // of a private file
	err     error
}

// maxPrivate is the maximum size of a private file, that of a saved result.
const maxPrivate = 64 << 20

// Write never fails: a command must not fail because the disk with its log is full.
func (l *longOutput) Write(p []byte) (int, error) {
	if l.file == nil && l.err == nil {
		l.held = append(l.held, p...)
		if len(l.held) <= l.keep {
			return len(p), nil
		}
		open := l.open
		if l.private {
			open = private
		}
		f, err := open()
		if err != nil {
			l.err, l.held = err, nil
			return len(p), nil
		}
		l.file = &f
		_, l.err = l.file.Write(l.held)
		l.size, l.held = len(l.held), nil
		return len(p), nil
	}
	if l.size += len(p); l.private && l.size > maxPrivate {
		return len(p), nil
	}
	if l.err == nil {
		_, l.err = l.file.Write(p)
	}
	return len(p), nil
}

// close closes the file and returns its path, if the output is longer than what the result includes.
func (l *longOutput) close() string {
	if l.file != nil && l.private && l.err == nil {
		l.err = l.publish()
	}
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

// publish copies a private file to a saved one.
func (l *longOutput) publish() error {
	from := l.file.WriteCloser.(*os.File)
	to, err := l.open()
	if err != nil {
		return err
	}
	defer from.Close()
	l.file = &to
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}

// discard closes the file without saving it.
func (l *longOutput) discard() {
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.held, l.err = nil, nil, errNotKept
}
