package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"sync"

	"github.com/adze-dev/adze/fleet/internal/pipe"
	"github.com/adze-dev/adze/journal"
)

// worker is the worker at the other end of the pipe. It stores the session's journal and contents.
type worker struct {
	gone func() // ends the process

	mu      sync.Mutex
	out     *json.Encoder
	replies chan pipe.Reply
}

// connect reads the first value and starts to read replies. When the worker closes the pipe, the process ends.
func connect(in io.Reader, out io.Writer, gone func()) (*worker, pipe.Begin, error) {
	d := json.NewDecoder(in)
	var b pipe.Begin
	if err := d.Decode(&b); err != nil {
		return nil, b, fmt.Errorf("read the task from the worker: %w", err)
	}
	w := &worker{gone: gone, out: json.NewEncoder(out), replies: make(chan pipe.Reply)}
	go func() {
		for {
			var r pipe.Reply
			if d.Decode(&r) != nil {
				gone()
				return
			}
			w.replies <- r
		}
	}()
	return w, b, nil
}

// ask sends a request and waits for the reply. Without one, the process exits: what isn't recorded must not happen.
func (w *worker) ask(r pipe.Request) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.out.Encode(r); err != nil {
		w.gone()
		return nil, err
	}
	reply := <-w.replies
	if reply.Error != "" {
		return nil, errors.New(reply.Error)
	}
	return reply.Data, nil
}

// Append returns when the worker has the entry on disk.
func (w *worker) Append(e journal.Entry) error {
	_, err := w.ask(pipe.Request{Append: &e})
	if err != nil {
		w.gone()
	}
	return err
}

// Read yields nothing: the first value has all entries.
func (w *worker) Read(int64) iter.Seq2[journal.Entry, error] {
	return func(func(journal.Entry, error) bool) {}
}

// Sync does nothing: Append returns when an entry is on disk.
func (w *worker) Sync() error { return nil }

// Close does nothing: the end of the process closes the pipe.
func (w *worker) Close() error { return nil }

// Put stores a content.
func (w *worker) Put(content []byte) (journal.Ref, error) {
	if len(content) == 0 {
		content = []byte{}
	}
	_, err := w.ask(pipe.Request{Put: content})
	if err != nil {
		w.gone()
	}
	return journal.RefOf(content), err
}

// Get returns a content.
func (w *worker) Get(ref journal.Ref) ([]byte, error) {
	b, err := w.ask(pipe.Request{Get: &ref})
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", ref.Blob, err, fs.ErrNotExist)
	}
	return b, nil
}
