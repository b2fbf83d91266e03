// Package agent is the loop between a model and its tools: the model answers, the executor runs its calls, and the
// results go back to the model, until it makes no more calls.
//
//	a := agent.New(agent.Options{Model: m, Executor: x, System: agent.SystemPrompt(where), Observe: show})
//	answer, err := a.Run(ctx, model.Text("Fix the failing test."))
//
// # Conversations
//
// An [Agent] has one conversation; each [Agent.Run] continues it. Every call in the history has a response, even after
// a cancelled context or a broken connection, so that the conversation can always continue: [Agent.Continue] resumes
// one that was interrupted. Options.History is an earlier conversation to start with.
//
// # Events
//
// The package knows no concrete tool and no screen. A front end reads [Event]s in Options.Observe: [Said] is a piece of
// text, [Called] a call, [Step] its progress, [Responded] the results of a turn.
//
// # Limits
//
// [Limits] bound the turns and the time of a Run, and a [Budget] the calls and tokens of an agent together with its
// subagents. With Options.Window, the agent compacts a conversation that no longer fits into the context window of its
// model.
//
// # Subagents
//
// A [Crew] runs subagents, in the foreground or in the background. A tool that delegates calls [Crew.Do]. A subagent
// has an executor below that of its parent, so its calls are subject to the same policy.
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

// Options configure an Agent.
type Options struct {
	Model model.Model
	// Executor runs the agent's calls. The agent replaces its Observe and calls the previous one first. The executor of
	// a subagent (see [tool.Executor.Child]) reports its steps to the first agent's observer.
	Executor *tool.Executor
	System   string // see [SystemPrompt]. It is fixed: servers cache the start of a request, and News reports changes
	Limits   Limits
	// Budget, if not nil, is shared with subagents: see [Crew].
	Budget *Budget
	// MaxTokens limits each answer of the model; 0: the server decides.
	MaxTokens int
	// Effort and CacheKey are sent with each request: see [model.Request].
	Effort, CacheKey string
	// Window returns the context window of the model of a name; nil: unknown. The agent compacts the conversation to
	// fit into it, and saves results with the executor's Spill.
	Window func(model string) Window
	// Substitute, if not nil, returns the model to ask in place of Model, or of that of SetModel, before each turn; and
	// after asked failed, another one to ask the same, or nil.
	Substitute func(ctx context.Context, wanted, asked model.Model, failed error) model.Model
	// Dialect returns how the model of a name writes edits; nil: as the registry declares them.
	Dialect func(model string) tool.Dialect
	// Unattended ends a Run whose model keeps repeating calls without any new result. Otherwise [Stuck] reports it,
	// and the user can stop it.
	Unattended bool
	// Catalog, if not nil, defers the declarations of external tools where there are too many.
	Catalog *Catalog
	// Final is the name of a tool whose first successful call ends a Run; "": none.
	Final string
	// Path is the path of a subagent, as in [tool.Call].By; "" is the first agent.
	Path string
	// News, if not nil, is called before each turn for messages to the model, such as a background command that exited.
	News func(context.Context) []string
	// Typed, if not nil, is called before each turn for prompts that the user entered while the model was working.
	Typed func(context.Context) [][]model.Part
	// Past says where the model can read what a compaction removes; "": nowhere. Kept, if not nil, returns texts that a
	// compaction keeps besides the user's prompts, such as a to-do list, for the agent of a path.
	Past string
	Kept func(path string) []string
	// Compacting, if not nil, is called before the conversation is compacted; requested: by the user.
	Compacting func(ctx context.Context, requested bool)
	// Observe receives every event, one at a time. It must not call the agent.
	Observe func(Event)
	// History is an earlier conversation to continue, and Declared how its requests began: those of this agent begin
	// with the same bytes if System is the same too. With nil, the tools are declared again.
	History  []model.Message
	Declared *Declared
	// Prompts are the user's prompts of History, and of what compactions removed from it; nil: its first message.
	Prompts [][]model.Part
	// CutOff reports that the last message of History is an answer that was cut off: see [Agent.Continue].
	CutOff bool
}

// Limits apply to one Run.
type Limits struct {
	Turns int           // requests to the model; 0: no limit
	Wall  time.Duration // 0: no limit
	// Request limits the tokens of a request: a conversation that has become longer stops with ErrTokenLimit. 0: no
	// limit.
	Request int
}

