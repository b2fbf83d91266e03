package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/search"
)

// Helper runs commands and stops their child processes: the result of [builtin.Main], converted.
type Helper proc.Helper

// Options configure a Runner.
type Options struct {
	Hooks   []Hook
	Dir     string   // working directory of commands: the project
	Environ []string // environment of commands, which get it without credentials; nil: this process's
	Helper  Helper
	State   string       // directory for records of running commands; "": none
	Tell    func(string) // receives messages of hooks for the user, and warnings; may be nil

	// AllowHost reports whether hooks can send requests to a host, which may have a port. nil: only to this machine.
	AllowHost func(host string) bool
	// Ask asks the model; nil: the session has no model.
	Ask func(ctx context.Context, prompt string) (string, error)
	// Trace is called before each hook and returns its Input.Traceparent. end is called after it; nil: no traces.
	Trace func(Input, Hook) (traceparent string, end func(Verdict, error))
}

// Runner runs hooks. A nil Runner has none.
type Runner struct {
	o        Options
	env      []string
	commands *proc.Runner
	async    sync.WaitGroup
	ending   context.Context
	end      context.CancelFunc

	mu    sync.Mutex
	added []Hook
}

// Open returns a runner.
func Open(o Options) *Runner {
	commands := proc.Open(proc.Options{Helper: proc.Helper(o.Helper), State: o.State})
	r := &Runner{o: o, env: environ(o), commands: commands}
	r.ending, r.end = context.WithCancel(context.Background())
	if slices.ContainsFunc(o.Hooks, func(h Hook) bool { return h.Command != "" }) {
		r.commands.Warm()
	}
	return r
}

// Add adds hooks, such as those of a client.
func (r *Runner) Add(hooks ...Hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added = append(r.added, hooks...)
}

// closeGrace is how long Close waits for hooks that nothing else waits for.
const closeGrace = 2 * time.Second

// Close stops running hooks and their child processes.
func (r *Runner) Close() error {
	if r == nil {
		return nil
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.async.Wait()
	}()
	select {
	case <-over:
	case <-time.After(closeGrace):
	}
	r.end()
	<-over
	return r.commands.Close()
}

func (r *Runner) all() []Hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.o.Hooks, r.added)
}

// Has reports whether there are hooks for an event.
func (r *Runner) Has(e Event) bool {
	return r != nil && slices.ContainsFunc(r.all(), func(h Hook) bool { return h.Event == e })
}

// matched is a hook, the name that its matcher accepts, and the changed files for it.
type matched struct {
	hook  Hook
	name  string
	files []string
}

// accepts returns the name and the changed files for which the hook runs.
func (h Hook) accepts(in Input, names []string) (m matched, ok bool) {
	if h.Event != in.Event || in.Proposed && !h.Before || in.Checked && h.Before {
		return matched{}, false
	}
	m.hook = h
	paths := in.Paths
	switch {
	case h.Event == FilesChanged:
		m.name, _ = Matches("", names)
		match := h.glob()
		paths = slices.DeleteFunc(slices.Clone(paths), func(p ChangedPath) bool {
			return !match(p.Rel) && !strings.HasSuffix(p.Rel, "/")
		})
		ok = len(paths) > 0
	case !in.Failed && !in.Proposed:
		m.name, ok = Matches(h.Matcher, names)
	}
	if !ok && h.Effects && len(paths) > 0 {
		m.name, ok = Matches("", names)
	}
	for _, p := range paths {
		if !p.Gone {
			m.files = append(m.files, p.Path)
		}
	}
	return m, ok
}

// glob returns what the globs of a FilesChanged hook match. Without any, that is everything.
func (h Hook) glob() func(path string) bool {
	match, err := search.Globs(globs(h.Matcher)...)
	if err != nil { // Parse reported it; a hook that protects must not be skipped
		return func(string) bool { return true }
	}
	return match
}

