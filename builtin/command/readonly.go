package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// Where there are no overlays, as in many containers, commands are tried in a read-only place: they can write only to a
// private temp directory and caches, and the sandbox reports every other write that it refused. Then the output of the
// command means nothing, even if it ended with 0: it isn't used, and the command requires approval.

// readOnlyPlace is the read-only place of a session.
type readOnlyPlace struct {
	once sync.Once
	err  error // why it doesn't work here
}

// open prepares the place once.
func (p *readOnlyPlace) open(l *limiter) error {
	p.once.Do(func() {
		if p.err = l.runner.CanObserve(); p.err != nil {
			p.err = fmt.Errorf("%w: %w", p.err, errors.ErrUnsupported)
			return
		}
		if l.start() == nil {
			return
		}
		// Reads can be limited in the place, although not with other sandboxes.
		p.err = l.prepare()
	})
	return p.err
}

// observed returns the sandbox of a command in the place, with the paths that rules let it read. Its output is held
// back by h.
func (l *limiter) observed(b *sandboxes, grant []tool.Access) (s *sandbox.Spec, h *held, err error) {
	// Git's configuration with credentials can't look different, and stays closed.
	if s, h, err = l.supervised(b, grant, sandbox.Empty); err == nil {
		s.Observe, s.Roots = true, b.roots
	}
	return s, h, err
}

// unwritten returns an environment in which programs don't write what they do without, or write it to a cache.
func unwritten(env []string, cache string) []string {
	more := func(name, value string) string {
		for _, kv := range env {
			if old, ok := strings.CutPrefix(kv, name+"="); ok {
				value = strings.TrimSpace(old + " " + value)
			}
		}
		return name + "=" + value
	}
	return append(slices.Clip(env),
		more("GOFLAGS", "-buildvcs=false"), more("PYTEST_ADDOPTS", "-p no:cacheprovider"),
		"GOCACHE="+filepath.Join(cache, "go-build"), "CCACHE_DIR="+filepath.Join(cache, "ccache"),
		"MYPY_CACHE_DIR="+filepath.Join(cache, "mypy"), "RUFF_CACHE_DIR="+filepath.Join(cache, "ruff"),
		"TEST_TELEMETRY_DIR="+filepath.Join(cache, "go-telemetry"), // of the go command
		"PYTHONDONTWRITEBYTECODE=1", "PIP_NO_CACHE_DIR=1", "npm_config_logs_max=0", "NO_UPDATE_NOTIFIER=1",
		"NODE_REPL_HISTORY=", "PYTHON_HISTORY="+os.DevNull, "HISTFILE="+os.DevNull, "LESSHISTFILE=-")
}

// observedCall is a command that ran in the place.
type observedCall struct {
	*shellCall
	outcome proc.Outcome
	whole   *longOutput
	late    []string // files that should have been hidden
	result  func(ctx context.Context) (tool.Result, error)
}

// observe runs the command in the place.
func (c shellCall) observe(ctx context.Context, inv *tool.Invocation) (*tool.Tried, error) {
	b := c.shell.sandboxes
	if err := c.shell.trials.place.open(b.limiter); err != nil {
		return nil, err
	}
	var err error
	if c.command.Sandbox, c.held, err = b.limiter.observed(b, c.live.Decision.Grant); err != nil {
		return nil, err
	}
	c.command.Env = b.limiter.supervisedEnviron(b, c.held)
	c.tries = true
	p, whole, err := c.begin(ctx)
	if err != nil {
		c.held.done(true)
		return nil, err
	}
	<-p.Done()
	r := &observedCall{shellCall: &c, outcome: p.Wait(), whole: whole}
	r.late, err = c.held.appeared()
	c.held.done(r.outcome.Leftover == 0)
	if err == nil && !r.outcome.Observed {
		err = errors.New("its supervisor process was stopped, so it isn't known whether it tried to write")
	}
	if err != nil {
		whole.discard()
		return nil, err
	}
	quiet := p.Progress().Quiet
	r.result = func(ctx context.Context) (tool.Result, error) {
		o := r.outcome
		o.Suspect = "" // the lines about it are in notes
		out, err := r.ended(ctx, o, whole.close(), quiet)
		out.Missed = r.missed()
		if lines := r.notes(err); len(lines) > 0 {
			out.Content = []tool.Part{tool.Text(strings.TrimRight(out.Text(), "\n") + "\n" + strings.Join(lines, "\n"))}
		}
		return out, err
	}
	return r.tried(ctx, inv), nil
}