var (
	// ErrTurnLimit is in the chain when Limits.Turns stopped a Run.
	ErrTurnLimit = errors.New("turn limit reached")
	// ErrWallTime is in the chain when Limits.Wall stopped a Run.
	ErrWallTime = errors.New("time limit reached")
	// ErrStuck is in the chain when an unattended model kept repeating calls without any new result.
	ErrStuck = errors.New("no progress")
	// ErrContextFull is in the chain when compactions in a row freed too little of the conversation to continue.
	ErrContextFull = errors.New("context window full")
	// ErrEmptyAnswer is in the chain when a model kept sending empty responses.
	ErrEmptyAnswer = errors.New("empty answer")
	// ErrNothingToContinue is returned if the model has answered the last message.
	ErrNothingToContinue = errors.New("nothing to continue: the last answer is complete")
)

// resumes is how often for one prompt a model may be asked to continue an answer that was cut off.
const resumes = 3

// emptyAnswers is how many empty responses in a row are an error.
const emptyAnswers = 3

// An Agent holds a conversation.
type Agent struct {
	o Options

	running sync.Mutex // one Run at a time
	turns   int        // of the session, for ids
	ids     ids
	stuck   stuck
	view    *view // of its tools
	shown   int   // tools that were reported as declared; -1: nothing was reported
	room    room

	mu      sync.Mutex // guards the fields below
	history []model.Message
	prompts [][]model.Part // of the user, which compactions keep
	cutOff  bool           // the last message is an answer that was cut off
	now     settings
	standIn model.Model // that is asked in place of now.model; nil: none
	meter   meter
	saved   map[string][]string // paths of the full results, by ID of the call

	telling sync.Mutex // events come from the model's stream and from running calls
}

// New makes an agent.
func New(o Options) *Agent {
	a := &Agent{o: o, now: settings{o.Model, o.Effort, o.System}, saved: map[string][]string{}}
	a.ids.used = map[string]bool{}
	a.begin(o.History, o.Prompts)
	a.cutOff = o.CutOff
	if o.Declared != nil {
		a.view.restore(*o.Declared)
		a.shown = len(o.Declared.Tools)
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

// Answer is the result of a Run, including a failed one.
type Answer struct {
	Text      string       // the model's last message
	Reason    model.Reason // why it ended: after Length or Filter it is incomplete
	Turns     int
	Usage     model.Usage
	Duration  time.Duration
	ModelTime time.Duration  // the part spent waiting for the model
	Denied    []tool.Outcome // the calls that were denied
}

// Run sends a prompt to the model and continues until the model makes no more calls, a limit is reached or ctx ends.
func (a *Agent) Run(ctx context.Context, prompt ...model.Part) (Answer, error) {
	a.running.Lock()
	defer a.running.Unlock()
	return a.run(ctx, func() { a.addTold(model.Message{Role: model.User, Parts: prompt}, false) })
}

// Continue is like Run without a prompt: the model answers the last message of a conversation that was interrupted, or
// continues an answer that was interrupted. It returns ErrNothingToContinue if the answer is complete.
func (a *Agent) Continue(ctx context.Context) (Answer, error) {
	a.running.Lock()
	defer a.running.Unlock()
	if !a.Unanswered() {
		return Answer{}, ErrNothingToContinue
	}
	return a.run(ctx, func() {
		if a.incomplete() {
			a.addTold(model.Prompt(resumeText), true)
		}
	})
}

// Unanswered reports whether the conversation can be continued without a prompt.
func (a *Agent) Unanswered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.history)
	return n > 0 && (a.history[n-1].Role != model.Assistant || a.cutOff)
}

// cut notes that the last message is an answer that was cut off.
func (a *Agent) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cutOff = true
}

// incomplete reports whether the last message is an answer that was cut off.
func (a *Agent) incomplete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cutOff
}

func (a *Agent) run(ctx context.Context, begin func()) (Answer, error) {
	start := time.Now()
	if a.o.Limits.Wall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.o.Limits.Wall, fmt.Errorf("stopped after %v: %w", a.o.Limits.Wall,
			ErrWallTime))
		defer cancel()
	}
	a.mu.Lock()
	if !a.meter.proven { // only a rejection, which may have had another reason
		a.meter.forget()
	}
	a.mu.Unlock()
	begin()
	var out Answer
	err := a.loop(ctx, &out)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	out.Duration = time.Since(start)
	return out, err
}

