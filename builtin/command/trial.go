package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/trial"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// KeptPath is a path that a tried command changed in the workspace.
type KeptPath struct {
	Path string
	// a file, link or directory with the old state, until the call ends; "": none, or only the mode changed
	Before   string
	ModeOnly bool
	Mode     fs.FileMode // the old mode, if only that changed
}

// trials tries commands in a session.
type trials struct {
	state        string
	contextNames []string // of context files
	kept         func(tool.Call, []KeptPath)

	place    readOnlyPlace // where overlays don't work
	readOnly bool          // it is used anyway

	closing atomic.Bool

	once   sync.Once
	layers *trial.Layers
	hidden []string // secret files in caches
	err    error
}

// newTrials returns nil if commands are not tried.
func newTrials(o Options) *trials {
	if !o.Sandbox.Trial || o.State == "" || o.Sandbox.Limits == nil ||
		slices.Contains([]string{string(sandbox.Off), string(sandbox.ReadOnly)}, o.Sandbox.Mode) || o.Imagined {
		return nil
	}
	return &trials{
		state: filepath.Join(o.State, "trial"), contextNames: o.ContextNames, kept: o.Kept,
		readOnly: o.Sandbox.ReadOnlyTrial,
	}
}

// open prepares trials once.
func (t *trials) open(b *sandboxes) (*trial.Layers, error) {
	t.once.Do(func() {
		if t.err = b.limiter.start(); t.err != nil {
			t.err = fmt.Errorf("%w: %w", t.err, errors.ErrUnsupported)
			return
		}
		if t.err = os.MkdirAll(t.state, 0o700); t.err != nil {
			return
		}
		if t.state, t.err = filepath.EvalSymlinks(t.state); t.err != nil {
			return
		}
		base := b.base()
		t.layers, t.err = trial.Open(trial.Options{
			State: t.state, Roots: base.Roots(), Git: base.Git(), Home: base.Home(),
			Temp: places.TempDirs(b.env), CacheDirs: base.CacheDirs(), Caches: base.Lasting(),
			Protected: trial.Protects(base.Protect(), b.protected),
			Instructs: func(path string) bool { return names.Instructs(path, t.contextNames) },
		})
		t.hidden = secretfiles.Shallow(base.Caches(), t.closing.Load)
		switch {
		case t.err == nil && t.closing.Load(): // the list may be incomplete
			t.err = errors.New("the session is closed")
		case t.err == nil:
			if ok, why := t.layers.Supported(); !ok {
				t.err = fmt.Errorf("%s: %w", why, errors.ErrUnsupported)
			}
		}
	})
	return t.layers, t.err
}

// Place is where commands run that were not approved.
type Place string

// The places.
const (
	PlaceOverlay  Place = "overlay"   // changes are kept apart until they are approved
	PlaceReadOnly Place = "read-only" // writes are refused, and reported
	PlaceNone     Place = "none"      // as they are
)

// Place returns where commands run that were not approved. It may take a moment the first time.
func (s *Shell) Place() Place {
	t := s.trials
	if t == nil {
		return PlaceNone
	}
	if !t.readOnly {
		if _, err := t.open(s.sandboxes); err == nil {
			return PlaceOverlay
		}
	}
	if t.place.open(s.sandboxes.limiter) == nil {
		return PlaceReadOnly
	}
	return PlaceNone
}

// NoOverlay returns why commands that were not approved don't run in an overlay; nil if they do.
func (s *Shell) NoOverlay() error {
	if s.trials == nil {
		return nil
	}
	_, err := s.trials.open(s.sandboxes)
	return err
}

func (t *trials) close() error {
	if t == nil || t.layers == nil {
		return nil
	}
	return t.layers.Close()
}

