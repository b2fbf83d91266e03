// Package trust stores which projects the user trusts, bound to what each project requests.
//
//	store := trust.Open(adzeHome)
//	if store.State(dir, items) != trust.Trusted { … its settings can only add restrictions … }
//
// Trust applies to a list of requests, not to a directory: if a pull changes a setting, the hash of the list changes,
// and the project is untrusted until the user reviews it. Files of definitions are approved one by one. The package
// doesn't interpret the requests; it only finds the programs of a project that a setting or command names, and hashes
// them.
package trust

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/tool"
)

// Item is one request of a project's files: a setting and its value, or a server and its command.
type Item struct {
	What   string
	Text   string
	Effect Effect // for users; a decision isn't bound to it
}

// Effect is what trusting a project would do, by one of its requests.
type Effect int

// The effects, in the order in which they are shown.
const (
	RunsProgram Effect = iota
	ChangesPermissions
	AddsTools // servers, agents, skills
	ChangesSetting
)

// Adds returns an item that adds something, and runs a program or not.
func Adds(what, text string, runs bool) Item {
	if runs {
		return Item{what, text, RunsProgram}
	}
	return Item{what, text, AddsTools}
}

// State is whether a project is trusted.
type State int

// The states.
const (
	Unknown State = iota // the user was never asked
	Changed              // they approved something else
	Trusted
)

// Store is the file of trusted projects.
type Store struct{ path string }

// Open returns the store in Adze's directory. It reads and creates nothing yet.
func Open(adzeHome string) *Store { return &Store{filepath.Join(adzeHome, "trust.json")} }

// grant is a stored approval.
type grant struct {
	Hash string    `json:"hash"`
	When time.Time `json:"when"`
}

// Hash identifies a list of items, in any order.
func Hash(items []Item) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = fmt.Sprintf("%q %q", item.What, item.Text)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// State returns the state of a project. An unreadable store means not trusted.
func (s *Store) State(directory string, items []Item) (State, error) {
	raw, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	grants, bad := s.grants(raw)
	if err = cmp.Or(err, bad); err != nil {
		return Unknown, fmt.Errorf("read the trusted projects: %w", err)
	}
	g, ok := grants[directory]
	switch {
	case !ok:
		return Unknown, nil
	case g.Hash != Hash(items):
		return Changed, nil
	}
	return Trusted, nil
}

// Trust stores an approval of exactly these items and files: see Seals.
func (s *Store) Trust(directory string, items []Item, seals map[string]string) error {
	if err := s.saveSeals(directory, seals); err != nil {
		return err
	}
	return s.Renew(directory, items)
}

// Renew stores an approval of other items. The approved files stay the same.
func (s *Store) Renew(directory string, items []Item) error {
	return s.change(func(grants map[string]grant) {
		grants[directory] = grant{Hash(items), time.Now().UTC().Truncate(time.Second)}
	})
}

// Forget revokes trust.
func (s *Store) Forget(directory string) error {
	if err := s.saveSeals(directory, nil); err != nil {
		return err
	}
	return s.change(func(grants map[string]grant) { delete(grants, directory) })
}

// Seals returns what identifies the content of the files that the user approved, by their paths; empty: none. They are
// compared when a file is used, because comparing hundreds of files would delay the start.
func (s *Store) Seals(directory string) map[string]string {
	raw, _ := os.ReadFile(s.sealsPath(directory)) // nothing is approved if it can't be read
	seals := make(map[string]string, bytes.Count(raw, []byte("\n")))
	for line := range strings.Lines(string(raw)) {
		quoted, seal, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if path, err := strconv.Unquote(quoted); err == nil {
			seals[path] = seal
		}
	}
	return seals
}

// sealsPath returns a separate file for each project, so that the start of one doesn't read those of all.
func (s *Store) sealsPath(directory string) string {
	sum := sha256.Sum256([]byte(directory))
	return filepath.Join(filepath.Dir(s.path), "trust", hex.EncodeToString(sum[:16]))
}

func (s *Store) saveSeals(directory string, seals map[string]string) error {
	if len(seals) == 0 {
		if err := os.Remove(s.sealsPath(directory)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("save the trusted projects: %w", err)
		}
		return nil
	}
	return save(s.sealsPath(directory), func([]byte) ([]byte, error) {
		var b bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(seals)) {
			b.WriteString(strconv.Quote(name) + "\t" + seals[name] + "\n")
		}
		return b.Bytes(), nil
	})
}

// grants reads the store.
func (s *Store) grants(raw []byte) (grants map[string]grant, err error) {
	if raw == nil {
		return map[string]grant{}, nil
	}
	if err := json.Unmarshal(raw, &grants); err != nil {
		return nil, fmt.Errorf("%s: %w\nDelete the file to start over.", s.path, err)
	}
	return grants, nil
}

func (s *Store) change(apply func(map[string]grant)) error {
	return save(s.path, func(old []byte) ([]byte, error) {
		grants, err := s.grants(old)
		if err != nil {
			return nil, err
		}
		apply(grants)
		raw, err := json.MarshalIndent(grants, "", "  ")
		return append(raw, '\n'), err
	})
}

// save rewrites a file. A concurrent change is not overwritten.
func save(path string, change func(old []byte) ([]byte, error)) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = atomicfile.Update(path, atomicfile.Options{Mode: 0o600}, change)
	}
	if err != nil {
		return fmt.Errorf("save the trusted projects: %w", err)
	}
	return nil
}

// Describe lists the requests of a project, grouped by their effect.
func Describe(items []Item) string {
	titles := []string{
		RunsProgram: "Runs programs", ChangesPermissions: "Changes permissions",
		AddsTools: "Adds servers, agents, skills", ChangesSetting: "Changes other settings",
	}
	groups := map[Effect][]Item{}
	for _, item := range items {
		groups[item.Effect] = append(groups[item.Effect], item)
	}
	var b strings.Builder
	for effect, title := range titles {
		group := groups[Effect(effect)]
		if len(group) > 0 {
			fmt.Fprintf(&b, "  %s:\n", title)
		}
		for _, item := range group {
			fmt.Fprintf(&b, "    %s = %s\n", tool.Visible(item.What),
				tool.Visible(strings.ReplaceAll(item.Text, "\n", " ")))
		}
	}
	return b.String()
}