// loop runs turns.
func (a *Agent) loop(ctx context.Context, out *Answer) error {
	empty, cuts := 0, 0
	text := ""         // of an answer that was cut off and is being continued
	shortened := false // the last request was rejected as too long
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if limit := a.o.Limits.Turns; limit > 0 && out.Turns >= limit {
			return fmt.Errorf("stopped after %d turns: %w", limit, ErrTurnLimit)
		}
		if err := a.o.Budget.turn(); err != nil {
			return err
		}
		out.Turns++
		a.turns++
		t := &turn{agent: a, n: a.turns, batch: a.o.Executor.Batch(ctx), resumable: cuts < resumes}
		t.tools = a.addNews(ctx)
		a.substitute(ctx, nil)
		a.declare(t.tools)
		if err := a.makeRoom(ctx, t, out); err != nil {
			return err
		}
		if err := a.fits(); err != nil {
			return err
		}
		err := t.take(ctx, out)
		if errors.Is(err, model.ErrContextLength) && !shortened && len(t.calls) == 0 {
			if err := a.shorten(ctx, t, out, err); err != nil {
				return err
			}
			shortened = true
			continue
		}
		shortened = false
		if t.said() {
			out.Text = continued(text, out.Text)
		}
		if t.final {
			return nil
		}
		if t.cut(ctx, err) {
			cuts++
			text = t.resume(text, out.Text)
			a.tell(Resumed{Turn: t.n, Times: cuts, Most: resumes, Err: err})
			continue
		}
		if err != nil && a.substitute(ctx, err) {
			text = t.resume(text, out.Text)
			continue
		}
		if err != nil {
			return err
		}
		text = ""
		if len(t.calls) > 0 {
			empty = 0
			if err := a.stopIfStuck(t); err != nil {
				return err
			}
			continue
		}
		if t.said() || t.reason != model.Stop {
			return nil
		}
		if empty++; empty == emptyAnswers {
			return fmt.Errorf("%s sent %d empty responses in a row: %w", a.settings().model.Name(), empty,
				ErrEmptyAnswer)
		}
		a.tell(Said{model.Retry{Attempt: empty, Err: ErrEmptyAnswer}})
	}
}

// History returns the conversation so far.
func (a *Agent) History() []model.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.history)
}

func (a *Agent) add(m model.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history, a.cutOff = append(a.history, m), false
	a.meter.add(m)
}

// request returns a request with the agent's options.
func (a *Agent) request(messages []model.Message, tools []tool.Declaration) model.Request {
	now := a.settings()
	return model.Request{
		System:    a.view.system(now.system),
		Messages:  messages,
		Tools:     tools,
		MaxTokens: a.o.MaxTokens,
		Effort:    now.effort,
		CacheKey:  a.o.CacheKey,
		By:        a.o.Path,
	}
}

// measure returns the token estimate for the next request.
func (a *Agent) measure() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.meter.fixed + a.meter.messages
}

// save notes where the full results of a call are.
func (a *Agent) save(id string, paths []string) {
	if len(paths) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.saved[id] = paths
}

// count records the usage of an answer. request is the estimate for its request.
func (a *Agent) count(u model.Usage, request int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.meter.count(u, request)
	if u.Input > 0 {
		a.room.judge(u.Input)
	}
}

// dialect returns how the current model writes edits; "": unknown.
func (a *Agent) dialect() tool.Dialect {
	if a.o.Dialect == nil {
		return ""
	}
	return a.o.Dialect(a.settings().model.Name())
}

// addNews adds pending messages to the conversation and returns the current tools.
func (a *Agent) addNews(ctx context.Context) []tool.Declaration {
	tools, changes := a.view.next(a.dialect())
	var parts []model.Part
	for _, text := range changes {
		parts = append(parts, model.Text(text))
	}
	if a.o.News != nil {
		for _, text := range a.o.News(ctx) {
			parts = append(parts, model.Text(text))
		}
	}
	if len(parts) > 0 {
		a.addTold(model.Message{Role: model.User, Parts: parts}, true)
	}
	if a.o.Typed != nil {
		for _, prompt := range a.o.Typed(ctx) {
			a.addTold(model.Message{Role: model.User, Parts: prompt}, false)
		}
	}
	return tools
}

// addTold adds a message to the conversation that is not part of an answer, and reports it. What isn't news is a prompt
// of the user.
func (a *Agent) addTold(m model.Message, news bool) {
	if !news {
		a.mu.Lock()
		a.prompts = append(a.prompts, m.Parts)
		a.mu.Unlock()
	}
	a.add(m)
	a.tell(Told{m, news})
}

// declare reports how the next request begins, if that has changed.
func (a *Agent) declare(tools []tool.Declaration) {
	if len(tools) == a.shown { // they are only added
		return
	}
	a.shown = len(tools)
	a.tell(Declared{System: a.settings().system, Listing: a.view.listing, Tools: tools})
}

func (a *Agent) tell(e Event) {
	if a.o.Observe == nil {
		return
	}
	a.telling.Lock()
	defer a.telling.Unlock()
	a.o.Observe(e)
}