// missed returns what the command wanted and didn't get, for users.
func (r *observedCall) missed() (out []string) {
	const limit = 5
	if o := r.outcome; len(o.Blocked) > 0 {
		out = append(out, "denied: "+humanize.List(o.Blocked, limit))
	}
	return append(out, r.stopped(r.outcome)...)
}

// notes returns lines for the model about what the place denied. err is the command's failure.
func (r *observedCall) notes(err error) (lines []string) {
	o := r.outcome
	if len(o.Blocked) > 0 {
		lines = append(lines, "It ran where this was denied: "+strings.Join(o.Blocked, ", ")+".")
	}
	if o.Limit != "" {
		lines = append(lines, "It was stopped: "+o.Limit+".")
	}
	if err != nil && o.Suspect != "" {
		const why = "Likely blocked, because it was tried where nothing can be written, without the network"
		lines = append(lines, why+" ("+o.Suspect+").")
	}
	if err != nil {
		withheld := r.shell.sandboxes.unapproved().withheld
		lines = append(lines, withheldNote(withheld, r.request.Command+"\n"+o.Output.String())...)
	}
	return lines
}

// obstacle returns why only a real run would show what the command does; "": its result counts.
func (r *observedCall) obstacle() string {
	o := r.outcome
	failed := o.Exit != 0 || o.Ended != proc.Exited
	switch {
	case len(o.Refused) > 0:
		return "tried where nothing can be written, it tried to write " + r.paths(o.Refused)
	case o.Stopped > 0 && o.Ended == proc.Exited:
		return "it left processes running, which were stopped"
	case o.Ended == proc.TimedOut:
		return "it was still running when its time was over"
	case failed && o.Suspect != "":
		return "tried where nothing can be written, it was likely blocked: " + o.Suspect
	case failed && len(o.Blocked) > 0 && strings.TrimSpace(o.Output.String()) == "":
		return "tried where nothing can be written, it was denied " + strings.Join(o.Blocked, ", ")
	case failed && lacks(r.shell.sandboxes.unapproved().withheld, o.Output.String()):
		return "it was tried without some environment variables"
	}
	return ""
}

// paths returns refused paths for users.
func (r *observedCall) paths(all []string) string {
	const limit, longest = 3, 200
	var shown []string
	for _, path := range all[:min(len(all), limit)] {
		name := []rune(names.Short(path, r.shell.ws.Project()))
		if len(name) > longest {
			name = append([]rune("…"), name[len(name)-longest:]...)
		}
		shown = append(shown, tool.Visible(string(name)))
	}
	if len(all) > limit {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// tried returns the command's result if it changed nothing, or a question about the command.
func (r *observedCall) tried(ctx context.Context, inv *tool.Invocation) *tool.Tried {
	t := &tool.Tried{}
	t.Description, t.Notes = inv.Description, inv.Notes
	why := r.obstacle()
	if len(r.outcome.Refused) == 0 && len(r.late) > 0 {
		q := lateQuestion(r.request.Command, r.late, r.shell.ws.Project())
		t.Description, t.Access, t.Confirm = q.Description, q.Access, q.Confirm
		t.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) { return r.result(ctx) }
		t.Drop = func() tool.Result { r.whole.discard(); return tool.Result{} }
		return t
	}
	if why == "" {
		out, err := r.result(ctx)
		t.Access, t.Confirm = []tool.Access{tool.Nothing}, inv.Confirm
		t.Run = func(context.Context, *tool.Live) (tool.Result, error) { return out, err }
		t.Drop = func() tool.Result { return out }
		return t
	}
	t.Access, t.Run, t.Confirm = inv.Access, inv.Run, inv.Confirm
	if shown, ok := inv.Confirm.(tool.Command); ok {
		shown.Warnings = append(slices.Clone(shown.Warnings), why)
		t.Confirm = shown
	}
	t.Drop = func() tool.Result {
		if len(r.outcome.Refused) == 0 {
			out, _ := r.result(ctx)
			return out
		}
		r.whole.discard()
		return tool.TextResult("Command: " + r.request.Command + "\nIts output isn't available: " + why + ".")
	}
	return t
}
