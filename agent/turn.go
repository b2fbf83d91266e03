package agent

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// turn is one answer of the model and the outcomes of its calls.
type turn struct {
	agent    *Agent
	n        int // in the session
	batch    *tool.Batch
	tools    []tool.Declaration
	blind    []string // ids of calls of tools whose parameters were not loaded
	parts    []model.Part
	streams  []byte // the last part, while its text or thought arrives
	calls    []tool.Call
	found    []tool.Found // the calls with their tools
	held     []tool.Found // waiting until it is known why the answer ended
	sent     []tool.Call  // as the server sent them
	repeated bool         // the last call was sent before
	usage    model.Usage
	reason   model.Reason
	repeats  int // turns in a row, up to this one, that only repeated calls with the same results

	resumable bool  // the model may be asked to continue if the answer is cut off
	over      error // the budget has no more calls
	ending    bool  // a valid call of Options.Final was started
	final     bool  // a call of Options.Final succeeded
}

const (
	cutText = "not executed: your response hit the output token limit, so the arguments may be incomplete. " +
		"Split the change into smaller calls: write the first part with one call and add the rest with further calls."
	brokenText = "not executed: the connection broke in the middle of your response. Repeat the call if it is " +
		"still needed."
	resumeText = "The connection broke and cut off your answer above. Only what you see of it arrived: the text, and " +
		"the calls, " +
		"each with its result. Continue exactly where the answer stopped. Don't repeat text or calls that arrived."
	blindText = "Note: the parameters of this tool weren't loaded when you called it. They are now: check them and " +
		"call it again."
	overlapText = "not executed: it and another edit of this turn change the same text. Make one edit of them."
	cutAdvice   = "Note: your response hit the output token limit, so the arguments may be incomplete. " +
		"Split the content over several smaller calls."
)

// take sends a request, runs the calls of the answer and adds both to the history.
func (t *turn) take(ctx context.Context, out *Answer) error {
	a := t.agent
	a.tell(Began{t.n})
	start := time.Now()
	size := a.measure()
	err := t.listen(ctx)
	took := time.Since(start)
	out.ModelTime += took
	out.Usage = out.Usage.Plus(t.usage)
	a.o.Budget.use(t.spent(size))
	answer := model.Message{Role: model.Assistant, Parts: t.parts}
	sent := model.Message{Role: model.Assistant}
	if !t.onlyThought() { // servers reject an answer without text and calls
		sent = Sendable(answer)
		a.add(sent)
		if err != nil {
			a.cut()
		}
	}
	a.tell(Answered{t.n, answer, sent, t.usage, t.reason, took, err, a.settings().model.Name()})
	a.count(t.usage, size)
	if t.said() {
		out.Text = answer.Text()
	}
	out.Reason = t.reason
	t.release(ctx, err)
	if len(t.calls) == 0 {
		return err
	}
	outcomes := t.batch.Wait()
	responses := t.responses(outcomes)
	a.add(responses)
	a.tell(Responded{t.n, responses, outcomes})
	for _, o := range outcomes {
		if o.Status == tool.StatusDenied {
			out.Denied = append(out.Denied, o)
		}
		t.final = t.final || o.Status == tool.StatusSuccess && o.Name == a.o.Final
	}
	if err == nil {
		err = t.over
	}
	return err
}

// listen reads the answer to its end and starts its calls.
func (t *turn) listen(ctx context.Context) error {
	a := t.agent
	defer t.settle()
	now := a.settings()
	for e, err := range now.model.Stream(ctx, a.request(a.History(), t.tools)) {
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case model.Text:
			t.say(e)
		case model.Thought:
			t.think(e)
		case model.Sealed:
			t.keep(e)
			continue
		case model.Call:
			t.call(ctx, e.Call)
			continue
		case model.Usage:
			t.usage = e
		case model.End:
			t.reason = e.Reason
			return nil
		}
		a.tell(Said{e})
	}
	return model.Errorf(model.ErrCut, "response from %s ended early", now.model.Name())
}

