// Package goal has the user's goals: commands that must exit with 0 before a prompt is done.
//
//	p, err := goal.Start(ctx, &goal.Session{…}, g) // err: why the command can't be checked
//	…                                              // the model gets p.Message()
//	ended, err := p.Pursue(ctx, work)              // work runs the model
package goal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Goal is a command that must exit with 0 before a prompt is done. Only the user can set it: it belongs to the prompt
// that it was set for, and a resumed session has none.
type Goal struct {
	Command string
	Turns   int           // how often it may fail; 0: 20, less than 0: no limit
	Time    time.Duration // of the whole prompt; 0: an hour, less than 0: no limit
	Cost    float64       // in US dollars; 0: no limit
}

// ErrCost is in the chain when a goal's limit of the cost stopped a prompt.
var ErrCost = errors.New("cost limit reached")

const (
	goalTurns   = 20
	goalTime    = time.Hour
	goalTimeout = 10 * time.Minute // of one run of the command
	goalRepeats = 3                // equal failures without a changed file between
	goalOutput  = 4000             // characters that the model gets
)

// Words are the words of /goal.
const Words = "[--turns N] [--time TIME] [--cost USD] COMMAND"

// Parse reads the words of /goal.
func Parse(words string) (*Goal, error) {
	var g Goal
	flags := flag.NewFlagSet("/goal", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&g.Turns, "turns", goalTurns, "")
	flags.DurationVar(&g.Time, "time", goalTime, "")
	flags.Float64Var(&g.Cost, "cost", 0, "")
	fields := strings.Fields(words)
	err := flags.Parse(fields)
	rest := words
	for range len(fields) - flags.NArg() { // the command keeps its whitespace
		_, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	g.Command = strings.TrimSpace(rest)
	if err != nil || g.Command == "" || g.Turns < 1 || g.Time <= 0 || !(g.Cost >= 0) {
		return nil, errors.Join(err, errors.New("expected "+Words))
	}
	return &g, nil
}

// Session is what a goal needs of a session.
type Session struct {
	Dir      string
	Models   *models.Models // their cost
	Pricing  map[string]settings.Price
	Executor *tool.Executor            // judges the command, and asks
	Shell    func() (tool.Tool, error) // runs it; it may be a tool that the model doesn't have
	HasUser  bool
	Notice   func(string)
}

// Pursuit is a goal that a prompt works on.
type Pursuit struct {
	Goal
	session  *Session
	began    time.Time
	before   float64 // the cost until then
	failures int
	last     string // how the command failed
	repeats  int

	mu      sync.Mutex
	stop    context.CancelCauseFunc // nil: no model worked on it yet
	changed map[string]bool
	moved   bool // a file changed since the command ran
}

// Start begins a goal. The error is why its command can't be checked.
func Start(ctx context.Context, s *Session, g Goal) (*Pursuit, error) {
	p := &Pursuit{Goal: g, session: s, began: time.Now(), changed: map[string]bool{}}
	if p.Turns, p.Time = cmp.Or(p.Turns, goalTurns), cmp.Or(p.Time, goalTime); p.Time < 0 {
		p.Time = math.MaxInt64
	}
	p.before, _ = s.Models.Cost()
	if err := p.priced(s.Models.Name()); err != nil {
		return nil, err
	}
	t, call, err := p.call()
	if err != nil {
		return nil, err
	}
	inv, err := t.Prepare(ctx, call.Args)
	if err != nil {
		return nil, project.Errorf(project.ErrPrompt, "can't check the goal: %v", err)
	}
	d := s.Executor.Policy(tool.Request{Call: call, Declaration: t.Declaration(), Invocation: *inv})
	if d.Verdict == tool.Allow || d.Try || d.Verdict == tool.Ask && s.HasUser {
		return p, nil
	}
	if d.Verdict == tool.Deny && d.Cause.Kind == tool.ByRule {
		return nil, project.Errorf(project.ErrPrompt, "can't check the goal: %s: %s", p.Command, d.Why())
	}
	return nil, p.unchecked(d.Why())
}

// priced returns an error if the cost is limited, and what a model costs is unknown.
func (p *Pursuit) priced(name string) error {
	if _, priced := p.session.Pricing[name]; p.Cost <= 0 || priced {
		return nil
	}
	return project.Errorf(project.ErrPrompt, "can't limit the cost of the goal: the price of %s is unknown\n"+
		"Set modelPricing, or omit the limit.", name)
}

// Message tells the model about the goal.
func (p *Pursuit) Message() string {
	return "The user set a goal for the next prompt: each time you end your turn, Adze runs " +
		"this command, and you continue until it exits with 0. Fix the cause of its failures: don't weaken what " +
		"it checks.\n" + p.Command
}

// unchecked returns the error of a command that requires approval.
func (p *Pursuit) unchecked(why string) error {
	return project.Errorf(project.ErrPrompt, "can't check the goal: %s: %s\nAllow it with a rule: Shell(%s)", p.Command,
		strings.TrimRight(why, "."), p.Command)
}

// call returns a call of the tool that runs the command.
func (p *Pursuit) call() (tool.Tool, tool.Call, error) {
	t, err := p.session.Shell()
	if err != nil {
		return nil, tool.Call{}, err
	}
	args, err := json.Marshal(map[string]any{"command": p.Command, "timeout": goalTimeout.Milliseconds()})
	name := t.Declaration().Name
	return t, tool.Call{ID: fmt.Sprintf("goal-%d", p.failures+1), Name: name, Args: args}, err
}

// Pursue runs work until the command exits with 0. more is "" first, then the message to the model about a failure.
// The goal hasn't ended if the user can retry what a model's failure ended.
func (p *Pursuit) Pursue(ctx context.Context, work func(ctx context.Context, more string) error) (ended bool,
	err error) {
	parent := ctx
	ctx, expire := context.WithDeadlineCause(ctx, p.began.Add(p.Time),
		fmt.Errorf("the goal was not reached in %v: %w", p.Time, agent.ErrWallTime))
	defer expire()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p.mu.Lock()
	p.stop = stop
	p.mu.Unlock()
	err = work(ctx, "")
	for err == nil {
		more, failed := p.check(ctx)
		if err = failed; failed != nil || more == "" {
			break
		}
		err = work(ctx, more)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	var retried *model.Error
	if errors.As(err, &retried) && parent.Err() == nil && p.session.HasUser {
		return false, err
	}
	p.session.Notice(p.report(err))
	return true, err
}

// check runs the command. more is the message for the model if it failed; "": it exited with 0. Of a trial nothing is
// kept.
func (p *Pursuit) check(ctx context.Context) (more string, err error) {
	t, call, err := p.call()
	if err != nil {
		return "", err
	}
	s := p.session
	nothing := tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByUser}, Answer: []byte(`{"keep":[]}`)}
	own := &tool.Executor{
		Registry: tool.NewRegistry(t), Mask: s.Executor.Mask, Spill: s.Executor.Spill, Before: s.Executor.Before,
		Policy: func(r tool.Request) tool.Decision {
			switch f, again := effects(r); {
			case f != nil && !again:
				return nothing
			case f != nil && f.Took >= goalTimeout:
				return tool.Decision{Verdict: tool.Deny, Reason: "it was still running after " + goalTimeout.String()}
			}
			return s.Executor.Policy(r)
		},
		Ask: s.Executor.Ask,
	}
	o := own.Run(ctx, call)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case o.Status == tool.StatusDenied && o.Duration < goalTimeout:
		return "", p.unchecked(cmp.Or(strings.Join(o.Result.Missed, "; "), o.Error.Message))
	case o.Status != tool.StatusSuccess || o.Result.Exit != 0:
		return p.failed(o)
	}
	for _, h := range o.Result.Hosts {
		if h.Failure != "" { // such as a proxy's answer, which curl takes for a page
			return "", project.Errorf(project.ErrPrompt, "can't check the goal: %s: the trial denied access to %s\n"+
				"Allow it with a rule: Network(%s)", p.Command, h.Name, h.Name)
		}
	}
	return "", nil
}

