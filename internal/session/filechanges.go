package session

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/nofollow"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// maxKept is the largest file whose content the journal keeps when a call changes it.
const maxKept = 16 << 20

// fileState is a file before or after a call.
type fileState struct {
	blob string // name of its content in the store; "": there is no file
	mode fs.FileMode
	kept bool // the rest is known
}

// fileStates are the files that a call writes, as far as it declares them one by one.
func (r *recorder) fileStates(access []tool.Access) map[string]fileState {
	var states map[string]fileState
	for _, a := range access {
		if a.Verb != tool.Writes || a.Target == "*" || strings.HasSuffix(a.Target, "/") {
			continue
		}
		if states == nil {
			states = map[string]fileState{}
		}
		states[a.Target] = r.keep(a.Target)
	}
	return states
}

// keep adds the content of a file to the store.
func (r *recorder) keep(path string) fileState {
	f, err := nofollow.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{kept: true}
	}
	if err != nil {
		return fileState{}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxKept {
		return fileState{}
	}
	content, err := io.ReadAll(io.LimitReader(f, maxKept+1))
	if err != nil || len(content) > maxKept {
		return fileState{}
	}
	ref, err := r.contents.Put(content)
	if err != nil {
		return fileState{}
	}
	return fileState{blob: ref.Blob, mode: info.Mode().Perm(), kept: true}
}

// changes are the files that differ from what they were before a call.
func (r *recorder) changes(access []tool.Access, before map[string]fileState) []journal.Change {
	var out []journal.Change
	for _, a := range access {
		was, ok := before[a.Target]
		if !ok || !was.kept || a.Verb != tool.Writes {
			continue
		}
		delete(before, a.Target) // once, if the access names it twice
		now := r.keep(a.Target)
		if !now.kept || was.mode == now.mode && was.blob == now.blob {
			continue
		}
		out = append(out, journal.Change{Path: a.Target, Before: was.blob, After: now.blob, Mode: uint32(was.mode)})
	}
	return out
}
