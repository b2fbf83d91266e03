// Package headless drives a session for another program. A [Printer] prints what happens as JSON messages. [Run] reads
// messages as well: prompts, and the control protocol of Qwen Code's SDK.
//
//	err := headless.Run(ctx, headless.Options{Stdin: os.Stdin, Printer: p, Session: s})
//
// Each line of stdin is a JSON object:
//
//	user                    a prompt; prompts wait for each other, and each has a result message
//	control_request         a request to Adze, such as interrupt or set_model: see handlers
//	control_response        the response to a request of Adze: can_use_tool, mcp_message
//	control_cancel_request  withdraws a request
//
// An invalid line is answered with an error, and the run continues. The package makes no decisions about tools: it asks
// the program instead of a user.
package headless

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/model"
)

// Options configure a Run.
type Options struct {
	Stdin   io.Reader
	Printer *Printer // with Stream
	Session *session.Session
	Limits  session.Limits
	Prompt  string // the first prompt, if it doesn't come from stdin
	// Ends reports whether the error of a prompt ends the run, such as a limit; nil: none does.
	Ends func(error) bool
	// Observe receives the events of the conversation, after they were printed; may be nil.
	Observe func(agent.Event)
}

// ErrInterrupted is in the chain of a prompt's error that the program interrupted.
var ErrInterrupted = errors.New("interrupted")

// defaultPatience is the default time for the program to answer can_use_tool.
const defaultPatience = time.Minute

// host is the program that drives the session.
type host struct {
	ctx     context.Context // of the run, for prompts that requests make
	o       Options
	session *session.Session
	out     *Printer
	asked   requests
	queue   queue
	began   sync.WaitGroup // requests of the program that are being handled

	mu       sync.Mutex
	begun    bool                  // a prompt was taken
	talk     *session.Conversation // nil: none has begun
	noModel  error                 // why
	notSetUp error                 // of initialize
	effort   string                // for the conversation that begins; "": that of the settings
	patience time.Duration
	setups   []<-chan struct{}          // requests that prompts wait for
	handling map[string]*work           // requests of the program, by their IDs
	servers  map[string]*serverLink     // of the program, by their names
	rewrote  map[string]json.RawMessage // arguments that the program edited, by call
	usage    model.Usage                // of the last answer
	cut      bool                       // the last prompt was interrupted
}

// Run answers prompts and requests until stdin is closed and all prompts are answered. Its error is the one that ended
// the run: a limit, the context, a missing model, or a failed write.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &host{
		o: o, ctx: ctx, session: o.Session, out: o.Printer, patience: defaultPatience, handling: map[string]*work{},
		servers: map[string]*serverLink{}, rewrote: map[string]json.RawMessage{}, queue: queue{newMailbox[*prompt]()},
	}
	h.asked.out = h.out
	// One question at a time, so that a program that answers them in turn has the full time for each.
	o.Session.Executor.Ask, o.Session.Executor.AskInTurn = o.Session.Asking(h.ask), true
	if o.Prompt != "" {
		h.queue.add(newPrompt(ctx, []model.Part{model.Text(o.Prompt)}, nil))
	}
	go h.read(ctx)
	err := h.work(ctx)
	if err != nil || ctx.Err() != nil {
		cancel() // including running requests
	}
	h.began.Wait()
	h.asked.close()
	return errors.Join(err, h.out.failure())
}

// work answers prompts, one after the other.
func (h *host) work(ctx context.Context) error {
	for {
		p, ok := h.queue.next(ctx, false)
		if !ok {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.noModel
		}
		err := h.answer(ctx, p)
		h.queue.done(p)
		p.cancel(nil)
		if err := h.out.failure(); err != nil {
			return err
		}
		if err != nil && h.o.Ends != nil && h.o.Ends(err) {
			return err
		}
	}
}