// say adds a piece of text to the answer.
func (t *turn) say(s model.Text) {
	last, ok := t.last().(model.Text)
	t.stream(ok, s, string(last), string(s))
}

func (t *turn) think(s model.Thought) {
	last, ok := t.last().(model.Thought)
	t.stream(ok, s, string(last), string(s))
}

func (t *turn) last() model.Part {
	if len(t.parts) == 0 {
		return nil
	}
	return t.parts[len(t.parts)-1]
}

// stream appends a piece to the last part, whose earlier text is settled; or begins a part with it.
func (t *turn) stream(continues bool, begin model.Part, settled, piece string) {
	if !continues {
		t.settle()
		t.parts = append(t.parts, begin)
	}
	if len(t.streams) == 0 {
		t.streams = append(t.streams, settled...)
	}
	t.streams = append(t.streams, piece...)
}

// settle completes the last part. Adding each piece to it at once would copy it for each piece.
func (t *turn) settle() {
	n := len(t.parts) - 1
	if n < 0 || len(t.streams) == 0 {
		return
	}
	switch t.parts[n].(type) {
	case model.Text:
		t.parts[n] = model.Text(t.streams)
	case model.Thought:
		t.parts[n] = model.Thought(t.streams)
	}
	t.streams = t.streams[:0]
}

// keep adds sealed data to the answer, in its place. That of a call which the server repeated was added with the first
// one.
func (t *turn) keep(s model.Sealed) {
	t.settle()
	for _, p := range t.parts {
		if old, ok := p.(model.Sealed); ok && t.repeated && bytes.Equal(old.JSON, s.JSON) {
			return
		}
	}
	t.parts = append(t.parts, s)
}

// said reports whether the answer has text.
func (t *turn) said() bool {
	for _, p := range t.parts {
		if s, ok := p.(model.Text); ok && s != "" {
			return true
		}
	}
	return false
}

// call starts a call at once, unless it might be the incomplete end of a truncated answer: from the first call that
// edits on, all calls wait until it is known why the answer ended. All, because results come in the order of calls.
func (t *turn) call(ctx context.Context, c tool.Call) {
	t.repeated = slices.ContainsFunc(t.sent, func(s tool.Call) bool { return sameCall(s, c) })
	if t.repeated {
		return // a server that sends a call twice: it runs once, and the server sees it once
	}
	t.sent = append(t.sent, c)
	c.ID = t.agent.ids.unique(c.ID, t.n, len(t.calls))
	shown := c // without the dialect, which the conversation doesn't have
	c.Dialect = t.agent.dialect()
	found := t.agent.o.Executor.Registry.Find(c)
	d, known := found.Declaration()
	if known && !found.Rerouted && !d.Named(c.Name) {
		shown.Name = d.Name // not every server takes "functions.read_file" back
	}
	t.settle()
	t.parts = append(t.parts, model.Call{Call: shown})
	t.calls, t.found = append(t.calls, shown), append(t.found, found)
	t.agent.tell(Called{shown})
	if known && t.agent.view.called(d) {
		t.blind = append(t.blind, c.ID)
	}
	if len(t.held) > 0 || known && d.Kind == tool.Edit {
		t.held = append(t.held, found)
		return
	}
	t.start(ctx, found)
}

// start runs a call. If its tool was declared and had disappeared when it was called, the call fails with the reason.
// Calls after one that ends the run are not executed.
func (t *turn) start(ctx context.Context, c tool.Found) {
	if t.ending {
		t.batch.Refuse(c, tool.ExecutionDenied, c.Name+": not executed: an earlier call of "+t.agent.o.Final+
			" ended the run")
		return
	}
	if c.Err != nil {
		if reason := t.agent.view.gone(c.Name); reason != "" {
			t.batch.Refuse(c, tool.NotRegistered, reason)
			return
		}
	}
	if t.ends(ctx, c) {
		t.ending = true
	} else if err := t.agent.o.Budget.call(); err != nil {
		t.over = err
		t.batch.Refuse(c, tool.ExecutionDenied, c.Name+": not executed: "+err.Error())
		return
	}
	t.batch.Start(c)
}

