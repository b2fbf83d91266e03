package session

import (
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/gitlog"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
)

// around is Executor.Around: it records a call, finds what it changed, and runs the hooks that follow it. What these
// hooks change belongs to the call.
func (s *Session) around(ctx context.Context, q tool.Request, d tool.Decision,
	run func(context.Context) tool.Outcome) tool.Outcome {
	window := s.window(ctx, q, d)
	s.recorder.started(q, d)
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
	var output []string
	if programs := s.programs(o.Changes); len(programs) > 0 {
		before := found
		o, found = s.follow(ctx, q, o, found, func(o tool.Outcome) tool.Outcome {
			output = s.runPrograms(ctx, programs)
			return o
		})
		if text := s.rewritten(before, found); text != "" {
			output = append(output, text)
		}
	}
	if inputs := s.hooks.following(q, o); len(inputs) > 0 {
		o, found = s.follow(ctx, q, o, found, func(o tool.Outcome) tool.Outcome {
			texts = append(texts, s.hooks.after(ctx, q.Declaration, inputs)...)
			return o
		})
	}
	o = withTexts(withTexts(o, "afterChange", output), "hook", texts)
	for _, note := range gitNotes(q, o.Changes, logs) {
		o.Changes.Git = append(o.Changes.Git, s.Tools.Mask(note))
	}
	found = s.tracker.Undoable(found)
	o = noted(o, found.Note(s.Tools.Roots()))
	s.give(found)
	s.recorder.finished(q, o, found)
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

// give records the changes of background commands, and tells the model about those that have ended.
func (s *Session) give(f undo.Found) {
	s.recorder.give(f)
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	for call, job := range f.Jobs {
		if s.jobs.changes == nil {
			s.jobs.changes = map[undo.Ref]undo.Found{}
		}
		all := s.jobs.changes[call].Join(job)
		s.jobs.changes[call] = all
		if !job.Ended {
			continue
		}
		delete(s.jobs.changes, call)
		what := "background command " + job.ID
		list := s.tracker.List(all, s.isSecret)
		if text := s.changed(list, "Changed while "+what+" was running: ", what); text != "" {
			_ = s.tellLater(text)
		}
	}
}

// jobChanges are the changes of running background commands so far.
type jobChanges struct {
	mu      sync.Mutex
	changes map[undo.Ref]undo.Found
}

// follow runs what follows a call. If the call changed files, so may what follows: that belongs to the call.
func (s *Session) follow(ctx context.Context, q tool.Request, o tool.Outcome, found undo.Found,
	then func(tool.Outcome) tool.Outcome) (tool.Outcome, undo.Found) {
	if len(found.Changes) == 0 {
		return then(o), found
	}
	q.Access = []tool.Access{tool.Anything}
	window := s.tracker.Before(ctx, q, tool.Decision{})
	o = then(o)
	found = found.Join(window.After(ctx))
	o.Changes = s.list(q, found)
	return o, found
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
