package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"
)

// Ref is a content in the store. In an entry it stands in place of a text that is too long, or of media.
type Ref struct {
	Blob  string `json:"blob"` // "sha256:…"
	Bytes int64  `json:"bytes"`
	JSON  bool   `json:"json,omitempty"` // it stands for any value, and the content is its JSON
}

// Blobs keeps contents by their hash. It is safe for concurrent use.
type Blobs interface {
	// Put adds a content, if it isn't there yet.
	Put([]byte) (Ref, error)
	// Get returns a content; fs.ErrNotExist if it isn't there.
	Get(Ref) ([]byte, error)
}

// RefOf returns the reference to a content.
func RefOf(content []byte) Ref {
	sum := sha256.Sum256(content)
	return Ref{Blob: "sha256:" + hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
}

// MemoryBlobs keeps contents in memory. The zero value is empty and ready.
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