// ends reports whether a call will end the run: it is a valid one of Options.Final.
func (t *turn) ends(ctx context.Context, c tool.Found) bool {
	if d, known := c.Declaration(); t.agent.o.Final == "" || !known || d.Name != t.agent.o.Final {
		return false
	}
	_, err := c.Tool.Prepare(ctx, c.Args)
	return err == nil
}

// release starts or rejects the calls that were held.
func (t *turn) release(ctx context.Context, err error) {
	overlap := t.overlapping(ctx)
	for i, c := range t.held {
		d, _ := c.Declaration()
		switch {
		case ctx.Err() != nil:
			t.batch.Start(c) // reports that it was cancelled
		case err != nil && !t.cut(ctx, err):
			t.batch.Refuse(c, tool.OutputTruncated, c.Name+": "+brokenText)
		case t.reason == model.Length && d.Kind == tool.Edit:
			t.batch.Refuse(c, tool.OutputTruncated, c.Name+": "+cutText)
		case overlap[i]:
			t.batch.Refuse(c, tool.InvalidParams, c.Name+": "+overlapText)
		default:
			t.start(ctx, c)
		}
	}
}

// overlapping returns the held calls whose edits disturb each other.
func (t *turn) overlapping(ctx context.Context) map[int]bool {
	found := map[int]bool{}
	prepared := map[int]*tool.Invocation{}
	for i, c := range t.held {
		d, _ := c.Declaration()
		if d.Dialect == "" || len(t.held) < 2 {
			continue
		}
		inv, err := c.Tool.Prepare(ctx, c.Args)
		if err != nil {
			continue // as it may be without the edits before it
		}
		for k, other := range prepared {
			if inv.Disturbs(other) || other.Disturbs(inv) {
				found[i], found[k] = true, true
			}
		}
		prepared[i] = inv
	}
	return found
}

// responses returns the results for the model, one for each call.
func (t *turn) responses(outcomes []tool.Outcome) model.Message {
	m := model.Message{Role: model.Tool}
	for i, c := range t.calls {
		o := outcomes[i]
		content := o.Result.Content
		if o.Result.Text() == "" { // an empty file; some servers reject an empty response
			content = []tool.Part{tool.Text("(empty)")}
		}
		if o.Error != nil && o.Error.Type == tool.InvalidParams && t.reason == model.Length && i == len(t.calls)-1 {
			content = note(content, cutAdvice)
		}
		if o.Error != nil && o.Error.Type == tool.InvalidParams && slices.Contains(t.blind, c.ID) {
			content = note(content, blindText)
		}
		if line := t.agent.stuck.look(o); line != "" {
			content = note(content, line)
		}
		t.agent.save(c.ID, o.Saved)
		m.Parts = append(m.Parts, model.Response{
			ID: c.ID, Name: c.Name, Content: content, IsError: o.Status != tool.StatusSuccess,
			Denied: o.Status == tool.StatusDenied,
		})
	}
	if line := t.compare(outcomes); line != "" {
		last := m.Parts[len(m.Parts)-1].(model.Response)
		last.Content = note(last.Content, line)
		m.Parts[len(m.Parts)-1] = last
	}
	return m
}

// note adds a last line to a response.
func note(content []tool.Part, line string) []tool.Part {
	out := append([]tool.Part{}, content...)
	if n := len(out) - 1; n >= 0 {
		if s, ok := out[n].(tool.Text); ok {
			out[n] = s + "\n" + tool.Text(line)
			return out
		}
	}
	return append(out, tool.Text(line))
}
