package effects

import (
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/definitions"
	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/gitlog"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Session is what effects need of a session.
type Session struct {
	ID          string
	Directory   project.Directory
	Env         project.Env
	Settings    *settings.Settings
	Policy      *permission.Policy
	Tools       *builtin.Set
	Definitions *definitions.Definitions
	Recorder    *recording.Recorder // nil: nothing is recorded
	Elsewhere   bool                // the journal is outside Adze's directory
	Watch       *watch.Hub          // of the workspace
}

// Effects are what the calls of a session change.
type Effects struct {
	Hooks *hooks.Hooks // that follow calls; nil: none

	s        Session
	programs *hooks.Programs
	tracker  *undo.Tracker
	jobs     backgroundJobs
	tell     func(text string) // adds a message to the model's next turn; nil: there is no conversation
	observe  func(agent.Event) // may be nil
}

// New returns the effects of a session.
func New(s Session) *Effects {
	return &Effects{
		s: s, tracker: track(s), programs: hooks.OpenPrograms(s.Settings.Tools.AfterChange, s.Directory.Path, s.Tools),
		jobs: backgroundJobs{all: map[undo.Ref]backgroundJob{}},
	}
}

// Converse passes changes of background commands on to a conversation.
func (e *Effects) Converse(tell func(text string), observe func(agent.Event)) {
	e.tell, e.observe = tell, observe
}

// Around is Executor.Around: it records a call, finds what it changed, and runs the hooks that follow it. What these
// hooks change belongs to the call.
func (e *Effects) Around(ctx context.Context, q tool.Request, d tool.Decision,
	run func(context.Context) tool.Outcome) tool.Outcome {
	window := e.window(ctx, q, d)
	e.s.Recorder.Started(q, d)
	texts := e.Hooks.Starts(q.Call)
	var logs gitlog.State
	if q.Declaration.Kind == tool.Execute {
		logs = gitlog.Read(e.s.Directory.Path)
	}
	o := run(ctx)
	found := window.After(ctx)
	o.Changes = e.list(q, found)
	if o.Changes.During { // neither tried nor named: the model doesn't know them, and rules didn't judge them
		o = added(o, e.changed(o.Changes, "Changed: ", q.Description))
	}
	o, more := e.followed(ctx, q, o, found, texts)
	for _, note := range gitNotes(q, o.Changes, logs) {
		o.Changes.Git = append(o.Changes.Git, e.s.Tools.Mask(note))
	}
	found = e.tracker.Undoable(found.Join(more))
	o = noted(o, found.Note(e.s.Tools.Roots()))
	o = e.diagnosed(ctx, q, o)
	for _, text := range e.s.Definitions.Reached(q, o) {
		o = added(o, text)
	}
	if found.Running {
		e.jobs.started(q)
	}
	e.give(ctx, found)
	e.s.Recorder.Finished(q, o, found)
	if e.tell == nil { // otherwise before the next turn
		e.give(ctx, e.tracker.Ended(ctx, false))
	}
	return o
}

// gitNotes describes what a call did in git: as its trial found, or by the logs since they were read.
func gitNotes(q tool.Request, c tool.Changes, logs gitlog.State) []string {
	f, _ := q.Confirm.(tool.Effects)
	for _, e := range f.Changes {
		below := func(path string) bool { return names.Below(path, e.Abs) }
		if e.Note != "" && slices.ContainsFunc(c.Kept(), below) {
			return []string{e.Note}
		}
	}
	return logs.Since()
}

// followed runs the programs and hooks that follow a call, and returns what they changed. If the call changed files, so
// may they: that belongs to the call. texts are those of hooks before it.
func (e *Effects) followed(ctx context.Context, q tool.Request, o tool.Outcome, found undo.Found,
	texts []string) (_ tool.Outcome, more undo.Found) {
	follow := func(run func()) undo.Found {
		if o.Changes.None() {
			run()
			return undo.Found{}
		}
		q := q
		q.Access = append(slices.Clip(q.Access), tool.Anything)
		window := e.tracker.Before(ctx, q, tool.Decision{})
		run()
		next := window.After(ctx)
		more = more.Join(next)
		during := o.Changes.During // the call's own changes stay as exact as they were
		o.Changes = e.list(q, found.Join(more))
		o.Changes.During = during
		return next
	}
	var output []string
	if programs := e.programs.For(o.Changes); len(programs) > 0 {
		next := follow(func() { output = e.programs.Run(ctx, programs) })
		output = append(output, e.programs.Rewritten(next)...)
	}
	if inputs := e.Hooks.Following(q, o); len(inputs) > 0 {
		follow(func() { texts = append(texts, e.Hooks.After(ctx, q.Declaration, inputs)...) })
	}
	return hooks.Labeled(hooks.Labeled(o, "afterChange", output), "hook", texts), more
}

// list returns the changes of a call, with those of a trial that the user didn't keep.
func (e *Effects) list(q tool.Request, found undo.Found) tool.Changes {
	out := e.tracker.List(found, e.Secret)
	if f, ok := q.Confirm.(tool.Effects); ok {
		out.List = append(out.List, f.Discarded(out.List)...)
		sort.SliceStable(out.List, func(i, j int) bool { return out.List[i].Path < out.List[j].Path })
	}
	return out
}

// changed describes changes for the model, and reports broken rules to the user; "": nothing changed.
func (e *Effects) changed(c tool.Changes, begin, who string) string {
	list := c.Summary(e.s.Directory.Path)
	if list == "" {
		return ""
	}
	text := begin + list
	var broken []string
	rules := map[tool.Rule]bool{}
	for _, path := range c.Kept() {
		if rule, ok := e.s.Policy.Broken(path); ok && !rules[rule] { // one path of each
			rules[rule] = true
			broken = append(broken, names.Short(path, e.s.Tools.Roots()...)+" ("+rule.String()+")")
		}
	}
	if len(broken) == 0 {
		return text
	}
	what := tool.Visible(humanize.List(broken, 5))
	e.s.Env.Notice("warning: " + tool.Visible(who) + ": changed files that a rule protects: " + what +
		". To restore them: adze undo")
	return text + "\nA rule protects files that changed: " + what +
		". Don't change them again. Tell the user, who can restore them with adze undo."
}

// give records the changes of background commands. For those that have ended, effect hooks run, and the model reads
// what changed.
func (e *Effects) give(ctx context.Context, f undo.Found) {
	e.s.Recorder.Give(f)
	for call, all := range e.jobs.ended(f.Jobs) {
		what := "background command " + all.ID
		o := tool.Outcome{Status: tool.StatusError, Changes: e.tracker.List(all.Found, e.Secret)} // only effect hooks
		text := e.changed(o.Changes, "Changed while "+what+" was running: ", what)
		if text == "" {
			continue
		}
		o, more := e.followed(ctx, all.request, o, all.Found, nil)
		if e.tell != nil {
			e.tell(text + o.Result.Text())
		}
		if e.observe != nil {
			list := e.tracker.List(all.Join(more), e.Secret).Masked(e.s.Tools.Mask)
			e.observe(agent.Changed{ID: all.ID, Call: all.request.Call, Changes: list})
		}
		if len(more.Changes)+len(more.Lost) > 0 {
			e.s.Recorder.Give(undo.Found{Jobs: map[undo.Ref]undo.Found{call: more}})
		}
		e.give(ctx, undo.Found{Jobs: more.Jobs})
	}
}

// backgroundJobs are the running background commands, by the call that started each.
type backgroundJobs struct {
	mu  sync.Mutex
	all map[undo.Ref]backgroundJob
}

type backgroundJob struct {
	undo.Found // its changes so far
	request    tool.Request
}

// started notes a call that started a background command.
func (b *backgroundJobs) started(q tool.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[undo.Ref{By: q.Call.By, ID: q.Call.ID}] = backgroundJob{request: q}
}

// ended adds changes, and returns the jobs that have ended.
func (b *backgroundJobs) ended(changes map[undo.Ref]undo.Found) map[undo.Ref]backgroundJob {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[undo.Ref]backgroundJob{}
	for call, more := range changes {
		job := b.all[call]
		if job.Found = job.Join(more); more.Ended {
			job.ID = more.ID
			delete(b.all, call)
			out[call] = job
			continue
		}
		b.all[call] = job
	}
	return out
}

// Secret reports whether nothing about the content of a file may be told.
func (e *Effects) Secret(path string) bool {
	return e.s.Policy.Hides(path, func() bool { return false })
}

// window returns the detector for the changes of a call. For a tried call, they are known.
func (e *Effects) window(ctx context.Context, q tool.Request, d tool.Decision) *undo.Window {
	writes := func(a tool.Access) bool { return a.Verb == tool.Writes || a == tool.Nothing }
	if e.s.Recorder != nil && e.s.Recorder.WasTried(q.Call) &&
		!slices.ContainsFunc(q.Access, func(a tool.Access) bool { return !writes(a) }) {
		return e.tracker.Keeping(q)
	}
	return e.tracker.Before(ctx, q, d)
}

// ChangesOf returns the changes of a call as its outcome had them, from its journal entry.
func (e *Effects) ChangesOf(changes []journal.Change) tool.Changes {
	return e.tracker.List(undo.Found{Changes: undo.FromJournal(changes)}, e.Secret)
}

// Texts returns a changed text before and after a call, masked; nil: it didn't exist. It isn't ok if the content is
// secret, isn't text, or is large.
func (e *Effects) Texts(c tool.Change) (before, after *string, ok bool) {
	before, after, ok = e.tracker.Texts(c)
	for _, text := range []*string{before, after} {
		if text != nil {
			*text = e.s.Tools.Mask(*text)
		}
	}
	return before, after, ok
}
