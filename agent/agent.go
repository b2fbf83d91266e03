// Package agent is the loop between a model and its tools: the model speaks, its calls are run, their results go
// back, until it has nothing more to call.
//
//	a := agent.New(agent.Options{Model: m, Executor: x, System: agent.SystemPrompt(where), Observe: show})
//	answer, err := a.Run(ctx, model.Text("Fix the failing test."))
//
// Whatever happens, a cancelled context and a broken connection included, every call in the history has its response,
// so that the conversation can go on. The package knows no concrete tool and no screen: a front end reads [Event]s.
package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Options are what an agent is made of.
type Options struct {
	Model model.Model
	// Executor is the agent's own. Its Observe is taken over; what stood there is called first. The executor of a
	// sub-agent (see [tool.Executor.Child]) tells its steps to the observer of the first one.
	Executor *tool.Executor
	System   string // see [SystemPrompt], and [Agent.SetSystem]
	Limits   Limits
	// Budget, if not nil, is shared with sub-agents: see [Crew].
	Budget *Budget
	// MaxTokens bounds each answer of the model; 0 leaves it to the server.
	MaxTokens int
	// Shelf, if not nil, holds declarations of tools from outside back where they are too many.
	Shelf *Shelf
	// Path is that of a sub-agent, as in [tool.Call].By; "" is the first agent.
	Path string
	// News, if not nil, is asked before each turn for what the model should know, such as a job that has ended.
	News func() []string
	// Observe is told of everything, one event at a time. It must not call the agent.
	Observe func(Event)
	// History is a conversation to go on with.
	History []model.Message
}

// Limits bound one Run.
type Limits struct {
	Turns int           // questions to the model; 0 no limit
	Wall  time.Duration // 0 no limit
}

var (
	// ErrTurnLimit is in the chain when Limits.Turns ended a Run.
	ErrTurnLimit = errors.New("turn limit reached")
	// ErrWallTime is in the chain when Limits.Wall ended a Run.
	ErrWallTime = errors.New("time limit reached")
	// ErrEmptyAnswer is in the chain when a model kept saying nothing at all.
	ErrEmptyAnswer = errors.New("empty answer")
)

// resumes is how often for one prompt a model may be asked to continue an answer that was cut off.
const resumes = 3

// emptyAnswers is how often in a row a model may say nothing before that is an error.
const emptyAnswers = 3

// An Agent holds a conversation.
type Agent struct {
	o Options

	running sync.Mutex // one Run at a time
	turns   int        // of the session, for ids
	ids     ids
	stuck   stuck
	place   *place // of its tools

	mu      sync.Mutex // for what others may look at meanwhile
	history []model.Message
	system  string

	telling sync.Mutex // events come from the model's stream and from running calls
}

// New makes an agent.
func New(o Options) *Agent {
	a := &Agent{o: o, history: slices.Clone(o.History), system: o.System, place: o.Shelf.at(o.Path, o.Executor.Registry)}
	a.ids.add(o.History)
	for _, m := range o.History {
		for _, c := range m.Calls() { // what was found then is known
			a.place.revealed[c.Name] = true
		}
	}
	before := o.Executor.Observe
	o.Executor.Observe = func(e tool.Event) {
		if before != nil {
			before(e)
		}
		a.tell(Step{e})
	}
	return a
}

// Answer is what came of a Run, also of one that failed.
type Answer struct {
	Text      string       // the model's last words
	Reason    model.Reason // why they ended: after Length or Filter they are not whole
	Turns     int
	Usage     model.Usage
	Duration  time.Duration
	ModelTime time.Duration  // the part of it that went into waiting for the model
	Denied    []tool.Outcome // the calls that were refused
}

// Run says something to the model and goes on until it ends its turn, a limit is reached or ctx ends.
func (a *Agent) Run(ctx context.Context, prompt ...model.Part) (Answer, error) {
	a.running.Lock()
	defer a.running.Unlock()
	start := time.Now()
	if a.o.Limits.Wall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.o.Limits.Wall, fmt.Errorf("stopped after %v: %w", a.o.Limits.Wall, ErrWallTime))
		defer cancel()
	}
	a.add(model.Message{Role: model.User, Parts: prompt})
	var out Answer
	err := a.loop(ctx, &out)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	out.Duration = time.Since(start)
	return out, err
}

// loop takes turns.
func (a *Agent) loop(ctx context.Context, out *Answer) error {
	empty, cuts := 0, 0
	text := "" // of an answer that was cut off and is being continued
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if most := a.o.Limits.Turns; most > 0 && out.Turns >= most {
			return fmt.Errorf("stopped after %d turns: %w", most, ErrTurnLimit)
		}
		if err := a.o.Budget.turn(); err != nil {
			return err
		}
		out.Turns++
		a.turns++
		t := &turn{agent: a, n: a.turns, batch: a.o.Executor.Batch(ctx), resumable: cuts < resumes}
		t.tools = a.addNews()
		err := t.take(ctx, out)
		if t.said() {
			out.Text = continued(text, out.Text)
		}
		if t.cut(ctx, err) {
			cuts++
			text = t.resume(text, out.Text)
			a.tell(Resumed{Turn: t.n, Times: cuts, Most: resumes, Err: err})
			continue
		}
		if err != nil {
			return err
		}
		text = ""
		if len(t.calls) > 0 {
			empty = 0
			continue
		}
		if t.said() || t.reason != model.Stop {
			return nil
		}
		if empty++; empty == emptyAnswers {
			return fmt.Errorf("%s said nothing, %d times in a row: %w", a.o.Model.Name(), empty, ErrEmptyAnswer)
		}
		a.tell(Said{model.Retry{Attempt: empty, Err: ErrEmptyAnswer}})
	}
}

// SetSystem replaces what the model is told about itself and the place, from its next turn on.
func (a *Agent) SetSystem(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.system = text
}

func (a *Agent) told() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.system
}

// History is the conversation so far.
func (a *Agent) History() []model.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.history)
}

func (a *Agent) add(m model.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history = append(a.history, m)
}

// addNews puts what has happened meanwhile into the conversation, and gives the tools that there are now.
func (a *Agent) addNews() []tool.Declaration {
	tools, held := a.place.next()
	var parts []model.Part
	if held != "" {
		parts = append(parts, model.Text(held))
	}
	if a.o.News != nil {
		for _, text := range a.o.News() {
			parts = append(parts, model.Text(text))
		}
	}
	if len(parts) > 0 {
		a.add(model.Message{Role: model.User, Parts: parts})
	}
	return tools
}

func (a *Agent) tell(e Event) {
	if a.o.Observe == nil {
		return
	}
	a.telling.Lock()
	defer a.telling.Unlock()
	a.o.Observe(e)
}
