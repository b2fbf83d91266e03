package command

import (
	"context"
	"os"
	"slices"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// held holds back the output of a command from which files are hidden. A file that appears while the command runs isn't
// hidden, and the command may have read it before anything could be done about that. So its output is only released if
// no such file appeared until it ended, or if reading these files is approved.
type held struct {
	limiter *limiter
	before  *secretfiles.Snapshot // nil: nothing is hidden, and nothing is held back
	cache   string                // of the command; "": none

	mu       sync.Mutex
	ended    bool // late is final
	late     []string
	approved []string
}

// appeared returns the files that appeared and weren't approved.
func (h *held) appeared() ([]string, error) {
	if h == nil || h.before == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		late, ok := h.limiter.finder.Appeared(h.before, reliantWait)
		if !ok {
			return nil, h.limiter.outdated()
		}
		h.late = late
	}
	return slices.DeleteFunc(slices.Clone(h.late), func(path string) bool { return slices.Contains(h.approved, path) }),
		nil
}

// done is called when the command has ended: what appears later doesn't matter. Its cache is for other commands only if
// the output is released and nothing uses the cache anymore.
func (h *held) done(unused bool) {
	late, err := h.appeared()
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = h.ended || err == nil
	if h.cache == "" {
		return
	}
	if err != nil || len(late) > 0 || !unused {
		os.RemoveAll(h.cache) // the session's end removes what is left
	} else {
		h.limiter.mu.Lock()
		h.limiter.free = append(h.limiter.free, h.cache)
		h.limiter.mu.Unlock()
	}
	h.cache = ""
}

// release returns nil if the output may be sent. If files appeared, policy and the user decide.
func (h *held) release(ctx context.Context, l *tool.Live, command, root string) error {
	late, err := h.appeared()
	switch {
	case err != nil:
		return tool.Errorf(Failure, "run %s: its output is held back: %w", Label(command), err)
	case len(late) == 0:
		return nil
	case l.Ask == nil:
		return tool.Errorf(tool.ExecutionDenied, "run %s: its output is held back: %s", Label(command),
			lateNote(late, root))
	}
	if _, err := l.Ask(ctx, lateQuestion(command, late, root)); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.approved = append(h.approved, late...)
	return nil
}

// lateAccess returns what sending the output of a command may reveal.
func lateAccess(late []string) []tool.Access {
	var out []tool.Access
	for _, path := range late[:min(len(late), maxAccess)] {
		out = append(out, tool.Access{Verb: tool.Reads, Target: path})
	}
	return out
}

// lateNote describes the files that appeared.
func lateNote(late []string, root string) string {
	const limit = 5
	var shown []string
	for _, path := range late {
		shown = append(shown, tool.Visible(names.Short(path, root)))
	}
	return "files that may be secret appeared while it ran, and its output may contain them: " + humanize.List(shown,
		limit)
}

// lateQuestion asks whether the output of a command may be sent.
func lateQuestion(command string, late []string, root string) tool.Invocation {
	return tool.Invocation{
		Description: "send the output of " + Label(command) + " (files that may be secret appeared while it ran)",
		Access:      lateAccess(late),
		Confirm: tool.Literal("$ " + tool.Visible(command) + "\n\nIts output is held back: " +
			lateNote(late, root) + "."),
	}
}

// ending describes how a job ended. An exit code can contain what the command read.
func (s *Shell) ending(j proc.Job) string {
	if late, err := s.heldBack(j.ID).appeared(); err != nil || len(late) > 0 {
		return "its output is held back, because files that may be secret appeared while it ran"
	}
	return ending(j.Outcome)
}

func (s *Shell) heldBack(job string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[job]
}

// private opens a file without a name, in which a long output waits until it is released: saved results may be read
// without approval.
func private() (file, error) {
	f, err := os.CreateTemp("", "adze-output-")
	if err != nil {
		return file{}, err
	}
	return file{WriteCloser: f}, os.Remove(f.Name())
}