// trial returns the Trial of a call; nil if it isn't tried. run is the call itself.
func (s *Shell) trial(
	inv *tool.Invocation, c shellCall,
) func(context.Context, *tool.Live) (*tool.Tried, error) {
	if s.trials == nil || c.request.Background {
		return nil
	}
	return func(ctx context.Context, l *tool.Live) (*tool.Tried, error) {
		c.live = l
		if s.trials.readOnly {
			return c.observe(ctx, inv)
		}
		if _, err := s.trials.open(s.sandboxes); errors.Is(err, errors.ErrUnsupported) {
			return c.observe(ctx, inv)
		}
		var r *triedCall
		for range 2 { // another process may write to the workspace
			if r != nil {
				r.drop()
			}
			var err error
			if r, err = c.try(ctx); err != nil {
				return nil, err
			}
			if len(r.found.Conflicts) == 0 || ctx.Err() != nil {
				return r.tried(inv), nil
			}
		}
		defer r.drop()
		return nil, tool.Errorf(ChangedSinceRead, "%s: %w, in both of two trials; nothing was kept. Run it again",
			r.short(r.found.Conflicts[0]), tool.ErrChanged)
	}
}

// triedCall is a command that ran in a trial.
type triedCall struct {
	*shellCall
	trial   *trial.Trial
	outcome proc.Outcome
	found   trial.Effects
	whole   *longOutput
	late    []string    // files that should have been hidden
	result  tool.Result // of the command, once its output is released
	failure error
	shown   tool.Effects
	quiet   time.Duration
	once    sync.Once
	second  bool // the first one couldn't be kept
}

// prepare returns the call with everything that it needs to run in a trial. wait bounds the wait for the list of hidden
// files.
func (c shellCall) prepare(ctx context.Context, wait time.Duration) (*triedCall, error) {
	b := c.shell.sandboxes
	layers, err := c.shell.trials.open(b)
	if err != nil {
		return nil, err
	}
	s, before, err := b.limiter.limited(b.Network.reads(c.live.Decision.Grant), wait)
	if err != nil {
		return nil, err
	}
	s.Covers = append(s.Covers, sandbox.Empty.Cover(c.shell.trials.hidden...)...)
	denied, _ := b.denials.found()
	for _, path := range sandbox.Covered(denied, sandbox.Unreadable) { // other names of denied files
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			s.Covers = append(s.Covers, sandbox.Cover{Path: path, As: sandbox.Empty})
		}
	}
	c.held = &held{limiter: b.limiter, before: before}
	t, err := layers.New(ctx)
	if err != nil {
		if errors.Is(err, trial.ErrUnsupported) {
			err = fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
		}
		return nil, err
	}
	r := &triedCall{shellCall: &c, trial: t}
	c.tries = true
	others, err := t.Substitute(substitutes(b.limiter.configs()))
	if err != nil {
		r.drop()
		return nil, err
	}
	c.command.Sandbox = t.Spec(s.Limits, append(s.Covers, others...)...)
	c.command.Env = b.unapproved().tried
	if !t.HasCache() { // temp directories are empty in a trial
		cache := filepath.Join(os.TempDir(), "adze-cache")
		c.command.Env = append(slices.Clip(b.unapproved().tried), "XDG_CACHE_HOME="+cache,
			"npm_config_cache="+filepath.Join(cache, "npm"))
	}
	return r, nil
}

// WarmUp starts warm, unless the tools are closed.
func (s *Shell) WarmUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.warming.Go(s.warm)
	}
}

// warm makes the first command start sooner: a trial that does nothing prepares what all of them need, and leaves its
// directories and a supervisor process to the next one.
func (s *Shell) warm() {
	if s.trials == nil || s.trials.readOnly {
		return
	}
	c := shellCall{shell: s, live: &tool.Live{}, command: proc.Command{Line: ":", Dir: s.ws.Project()}}
	r, err := c.prepare(context.Background(), firstWait)
	if err != nil {
		return // the first command reports it
	}
	_, _ = s.runner.Run(context.Background(), r.command) // closing the runner stops it
	r.drop()
}

