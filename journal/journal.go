// Package journal is the history of a session: a list of entries that only grows. Every prompt, answer, call, approval
// and result is an entry, and the state of a session is a fold over them:
//
//	state, err := journal.Fold(log.Read(1), store)
//	if err != nil {
//		return err
//	}
//	history := state.Agent("").History
//
// # Write
//
// A [Writer] makes entries of [Data] such as [Message], [Called] and [Finished]. It masks secrets, and moves long texts
// and media to a [Blobs]. After a failed write it writes nothing more, because a history with a gap would be wrong.
//
//	w := journal.NewWriter(log, blobs, state)
//	w.Mask = mask
//	_, err := w.Write("", journal.Message{Message: model.Prompt("Fix the test.")})
//
// # Store
//
// A [Log] has the entries: [Memory] in memory, [File] in a file. [Sessions] are the sessions in a directory. They are
// listed, found by the start of their ID, opened by one process at a time, forked and deleted.
//
// # Read
//
// [Decode] returns the data of an entry. [Recover] does the same for an entry whose blobs are lost. Package export
// prints a session as Markdown, HTML or JSON.
//
// The package runs nothing and prints nothing.
package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"
)

// Version is the version of the format that this package writes. It reads the entry types that it knows from newer
// versions, and never appends to them.
const Version = 1

// Limits of the format.
const (
	MaxText = 64 << 10  // longer texts are in the store
	MaxLine = 512 << 10 // of an entry; JetStream's limit for a message is 1 MB
)

// Errors that callers test for.
var (
	// ErrConflict is returned for an entry whose Seq isn't the next one: another writer appended first.
	ErrConflict = errors.New("not the next entry of the journal")
	// ErrNewer is returned for writing to a journal of a newer version.
	ErrNewer = errors.New("written by a newer version of Adze")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the journal is closed")
)

// Entry is one entry of a journal.
type Entry struct {
	V    int             `json:"v"`
	Seq  int64           `json:"seq"` // from 1, without gaps
	At   time.Time       `json:"at"`
	By   string          `json:"by,omitempty"` // "" or the path of a subagent, as in tool.Call
	Type Type            `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Log stores the entries of one session, in order. It is safe for concurrent use.
type Log interface {
	// Append adds an entry. It returns ErrConflict, and adds nothing, if the entry's Seq isn't the one after the last.
	Append(Entry) error
	// Read yields the entries from Seq from on. An error ends it.
	Read(from int64) iter.Seq2[Entry, error]
	// Sync returns when everything that was appended before the call survives a power failure. Concurrent calls share
	// the work.
	Sync() error
	Close() error
}

// Last returns the Seq of the last entry of a log; 0 if it is empty.
func Last(l Log) (int64, error) {
	if known, ok := l.(interface{ Last() int64 }); ok {
		return known.Last(), nil
	}
	var last int64
	for e, err := range l.Read(1) {
		if err != nil {
			return last, err
		}
		last = e.Seq
	}
	return last, nil
}

func conflict(got, next int64) error {
	return fmt.Errorf("append entry %d: the next one is %d: %w", got, next, ErrConflict)
}

// Ref is a reference to a content in the store. In an entry it replaces a text that is too long, or media.
type Ref struct {
	Blob  string `json:"blob"` // "sha256:…"
	Bytes int64  `json:"bytes"`
	JSON  bool   `json:"json,omitempty"` // it replaces any value, and the content is its JSON
}

// Blobs stores contents by their hash. It is safe for concurrent use.
type Blobs interface {
	// Put adds a content, if it doesn't exist yet.
	Put([]byte) (Ref, error)
	// Get returns a content; fs.ErrNotExist if it is missing.
	Get(Ref) ([]byte, error)
}

// RefOf returns the reference to a content.
func RefOf(content []byte) Ref {
	sum := sha256.Sum256(content)
	return Ref{Blob: "sha256:" + hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
}

// MemoryBlobs stores contents in memory. The zero value is empty and ready.
type MemoryBlobs struct {
	mu   sync.Mutex
	kept map[string]string
}

// Put adds a content.
func (m *MemoryBlobs) Put(content []byte) (Ref, error) {
	ref := RefOf(content)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]string{}
	}
	m.kept[ref.Blob] = string(content)
	return ref, nil
}

// Get returns a content.
func (m *MemoryBlobs) Get(ref Ref) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, ok := m.kept[ref.Blob]
	if !ok {
		return nil, missing(ref)
	}
	return []byte(content), nil
}

func missing(ref Ref) error {
	return fmt.Errorf("read %s (%d bytes) from the store: %w", ref.Blob, ref.Bytes, fs.ErrNotExist)
}

// Memory is a log in memory. The zero value is empty and ready.
type Memory struct {
	mu      sync.Mutex
	entries []Entry
	closed  bool
}

// Append adds an entry.
func (m *Memory) Append(e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if next := int64(len(m.entries)) + 1; e.Seq != next {
		return conflict(e.Seq, next)
	}
	e.Data = slices.Clone(e.Data)
	m.entries = append(m.entries, e)
	return nil
}

// Read yields the entries that exist when it starts.
func (m *Memory) Read(from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.Lock()
		entries := m.entries
		m.mu.Unlock()
		for _, e := range entries[min(max(from-1, 0), int64(len(entries))):] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Last returns the Seq of the last entry.
func (m *Memory) Last() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.entries))
}

// Sync does nothing.
func (m *Memory) Sync() error { return nil }

// Close makes Append fail.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
