package journal

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Writer appends entries to a log and maintains the state after them. After a failure it writes nothing more, because a
// history with a gap would be wrong: every later call returns the same error. It is safe for concurrent use.
type Writer struct {
	// Mask replaces secrets in a text of an entry; nil: none are known.
	Mask func(string) string
	// Now is the time; nil: time.Now.
	Now func() time.Time

	log   Log
	blobs Blobs

	mu    sync.Mutex
	state State
	err   error
}

// NewWriter returns a writer that continues a log after the state of its entries.
func NewWriter(log Log, blobs Blobs, state State) *Writer {
	return &Writer{log: log, blobs: blobs, state: state}
}

// Write appends an entry.
func (w *Writer) Write(by string, data Data) (Entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return Entry{}, w.err
	}
	e, err := w.write(by, data)
	if err != nil {
		w.err = fmt.Errorf("write the journal: %w", err)
		return Entry{}, w.err
	}
	return e, nil
}

func (w *Writer) write(by string, data Data) (Entry, error) {
	if w.state.Newest > Version {
		return Entry{}, ErrNewer
	}
	data = w.complete(by, data)
	raw, err := encode(data)
	if err != nil {
		return Entry{}, err
	}
	if raw, err = pack(raw, w.blobs, w.Mask); err != nil {
		return Entry{}, err
	}
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	e := Entry{V: Version, Seq: w.state.Seq + 1, At: now().UTC().Round(0), By: by, Type: data.Type(), Data: raw}
	if err := w.log.Append(e); err != nil {
		return Entry{}, err
	}
	w.state.apply(e, data)
	if d, ok := data.(Undone); ok && d.To > 0 {
		w.state, err = Fold(w.log.Read(1), w.blobs)
	}
	w.state.past = nil // what compactions replaced: only an undo needs it, and reads it from the log
	return e, err
}

// complete sets the fields that depend on earlier entries.
func (w *Writer) complete(by string, data Data) Data {
	switch d := data.(type) {
	case Compacted:
		snapshot := w.state.Snapshot(by)
		if len(d.Messages) == 0 { // a new conversation
			snapshot.Todos = nil
		}
		d.Turns, d.Model, d.Name, d.Snapshot = snapshot.Turns, snapshot.Model, snapshot.Name, &snapshot
		return d
	case Tried:
		d.Args = validJSON(d.Args)
		return d
	case Started:
		d.Args = validJSON(d.Args)
		return d
	case Answer:
		a := w.state.Agent(by)
		d.Turns = a.Turns + 1
		if d.Model == "" {
			d.Model = a.Model
		}
		d.Name = w.state.Name
		return d
	case Closed:
		d.Name = w.state.Name
		return d
	}
	return data
}

// validJSON returns arguments that aren't JSON as a string.
func validJSON(args json.RawMessage) json.RawMessage {
	if len(args) == 0 || json.Valid(args) {
		return args
	}
	return appendText(nil, string(args))
}

// Sync returns when all entries survive a power failure.
func (w *Writer) Sync() error {
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.err = fmt.Errorf("write the journal: %w", err)
		}
		return w.err
	}
	return nil
}

// sync makes contents durable before the entries that name them.
func (w *Writer) sync() error {
	if b, ok := w.blobs.(interface{ Sync() error }); ok {
		if err := b.Sync(); err != nil {
			return err
		}
	}
	return w.log.Sync()
}

// Err returns the failure after which nothing is written.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// View calls f with the state after the entries so far. The state is valid only during the call.
func (w *Writer) View(f func(*State)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.state)
}

// Close writes the final entry, and closes the log.
func (w *Writer) Close() error {
	w.mu.Lock()
	a := w.state.Agent("")
	end := Closed{Turns: a.Turns, Model: a.Model, Usage: a.Usage}
	w.mu.Unlock()
	_, err := w.Write("", end)
	if err == nil {
		err = w.Sync()
	}
	if e := w.log.Close(); err == nil {
		err = e
	}
	return err
}