// try runs the command in a trial and finds what it changed.
func (c shellCall) try(ctx context.Context) (*triedCall, error) {
	r, err := c.prepare(ctx, reliantWait)
	if err != nil {
		return nil, err
	}
	p, whole, err := r.begin(ctx)
	if err != nil {
		r.drop()
		return nil, err
	}
	<-p.Done()
	r.network.close()
	r.outcome, r.quiet, r.whole = p.Wait(), p.Progress().Quiet, whole
	if r.late, err = r.held.appeared(); err != nil || len(r.late) > 0 {
		r.trial.Isolate()
	}
	if err == nil {
		r.found, err = r.trial.Effects(context.WithoutCancel(ctx))
	}
	if err != nil {
		r.drop()
		return nil, err
	}
	if len(r.late) == 0 {
		r.release(ctx)
	}
	r.shown = r.effects()
	return r, nil
}

// substitutes returns what a tried command sees in place of git's configuration with credentials.
func substitutes(configs []secretvalues.Config) []trial.Substitute {
	var out []trial.Substitute
	for _, c := range configs {
		out = append(out, trial.Substitute{Path: c.Path, Real: c.Text, Text: c.Clean, Merge: c.Merge})
	}
	return out
}

// release makes the result of the command.
func (r *triedCall) release(ctx context.Context) {
	r.result, r.failure = r.ended(ctx, r.outcome, r.whole.close(), r.quiet)
	r.late = nil
}

func (r *triedCall) drop() {
	r.once.Do(func() {
		if len(r.late) == 0 && len(r.shown.Changes) == 0 {
			r.trial.DropLater()
			return
		}
		_ = r.trial.Drop() // the session's end removes what is left
		if len(r.late) > 0 {
			r.whole.discard()
		}
	})
}

// blocked returns why the command can't run in a trial, so that only a real run would help; "": it can.
func (r *triedCall) blocked() string {
	o := r.outcome
	asks := r.shell.sandboxes.limiter.asks
	silent := strings.TrimSpace(o.Output.String()) == "" // such as curl -s
	failed := o.Exit != 0 || o.Ended != proc.Exited
	switch i := slices.IndexFunc(o.Hidden, func(path string) bool { return asks != nil && asks(path) }); {
	case i >= 0:
		return "an ask rule applies to " + r.short(o.Hidden[i])
	case failed && r.network.denied() && len(o.Network) == 0:
	case failed && o.Suspect != "":
		return o.Suspect
	case failed && len(o.Network) > 0 && (o.Limit != "" || silent):
		return cmp.Or(o.Limit, "it needs the network")
	case failed && len(o.Hidden) > 0:
		return "it may not read " + r.short(o.Hidden[0])
	case o.Ended == proc.TimedOut:
		return "it was still running when its time was over"
	case o.Stopped > 0:
		return "it left processes running, which were stopped"
	}
	return ""
}

// lacks reports whether a failed command printed the name of a variable that it didn't get.
func (r *triedCall) lacks() bool {
	return r.failure != nil && lacks(r.shell.sandboxes.unapproved().withheld, r.outcome.Output.String())
}

// lacks reports whether an output has the name of a variable that a command didn't get.
func lacks(withheld []string, output string) bool {
	words := strings.FieldsFunc(output, func(c rune) bool {
		return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	return slices.ContainsFunc(withheld, func(name string) bool { return slices.Contains(words, name) })
}

// tried returns the effects that can be kept.
func (r *triedCall) tried(inv *tool.Invocation) *tool.Tried {
	t := &tool.Tried{Drop: func() tool.Result {
		r.drop()
		if len(r.late) > 0 {
			return tool.Result{}
		}
		return r.with(r.specials())
	}}
	t.Description, t.Confirm, t.Notes = inv.Description, r.shown, inv.Notes
	t.MustAsk = r.mustAsk()
	t.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		if len(r.late) > 0 {
			r.release(ctx)
		}
		return r.keep(ctx, l)
	}
	switch {
	case len(r.shown.Changes) > 0:
		t.Access = append(r.access(), lateAccess(r.late)...)
	case len(r.late) > 0:
		q := lateQuestion(r.request.Command, r.late, r.shell.ws.Project())
		t.Description, t.Access, t.Confirm = q.Description, q.Access, q.Confirm
	case r.blocked() != "", r.lacks():
		t.Access = inv.Access
		t.Description += " (" + cmp.Or(r.blocked(), "it may need a variable that trials don't get") + ")"
		t.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
			r.drop()
			return inv.Run(ctx, l)
		}
	default:
		t.Access = []tool.Access{tool.Nothing}
	}
	return t
}