// answer runs one prompt and prints its result.
func (h *host) answer(ctx context.Context, p *prompt) error {
	for _, done := range p.after {
		select {
		case <-done:
		case <-p.ctx.Done():
		}
	}
	answer, err := h.run(ctx, p)
	if cause := context.Cause(p.ctx); err != nil && cause != nil {
		err = cause
	}
	h.mu.Lock()
	h.cut = errors.Is(err, ErrInterrupted)
	clear(h.rewrote)
	h.mu.Unlock()
	h.queue.done(p)            // before the result: the program may continue as soon as it has it
	_ = h.out.End(answer, err) // failure reports it
	return err
}

// run runs a prompt: a slash command, or a message to the model.
func (h *host) run(ctx context.Context, p *prompt) (agent.Answer, error) {
	h.mu.Lock()
	notSetUp, cut := h.notSetUp, h.cut
	h.begun = notSetUp == nil
	h.mu.Unlock()
	if notSetUp != nil {
		h.out.Begin()
		return agent.Answer{}, notSetUp
	}
	h.session.Outside.Connect()
	h.session.Begin = func(waiting context.Context) (*session.Conversation, error) {
		return h.conversation(ctx, waiting)
	}
	said, isCommand, err := h.expand(p)
	if err != nil || said.ForPerson() {
		h.out.Begin()
		h.nameModel()
		return agent.Answer{Text: said.Text()}, err
	}
	talk, err := h.conversation(ctx, p.ctx)
	h.out.Begin()
	if err != nil {
		return agent.Answer{}, err
	}
	if p.continues {
		return talk.Continue(p.ctx)
	}
	if err := talk.SetGoal(p.ctx, said.Goal); err != nil {
		return agent.Answer{}, err
	}
	parts := said.Parts
	if isCommand {
		talk.Append(said.History...)
	} else if parts, err = h.attached(p.ctx, p.parts); err != nil {
		return agent.Answer{}, err
	}
	if cut {
		parts = append([]model.Part{model.Text("(The user interrupted your previous answer.)")}, parts...)
	}
	return talk.Run(p.ctx, parts...)
}

// nameModel updates the name of the model in messages, after a command that may have changed it.
func (h *host) nameModel() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.talk != nil {
		h.out.SetModel(h.session.Models.Name())
	}
}

// expand runs the slash command at the start of a prompt, if there is one.
func (h *host) expand(p *prompt) (said slash.Expansion, isCommand bool, err error) {
	switch text, ok := p.text(); {
	case p.err != nil:
		return said, false, p.err
	case p.ctx.Err() != nil: // it was interrupted before it started
		return said, false, p.ctx.Err()
	case !ok:
		return said, false, nil
	default:
		return h.out.o.Commands.Expand(p.ctx, text)
	}
}

// attached returns a prompt with the files and resources that it names.
func (h *host) attached(ctx context.Context, parts []model.Part) ([]model.Part, error) {
	text, ok := parts[0].(model.Text)
	if !ok {
		return parts, nil
	}
	named, err := h.session.Attachments.PromptParts(ctx, string(text), string(text))
	if err != nil {
		return nil, err
	}
	return append(named, parts[1:]...), nil
}

// conversation returns the session's conversation, which begins with the first prompt.
func (h *host) conversation(ctx, waiting context.Context) (*session.Conversation, error) {
	h.session.Outside.WaitLikely(waiting)
	_, err := h.session.Models.Open(waiting)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.talk != nil {
		return h.talk, nil
	}
	if waiting.Err() == nil {
		h.noModel = err
	}
	if err != nil {
		return nil, err
	}
	m, err := h.session.Models.Open(waiting) // again: set_model may have been received meanwhile
	if err != nil {
		return nil, err
	}
	h.out.SetModel(m.Name())
	h.talk = h.session.Converse(ctx, session.ConversationOptions{
		Model: m, Limits: h.o.Limits, Effort: h.effort, Unattended: true, Observe: h.observe, Below: h.out.Below,
	})
	return h.talk, nil
}

func (h *host) observe(e agent.Event) {
	if a, ok := e.(agent.Answered); ok && a.Usage != (model.Usage{}) {
		h.mu.Lock()
		h.usage = a.Usage
		h.mu.Unlock()
	}
	h.out.Event(e)
	if h.out.failure() != nil {
		h.queue.interrupt() // stdout is closed
	}
	if h.o.Observe != nil {
		h.o.Observe(e)
	}
}
