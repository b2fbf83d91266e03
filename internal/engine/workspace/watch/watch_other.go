//go:build !linux

package watch

import "errors"

type system struct{}

// Open fails: watches are only supported on Linux.
func (h *Hub) Open(Interest) (*Watcher, error) { return nil, errors.ErrUnsupported }

// Limit returns the maximum number of directories that a session watches.
func Limit() int { return 0 }

// Add, Remove, Read and Close are not called: Open fails.
func (w *Watcher) Add(string) (int32, error) { return 0, errors.ErrUnsupported }

// Remove isn't called.
func (w *Watcher) Remove(int32) {}

// Read isn't called.
func (w *Watcher) Read(func(Event)) error { return errors.ErrUnsupported }

// Close isn't called.
func (w *Watcher) Close() {}