// mustAsk reports whether only the user can approve the effects.
func (r *triedCall) mustAsk() bool {
	o := r.outcome
	return len(r.shown.Changes) > 0 && (o.Ended != proc.Exited || o.Limit != "" || r.blocked() != "" ||
		len(o.Hidden) > 0 || o.MoreHidden || len(r.found.Special) > 0)
}

// maxAccess is the maximum number of paths that are judged one by one.
const maxAccess = 5000

// access returns the access of keeping the effects.
func (r *triedCall) access() []tool.Access {
	var out []tool.Access
	if len(r.shown.Changes) > maxAccess {
		for _, root := range r.shell.ws.Roots() {
			out = append(out, tool.Access{Verb: tool.Writes, Target: root + "/"})
		}
		return out
	}
	for _, c := range r.shown.Changes {
		target := c.Abs
		if strings.HasSuffix(c.Path, "/") {
			target += "/"
		}
		out = append(out, tool.Access{Verb: tool.Writes, Target: target})
	}
	return out
}

// keep keeps the effects, or those that the user chose.
func (r *triedCall) keep(ctx context.Context, l *tool.Live) (tool.Result, error) {
	defer r.drop()
	if len(r.shown.Changes) == 0 {
		return r.with(""), r.failure
	}
	only, left := r.chosen(l.Decision.Answer)
	kept, err := r.trial.Keep(ctx, only)
	if errors.Is(err, trial.ErrConflict) && l.Decision.Cause.Kind != tool.ByUser {
		if next := r.again(ctx, l); next != nil {
			return next.keep(ctx, l)
		}
	}
	if err != nil {
		text := "The command ran, but its changes (" + r.shown.Count() + ") were discarded: " + err.Error() + "."
		if errors.Is(err, trial.ErrConflict) {
			text += " Run it again."
		}
		return r.with(text), tool.Errorf(Failure, "keep the changes of %s: %w", Label(r.request.Command), err)
	}
	paths := keptPaths(kept)
	r.shell.approve(paths)
	if r.shell.trials.kept != nil {
		r.shell.trials.kept(l.Call, paths)
	}
	shown := r.shown
	shown.Changes = slices.DeleteFunc(slices.Clone(shown.Changes), func(c tool.Effect) bool { return !only(c.Abs) })
	text := "Changed: " + shown.Summary()
	if i := slices.IndexFunc(kept.Changes, func(c trial.Change) bool { return c.Split }); i >= 0 {
		text += "\n" + r.split(kept.Changes[i:])
	}
	if left > 0 {
		text += fmt.Sprintf("\nThe user discarded %d of its changes.", left)
	}
	return r.with(text), r.failure
}

// again tries the command a second time, after files that it changes were changed by something else. It returns nil if
// its effects would have to be judged again. It must not be called if the user approved the first ones.
func (r *triedCall) again(ctx context.Context, l *tool.Live) *triedCall {
	if r.second {
		return nil
	}
	r.drop()
	next, err := r.try(ctx)
	if err != nil {
		return nil
	}
	next.second = true
	judged := r.access()
	more := slices.ContainsFunc(next.access(), func(a tool.Access) bool { return !slices.Contains(judged, a) })
	kept := tool.Invocation{Description: Label(r.request.Command), Access: next.access(), Confirm: next.shown}
	if more || len(next.found.Conflicts) > 0 || len(next.late) > 0 || next.mustAsk() || !l.Proposed(ctx, kept) {
		next.drop()
		return nil
	}
	return next
}

