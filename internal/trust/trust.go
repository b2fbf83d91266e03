// Package trust remembers which folders a person trusts, bound to what they would let the folder do.
//
//	store := trust.Open(adzeHome)
//	if store.State(dir, items) != trust.Trusted { … its settings may only forbid … }
//
// A yes is to a list of things, not to a folder: when a pull brings another command, the list has another hash, and
// the folder is not trusted until the person has seen it. The package knows nothing of what the things mean.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/atomicfile"
)

// Item is one thing that a folder's files would do: a setting and its value, a server and its command.
type Item struct {
	What string
	Text string
}

// State says how far a folder is trusted.
type State int

// The states.
const (
	Unknown State = iota // the person was never asked
	Changed              // they said yes to something else
	Trusted
)

// Store is the file of what was trusted.
type Store struct{ path string }

// Open names the store in Adze's own folder. Nothing is read or made yet.
func Open(adzeHome string) *Store { return &Store{filepath.Join(adzeHome, "trust.json")} }

// grant is a yes.
type grant struct {
	Hash string    `json:"hash"`
	When time.Time `json:"when"`
}

// Hash stands for a list of things, in any order.
func Hash(items []Item) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = fmt.Sprintf("%q %q", item.What, item.Text)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// State looks a folder up. What cannot be read is not trusted.
func (s *Store) State(folder string, items []Item) (State, error) {
	grants, _, err := s.read()
	if err != nil {
		return Unknown, err
	}
	g, ok := grants[folder]
	switch {
	case !ok:
		return Unknown, nil
	case g.Hash != Hash(items):
		return Changed, nil
	}
	return Trusted, nil
}

// Trust remembers a yes to exactly these things.
func (s *Store) Trust(folder string, items []Item) error {
	return s.change(func(grants map[string]grant) {
		grants[folder] = grant{Hash(items), time.Now().UTC().Truncate(time.Second)}
	})
}

// Forget takes a yes back.
func (s *Store) Forget(folder string) error {
	return s.change(func(grants map[string]grant) { delete(grants, folder) })
}

func (s *Store) read() (map[string]grant, []byte, error) {
	raw, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]grant{}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the trusted projects: %w", err)
	}
	grants := map[string]grant{}
	if err := json.Unmarshal(raw, &grants); err != nil {
		return nil, nil, fmt.Errorf("read the trusted projects: %s: %w\nDelete the file to start over.", s.path, err)
	}
	return grants, raw, nil
}

// change rewrites the store. Somebody else who does so at the same moment is not overwritten.
func (s *Store) change(apply func(map[string]grant)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("save the trusted projects: %w", err)
	}
	for {
		grants, old, err := s.read()
		if err != nil {
			return err
		}
		apply(grants)
		raw, err := json.MarshalIndent(grants, "", "  ")
		if err != nil {
			return err
		}
		o := atomicfile.Options{Mode: 0o600}
		if old != nil {
			hash := sha256.Sum256(old)
			o.Old = &hash
		}
		_, err = atomicfile.Write(s.path, append(raw, '\n'), o)
		var changed *atomicfile.ChangedError
		if errors.As(err, &changed) {
			continue
		}
		if err != nil {
			return fmt.Errorf("save the trusted projects: %w", err)
		}
		return nil
	}
}