// effects returns those of a tried command, nil for others, and whether it would run again without a trial.
func effects(r tool.Request) (f *tool.Effects, again bool) {
	if e, ok := r.Confirm.(tool.Effects); ok {
		f = &e
	}
	return f, slices.ContainsFunc(r.Access, func(a tool.Access) bool {
		return a.Verb == tool.Execs || a == tool.Anything
	})
}

// failed returns the message to the model about a failure, or why the goal is given up.
func (p *Pursuit) failed(o tool.Outcome) (more string, err error) {
	how := fmt.Sprintf("exited with code %d", o.Result.Exit)
	if o.Error != nil && o.Result.Exit == 0 {
		how = strings.TrimRight(o.Error.Message, ".")
	}
	output := cmp.Or(tool.Cut(strings.TrimSpace(o.Result.Output), goalOutput), "(empty)")
	p.failures++
	p.mu.Lock()
	key := numbers().ReplaceAllString(how+"\n"+o.Result.Output, "0")
	if p.repeats++; key != p.last || p.moved {
		p.repeats = 1
	}
	p.last, p.moved = key, false
	p.mu.Unlock()
	switch {
	case p.repeats >= goalRepeats:
		return "", fmt.Errorf("%w: the goal failed %d times in the same way, and no file changed between",
			agent.ErrStuck, p.repeats)
	case p.Turns > 0 && p.failures >= p.Turns:
		return "", fmt.Errorf("the goal was not reached in %s: %w", humanize.Count(p.Turns, "turn"), agent.ErrTurnLimit)
	}
	p.session.Notice(fmt.Sprintf("goal: %s (%s)", how, humanize.Count(p.failures, "failure")))
	for _, m := range o.Result.Missed {
		output += "\nIn the trial: " + m
	}
	return fmt.Sprintf("The goal is not reached: %s\n%s (%s so far). Its output:\n%s\nContinue. "+
		"If you can't reach it, say why.", p.Command, how, humanize.Count(p.failures, "failure"), output), nil
}

