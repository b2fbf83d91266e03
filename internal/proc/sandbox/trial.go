package sandbox

import (
	"encoding/json"
	"strings"
	"time"
)

// Overlay is a directory that a trial sees at its own path and whose changes
// go elsewhere.
type Overlay struct {
	Lower string // the directory, links resolved
	Upper string // takes what changes
	Work  string // empty, on the file system of Upper; the kernel's own
	// Instead says that Upper takes the place of Lower: the kernel makes no overlay
	// of a directory with mount points in it.
	Instead bool
	// Parts are the directories below Lower that can be written; nil: all of it.
	// One overlay of a home directory is faster than one for each cache.
	Parts []string
}

// Trials is what a sandbox of mode Trial is made of besides Spec.Limits.
type Trials struct {
	// Layers are the directories that can be written. Everything else is
	// read-only.
	Layers []Overlay
	// Dir is an empty directory that the command can't see into.
	Dir string
	// Show are paths below an Upper that takes the place of its Lower: they are
	// there nevertheless, read-only. Upper has a directory or file for each.
	Show []string
	// Conceal are directories that look empty: those of uppers that are in a
	// lower.
	Conceal []string
	// Bytes, Processes and CPU limit what the command writes, how many processes
	// it has at a time and how long they compute; 0 means no limit.
	Bytes     int64
	Processes int
	CPU       time.Duration
}

// lowers are the paths of the layers.
func (t *Trials) lowers() []string {
	var out []string
	for _, l := range t.Layers {
		if l.Parts == nil {
			out = append(out, l.Lower)
		}
		out = append(out, l.Parts...)
	}
	return out
}

// encoded is for another process of the same program.
func (t *Trials) encoded() string {
	if t == nil {
		return ""
	}
	b, _ := json.Marshal(t) // strings and numbers
	return string(b)
}

func decodeTrials(text string) (*Trials, error) {
	if text == "" {
		return nil, nil
	}
	t := &Trials{}
	return t, json.Unmarshal([]byte(text), t)
}

// Unfit says why a command that failed in a trial would probably not fail outside
// of it, from what it printed; empty: nothing speaks for that.
func Unfit(output string) string {
	for text, why := range map[string]string{
		"Value too large for defined data type": "a file belongs to another user or group (EOVERFLOW)",
		"EOVERFLOW":                             "a file belongs to another user or group (EOVERFLOW)",
		"nvalid cross-device link":              "a directory could not be renamed (EXDEV)",
		"EXDEV":                                 "a directory could not be renamed (EXDEV)",
	} {
		if strings.Contains(output, text) {
			return why
		}
	}
	return ""
}
