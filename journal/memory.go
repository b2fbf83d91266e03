package journal

import (
	"iter"
	"slices"
	"sync"
)

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

// Read yields the entries that are there when it starts.
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

// Last is the Seq of the last entry.
func (m *Memory) Last() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.entries))
}

// Sync does nothing.
func (m *Memory) Sync() error { return nil }

// Close ends writing.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