// numbers matches what differs between two runs that fail in the same way: times and ports.
var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+(\.[0-9]+)?`) })

// Observe notes changed files, and stops the model when the goal has cost too much.
func (p *Pursuit) Observe(e agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case agent.Step:
		if e.Stage == tool.Done {
			p.note(e.Outcome.Changes)
		}
	case agent.Changed:
		p.note(e.Changes)
	case agent.Answered:
		cost, _ := p.session.Models.Cost()
		err := p.priced(e.Model) // it may be a fallback
		if p.Cost > 0 && cost-p.before >= p.Cost {
			err = fmt.Errorf("the goal cost $%.2f: %w", cost-p.before, ErrCost)
		}
		if err != nil && p.stop != nil {
			p.stop(err)
		}
	}
}

func (p *Pursuit) note(c tool.Changes) {
	for _, one := range c.List {
		if !one.Discarded {
			p.changed[humanize.UnquotePath(one.Path)], p.moved = true, true
		}
	}
	p.moved = p.moved || c.Incomplete != ""
}

// report says how the goal ended, and which test files changed.
func (p *Pursuit) report(err error) string {
	end := "goal reached: " + p.Command + " exits with 0"
	if err != nil {
		end = "goal not reached: " + p.Command
	}
	end += fmt.Sprintf(" (%s, %s)", humanize.Count(p.failures, "failure"), humanize.Duration(time.Since(p.began)))
	p.mu.Lock()
	defer p.mu.Unlock()
	var tests []string
	for path := range p.changed {
		short := names.Short(path, p.session.Dir)
		if testFile().MatchString(filepath.ToSlash(short)) || strings.Contains(p.Command, filepath.Base(path)) {
			tests = append(tests, tool.Visible(short))
		}
	}
	if slices.Sort(tests); len(tests) > 0 {
		end += "\nChanged test files: " + humanize.List(tests, 50)
	}
	return end
}

// testFile matches the files that decide what tests check.
var testFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|/)((?i:tests?|__tests__|specs?|testdata)/|(?i:test_[^/]*|conftest\.py|(GNU)?makefile|` +
		`package\.json|pytest\.ini|tox\.ini|(jest|vitest)\.config\.[^/]*)$)|([._-](?i:tests?|spec)|[a-z]Tests?)\.[^/.]+$`)
})