// split reports the files that keeping replaced because of their names outside the workspace.
func (r *triedCall) split(changes []trial.Change) string {
	var files []string
	for _, c := range changes {
		if c.Split {
			files = append(files, r.short(c.Path))
		}
	}
	return "Replaced: " + tool.Visible(humanize.List(files, 1)) +
		". Hard links outside the workspace keep the old content."
}

func keptPaths(kept trial.Kept) []KeptPath {
	var out []KeptPath
	for _, c := range kept.Changes {
		out = append(out, KeptPath{
			Path: c.Path, Before: kept.Before(c.Path), ModeOnly: c.Kind == trial.ModeOnly, Mode: c.Old.Mode,
		})
	}
	return out
}

// chosen selects the paths in an answer, and counts the others. Without an answer it selects all.
func (r *triedCall) chosen(answer json.RawMessage) (only func(path string) bool, left int) {
	var a struct{ Keep []string }
	if len(answer) == 0 || json.Unmarshal(answer, &a) != nil || a.Keep == nil {
		return func(string) bool { return true }, 0
	}
	var paths []string
	for _, c := range r.shown.Changes {
		if slices.Contains(a.Keep, c.Path) {
			paths = append(paths, c.Abs)
		} else {
			left++
		}
	}
	return func(path string) bool {
		_, ok := names.Within(path, paths)
		return ok
	}, left
}

// with returns the result of the command, with more lines for the model.
func (r *triedCall) with(line string) tool.Result {
	var lines []string
	if wanted := tool.Visible(strings.Join(r.outcome.Network, ", ")); wanted != "" && r.network != nil {
		lines = append(lines, "It ignored HTTP_PROXY, the only way to the network here, and wanted: "+wanted)
	} else if wanted != "" {
		lines = append(lines, "It ran without the network, and wanted: "+wanted)
	}
	if r.outcome.Limit != "" {
		lines = append(lines, "It was stopped: "+r.outcome.Limit+".")
	}
	if r.found.Emptied {
		lines = append(lines, "Files of earlier commands in temp directories and caches were removed before, because "+
			"they used too much disk space.")
	}
	if n := len(r.found.NotKept); n > 0 {
		text := "Not kept: " + tool.Visible(strings.Join(r.found.NotKept, ", "))
		if r.found.MoreNotKept > 0 {
			text += fmt.Sprintf(", %d more", r.found.MoreNotKept)
		}
		lines = append(lines, text)
	}
	if n := r.found.TooLong; n > 0 {
		lines = append(lines, fmt.Sprintf("Not kept: directories that are too deep (%d with paths of over 4,095 "+
			"characters)", n))
	}
	if r.failure != nil {
		lines = append(lines, withheldNote(r.shell.sandboxes.unapproved().withheld,
			r.request.Command+"\n"+r.outcome.Output.String())...)
	}
	if line != "" {
		lines = append(lines, line)
	}
	out := r.result
	out.Missed = r.missed()
	if text := out.Text(); len(lines) > 0 {
		out.Content = []tool.Part{tool.Text(strings.TrimRight(text, "\n") + "\n" + strings.Join(lines, "\n"))}
	}
	return out
}

// missed returns what the command wanted and didn't get, for users.
func (r *triedCall) missed() []string {
	const limit = 5
	var out []string
	lost := slices.Clone(r.outcome.Network)
	for _, u := range r.network.uses() {
		if u.Failure != "" {
			lost = append(lost, u.Host)
		}
	}
	if len(lost) > 0 {
		out = append(out, "no network: "+humanize.List(lost, limit))
	}
	return append(out, r.stopped(r.outcome)...)
}

// ending describes how the command ended, for a prompt.
func (r *triedCall) ending() string {
	switch o := r.outcome; {
	case o.Ended == proc.TimedOut:
		return "timed out after " + r.request.Timeout.String()
	case o.Signal == 0 && o.Suspect == "":
		return fmt.Sprintf("exit %d", o.Exit)
	default:
		return ending(o)
	}
}
