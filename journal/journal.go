// Package journal is the history of a session: a list of entries that only grows. Everything that was said, requested, run
// and answered is an entry, and the state of a session is a fold over them:
//
//	state, err := journal.Fold(log.Read(1), store)
//	if err != nil {
//		return err
//	}
//	history := state.Agent("").History
//
// A [Log] keeps entries: [Memory] in memory, [File] in a file. A [Writer] makes entries of typed data, masks secrets, and
// moves long texts and media to a [Blobs]. The package runs nothing and prints nothing.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Version is the version of the format that this package writes. It reads entries of newer versions as far as it knows
// their types, and never appends to them.
const Version = 1

// Limits of the format.
const (
	MaxText = 64 << 10  // longer texts are in the store
	MaxLine = 512 << 10 // of an entry; JetStream's limit for a message is 1 MB
)

// Errors that callers test for.
var (
	// ErrConflict is returned for an entry whose Seq isn't the next one: another writer was faster.
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

// Log keeps the entries of one session, in order. It is safe for concurrent use.
type Log interface {
	// Append adds an entry. It returns ErrConflict, and adds nothing, if the entry's Seq isn't the one after the last.
	Append(Entry) error
	// Read yields the entries from that Seq on. An error ends it.
	Read(from int64) iter.Seq2[Entry, error]
	// Sync returns when everything that was appended before the call survives a power failure. Concurrent calls share the
	// work.
	Sync() error
	Close() error
}

// Last is the Seq of the last entry of a log; 0: it has none.
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
