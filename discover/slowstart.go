package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// longStart is how long a start must have taken to be noted as late when it failed: a quick failure costs no time.
const longStart = 2 * time.Second

// slowStart is the record, on disk, that a server took long to fail when it was last started. Who cannot wait does not wait
// for it again.
type slowStart struct {
	Hash  string `json:"hash"` // of the configuration
	Why   string `json:"why"`
	Times int    `json:"times"` // in a row
}

func slowStartPath(state, alias string) string {
	return filepath.Join(state, "late", fileName(alias)+".json")
}

// startedSlowly is why the server failed after a long start the last time; empty if it did not. A launcher is given a second
// chance: the first time it had to install the server.
func (l *link) startedSlowly() string {
	note := l.slowStartNote()
	if note.Times == 1 && l.kind == stdio && l.conf.launcher() != "" {
		return ""
	}
	return note.Why
}

func (l *link) slowStartNote() slowStart {
	var note slowStart
	if l.state() == "" {
		return note
	}
	raw, err := os.ReadFile(slowStartPath(l.state(), l.alias))
	if err != nil || json.Unmarshal(raw, &note) != nil || note.Hash != l.hash {
		return slowStart{}
	}
	return note
}

// noteSlowStart keeps how a start ended. A canceled one says nothing, unless waited is set.
func (l *link) noteSlowStart(a *attempt, took time.Duration) {
	if l.state() == "" {
		return
	}
	l.mu.Lock()
	waited := a.waited
	l.mu.Unlock()
	err := a.err
	if broken := l.life.Err() != nil || errors.Is(err, ErrClosed); broken && err != nil {
		if !waited {
			return
		}
		err = fmt.Errorf("no response within %s", spell(took.Round(time.Second)))
	}
	path := slowStartPath(l.state(), l.alias)
	if err == nil || took < longStart && !waited {
		os.Remove(path) // mostly there is none
		return
	}
	why, _, _ := strings.Cut(err.Error(), "\n") // what it printed stands in its log
	raw, jerr := json.Marshal(slowStart{l.hash, clip(strings.TrimSuffix(why, "; stderr:"), 500), l.slowStartNote().Times + 1})
	if jerr == nil {
		jerr = writeFile(path, raw)
	}
	if jerr != nil {
		l.log.printf("save the slow-start record: %v", jerr)
	}
}

// WaitLikely waits like Wait, but not for servers that failed after a long start when they were last started. They are
// started all the same, and their tools come when they answer.
func (s *Servers) WaitLikely(ctx context.Context) error {
	return s.wait(ctx, func(l *link) error {
		if why := l.startedSlowly(); why != "" {
			return fmt.Errorf("not waiting for it, because it failed last time: %s", why)
		}
		return nil
	})
}
