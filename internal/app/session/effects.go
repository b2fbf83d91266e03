package session

import (
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/gitlog"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// around is Executor.Around: it records a call, finds what it changed, and runs the hooks that follow it. What these
// hooks change belongs to the call.
func (s *Session) around(ctx context.Context, q tool.Request, d tool.Decision,
	run func(context.Context) tool.Outcome) tool.Outcome {
	window := s.window(ctx, q, d)
	s.recorder.started(q, d)
	ready := s.Tools.ServersReady()
	texts := s.hooks.starts(q.Call)
	var logs gitlog.State
	if q.Declaration.Kind == tool.Execute {
		logs = gitlog.Read(s.Directory.Path)
	}
	o := run(ctx)
	found := window.After(ctx)
	o.Changes = s.list(q, found)
	if o.Changes.During { // neither tried nor named: the model doesn't know them, and rules didn't judge them
		o = added(o, s.changed(o.Changes, "Changed: ", q.Description))
	}
	o, more := s.followed(ctx, q, o, found, texts)
	for _, note := range gitNotes(q, o.Changes, logs) {
		o.Changes.Git = append(o.Changes.Git, s.Tools.Mask(note))
	}
	found = s.tracker.Undoable(found.Join(more))
	o = noted(o, found.Note(s.Tools.Roots()))
	o = s.diagnosed(ctx, q, o, ready)
	o = s.nested(q, o)
	if found.Running {
		s.jobs.started(q)
	}
	s.give(ctx, found)
	s.recorder.finished(q, o, found)
	if s.Conversation == nil { // otherwise before the next turn
		s.give(ctx, s.tracker.Ended(ctx, false))
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
func (s *Session) followed(ctx context.Context, q tool.Request, o tool.Outcome, found undo.Found,
	texts []string) (_ tool.Outcome, more undo.Found) {
	follow := func(run func()) undo.Found {
		if o.Changes.None() {
			run()
			return undo.Found{}
		}
		q := q
		q.Access = append(slices.Clip(q.Access), tool.Anything)
		window := s.tracker.Before(ctx, q, tool.Decision{})
		run()
		next := window.After(ctx)
		more = more.Join(next)
		during := o.Changes.During // the call's own changes stay as exact as they were
		o.Changes = s.list(q, found.Join(more))
		o.Changes.During = during
		return next
	}
	var output []string
	if programs := s.programs(o.Changes); len(programs) > 0 {
		next := follow(func() { output = s.runPrograms(ctx, programs) })
		output = append(output, s.rewritten(next)...)
	}
	if inputs := s.hooks.following(q, o); len(inputs) > 0 {
		follow(func() { texts = append(texts, s.hooks.after(ctx, q.Declaration, inputs)...) })
	}
	return withTexts(withTexts(o, "afterChange", output), "hook", texts), more
}

// list returns the changes of a call, with those of a trial that the user didn't keep.
func (s *Session) list(q tool.Request, found undo.Found) tool.Changes {
	out := s.tracker.List(found, s.isSecret)
	if f, ok := q.Confirm.(tool.Effects); ok {
		out.List = append(out.List, f.Discarded(out.List)...)
		sort.SliceStable(out.List, func(i, j int) bool { return out.List[i].Path < out.List[j].Path })
	}
	return out
}

// changed describes changes for the model, and reports broken rules to the user; "": nothing changed.
func (s *Session) changed(c tool.Changes, begin, who string) string {
	list := c.Summary(s.Directory.Path)
	if list == "" {
		return ""
	}
	text := begin + list
	var broken []string
	rules := map[tool.Rule]bool{}
	for _, path := range c.Kept() {
		if rule, ok := s.Policy.Broken(path); ok && !rules[rule] { // one path of each
			rules[rule] = true
			broken = append(broken, names.Short(path, s.Tools.Roots()...)+" ("+rule.String()+")")
		}
	}
	if len(broken) == 0 {
		return text
	}
	what := tool.Visible(humanize.List(broken, 5))
	s.Env.Notice("warning: " + tool.Visible(who) + ": changed files that a rule protects: " + what +
		". To restore them: adze undo")
	return text + "\nA rule protects files that changed: " + what +
		". Don't change them again. Tell the user, who can restore them with adze undo."
}

// give records the changes of background commands. For those that have ended, effect hooks run, and the model reads
// what changed.
func (s *Session) give(ctx context.Context, f undo.Found) {
	s.recorder.give(f)
	for call, all := range s.jobs.ended(f.Jobs) {
		what := "background command " + all.ID
		o := tool.Outcome{Status: tool.StatusError, Changes: s.tracker.List(all.Found, s.isSecret)} // only effect hooks
		text := s.changed(o.Changes, "Changed while "+what+" was running: ", what)
		if text == "" {
			continue
		}
		o, more := s.followed(ctx, all.request, o, all.Found, nil)
		_ = s.tellLater(text + o.Result.Text())
		if c := s.Conversation; c != nil && c.observe != nil {
			list := s.tracker.List(all.Join(more), s.isSecret).Masked(s.Tools.Mask)
			c.observe(agent.Changed{ID: all.ID, Call: all.request.Call, Changes: list})
		}
		if len(more.Changes)+len(more.Lost) > 0 {
			s.recorder.give(undo.Found{Jobs: map[undo.Ref]undo.Found{call: more}})
		}
		s.give(ctx, undo.Found{Jobs: more.Jobs})
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

// isSecret reports whether nothing about the content of a file may be told.
func (s *Session) isSecret(path string) bool {
	return s.Policy.Hides(path, func() bool { return false })
}

// window returns the detector for the changes of a call. For a tried call, they are known.
func (s *Session) window(ctx context.Context, q tool.Request, d tool.Decision) *undo.Window {
	writes := func(a tool.Access) bool { return a.Verb == tool.Writes || a == tool.Nothing }
	if s.recorder != nil && s.recorder.wasTried(q.Call) &&
		!slices.ContainsFunc(q.Access, func(a tool.Access) bool { return !writes(a) }) {
		return s.tracker.Keeping(q)
	}
	return s.tracker.Before(ctx, q, d)
}

// ChangesOf returns the changes of a call as its outcome had them, from its journal entry.
func (s *Session) ChangesOf(changes []journal.Change) tool.Changes {
	return s.tracker.List(undo.Found{Changes: undo.FromJournal(changes)}, s.isSecret)
}

// Texts returns a changed text before and after a call, masked; nil: it didn't exist. It isn't ok if the content is
// secret, isn't text, or is large.
func (s *Session) Texts(c tool.Change) (before, after *string, ok bool) {
	before, after, ok = s.tracker.Texts(c)
	for _, text := range []*string{before, after} {
		if text != nil {
			*text = s.Tools.Mask(*text)
		}
	}
	return before, after, ok
}