// globs returns the parts of a matcher, without empty ones.
func globs(matcher string) (out []string) {
	for part := range strings.SplitSeq(matcher, "|") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Wants reports whether Run would run a hook.
func (r *Runner) Wants(in Input, names ...string) bool {
	return r != nil && len(r.matching(in, names)) > 0
}

// matching returns the hooks of an event for these names. Equal commands run once.
func (r *Runner) matching(in Input, names []string) []matched {
	var out []matched
	seen := map[string]bool{}
	for _, h := range r.all() {
		m, ok := h.accepts(in, names)
		if !ok {
			continue
		}
		if h.Run == nil {
			key, _ := json.Marshal([]any{
				h.Command, h.URL, h.Prompt, h.Unsupported, h.Shell, h.Env, h.OnFailure, h.Async, m.name, m.files,
			})
			if seen[string(key)] {
				continue
			}
			seen[string(key)] = true
		}
		out = append(out, m)
	}
	return out
}

// Run runs the hooks of in.Event that accept one of the names, which are ordered by importance, and returns their
// combined result. For events of calls the names are those of the tool, and each hook gets the one that its matcher
// accepts. If a hook rewrites the input of a call, the others run again with the new input.
func (r *Runner) Run(ctx context.Context, in Input, names ...string) Result {
	if r == nil {
		return Result{}
	}
	hooks := r.matching(in, names)
	if len(hooks) == 0 {
		return Result{}
	}
	if in.Timestamp.IsZero() {
		in.Timestamp = time.Now().UTC()
	}
	opinions := r.runAll(ctx, in, hooks)
	out := merge(opinions)
	if out.Input != nil && len(hooks) > 1 {
		out = merge(r.again(ctx, in, hooks, opinions, out.Input))
	}
	for _, m := range out.Messages {
		r.tell(m)
	}
	for _, w := range out.Warnings {
		if ctx.Err() == nil {
			r.tell("warning: " + w)
		}
	}
	return out
}

// Start runs hooks that can't decide, without waiting for them.
func (r *Runner) Start(in Input, names ...string) {
	if r.Has(in.Event) {
		r.async.Go(func() { r.Run(r.ending, in, names...) })
	}
}

// again runs the hooks that didn't rewrite the input again with the new input. Their first approval was for another
// call.
func (r *Runner) again(ctx context.Context, in Input, hooks []matched, first []opinion,
	input json.RawMessage) []opinion {
	var others []matched
	for i, o := range first {
		if o.Input != nil {
			continue
		}
		others = append(others, hooks[i])
		if o.Verdict == Allow {
			first[i].Verdict, first[i].Reason = None, ""
		}
		first[i].Context = nil
	}
	in.ToolInput = input
	return append(first, r.runAll(ctx, in, others)...)
}

// runAll runs hooks concurrently, or one after the other if one of them is Sequential.
func (r *Runner) runAll(ctx context.Context, in Input, hooks []matched) []opinion {
	opinions := make([]opinion, len(hooks))
	one := func(i int) {
		in := in
		if in.ToolInput != nil {
			in.ToolName, in.Files = hooks[i].name, hooks[i].files
		}
		opinions[i] = r.one(ctx, in, hooks[i].hook)
	}
	if len(hooks) == 1 || slices.ContainsFunc(hooks, func(m matched) bool { return m.hook.Sequential }) {
		for i := range hooks {
			one(i)
		}
		return opinions
	}
	var all sync.WaitGroup
	for i := range hooks {
		all.Go(func() { one(i) })
	}
	all.Wait()
	return opinions
}

// one runs a hook.
func (r *Runner) one(ctx context.Context, in Input, h Hook) opinion {
	if h.Async {
		r.async.Go(func() {
			if _, _, err := r.call(r.ending, in, h); err != nil && r.ending.Err() == nil {
				r.tell(fmt.Sprintf("warning: %s hook %s failed: %v", in.Event, h.Title(), err))
			}
		})
		return opinion{hook: h}
	}
	out, least, err := r.call(ctx, in, h)
	var result Result
	if err == nil {
		result, err = out.result(in, least)
	}
	switch {
	case err != nil && least == Deny: // it blocks, whatever else it returns
		return opinion{hook: h, Result: Result{Verdict: Deny, Reason: clip(out.reason(), maxText)}}
	case err != nil:
		return h.failure(in, err)
	case h.NoApproval && result.Verdict == Allow:
		result.Verdict, result.Reason = None, ""
	}
	return opinion{hook: h, Result: result}
}

// failure returns the opinion of a hook that failed.
func (h Hook) failure(in Input, err error) opinion {
	text := fmt.Sprintf("%s hook %s failed: %v", in.Event, h.Title(), err)
	o := opinion{hook: h, failed: err, Result: Result{Warnings: []string{text}}}
	if !in.gate() {
		return o
	}
	o.Reason = text
	switch h.OnFailure {
	case FailureAllows:
		o.Reason = ""
	case FailureBlocks:
		o.Verdict = Deny
	default:
		o.Verdict = Ask
	}
	return o
}

// call runs a command or a function.
func (r *Runner) call(ctx context.Context, in Input, h Hook) (out Output, least Verdict, err error) {
	if r.o.Trace != nil {
		var end func(Verdict, error)
		in.Traceparent, end = r.o.Trace(in, h)
		defer func() {
			result, invalid := out.result(in, least)
			end(max(least, result.Verdict), errors.Join(err, invalid))
		}()
	}
	if h.Check != nil {
		if err := h.Check(); err != nil {
			return Output{}, None, err
		}
	}
	switch {
	case h.Unsupported != "":
		return Output{}, None, fmt.Errorf("hooks of type %q are not supported", h.Unsupported)
	case h.Prompt != "":
		return r.prompt(ctx, in, h)
	case h.URL != "":
		p, err := r.post(ctx, in, h)
		if err != nil {
			return Output{}, None, err
		}
		return p.read(in)
	case h.Run == nil:
		p, err := r.command(ctx, in, h)
		if err != nil {
			return Output{}, None, err
		}
		return p.read(in)
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	type answer struct {
		out Output
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("it exited its goroutine")}
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("it panicked: %v", p)
			}
			answers <- a
		}()
		a.out, a.err = h.Run(ctx, in)
	}()
	select {
	case a := <-answers:
		return a.out, None, a.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Output{}, None, fmt.Errorf("timed out after %s", h.timeout())
		}
		return Output{}, None, ctx.Err()
	}
}

func (r *Runner) tell(text string) {
	if r.o.Tell != nil {
		r.o.Tell(strings.TrimSpace(text))
	}
}
