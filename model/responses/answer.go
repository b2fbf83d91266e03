package responses

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// between separates the texts of two messages, and two parts of a summary.
const between = "\n\n"

// answer turns a server's response into events.
//
// An item is complete when its output_item.done comes. Its texts are emitted before, as they stream. Reasoning is held
// back until something visible follows, because until then the request can be sent again.
type answer struct {
	out   *api.Output
	name  string           // of the model
	items map[string]*part // by position
	order []*part
	held  []model.Sealed

	calls   []tool.Call // that were emitted
	spoken  bool        // a text was emitted
	sealed  bool        // reasoning was emitted
	partial *tool.Call  // a call that the server marks as incomplete

	status string // of the response; "": not known yet
	reason string // why it is incomplete
	usage  json.RawMessage
}

var _ api.Decoder = (*answer)(nil)

func newAnswer(out *api.Output, name string) *answer {
	return &answer{out: out, name: name, items: map[string]*part{}}
}

// part is an item that has begun.
type part struct {
	item
	joint api.Joint
	said  strings.Builder // the part of its text or summary that was emitted
	at    [2]int          // indices of the summary and the content that stream
	args  []byte
	whole bool // args are complete
	done  bool
}

// Event reads one event. Unknown events are skipped.
func (a *answer) Event(data []byte) (done bool, err error) {
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" { // some other servers send it
		return a.status != "", nil
	}
	var e streamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, model.Errorf(model.ErrWire, "can't read an event of the server's answer: %w: %s", err,
			api.Excerpt(data))
	}
	switch e.Type {
	case "response.output_item.added":
		return false, a.begin(e)
	case "response.output_item.done":
		return false, a.finish(a.find(e), e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		p := a.open(e, typeMessage)
		return false, a.emitText(p, p.joint.Add(api.Unquote(e.Delta)))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return false, a.addThought(a.open(e, typeReasoning), e)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		p := a.open(e, typeCall)
		p.args = append(p.args, api.Unquote(e.Delta)...)
	case "response.function_call_arguments.done":
		p := a.open(e, typeCall)
		p.args, p.whole = written(e.Arguments), true
	case "response.custom_tool_call_input.done":
		p := a.open(e, typeCustom)
		p.args, p.whole = []byte(api.Scalar(e.Input)), true
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		if e.Response == nil {
			e.Response = &response{}
		}
		if e.Response.Status == "" {
			e.Response.Status = strings.TrimPrefix(e.Type, "response.")
		}
		return true, a.end(*e.Response)
	case "error", "":
		if !api.IsNull(e.Error) {
			return false, streamError(e.Error)
		}
		if e.Type == "error" {
			return false, streamError(data)
		}
	}
	return false, nil
}

// Body reads an answer that was sent as one JSON value.
func (a *answer) Body(data []byte) error {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return model.Errorf(model.ErrWire, "the server's answer is not JSON: %w: %s", err, api.Excerpt(data))
	}
	if r.Output == nil && api.IsNull(r.Error) {
		return model.Errorf(model.ErrWire, "the server's answer has no output: %s", api.Excerpt(data))
	}
	if r.Status == "" {
		r.Status = "completed"
	}
	return a.end(r)
}

// Complete reports whether the last event was received.
func (a *answer) Complete() bool { return a.status != "" }

// end processes the final response, including items without events.
func (a *answer) end(r response) error {
	if !api.IsNull(r.Error) {
		return streamError(r.Error)
	}
	switch r.Status {
	case "completed", "incomplete":
	default:
		return model.Errorf(model.ErrServer, "the server stopped its answer: status %q", r.Status)
	}
	for i, raw := range r.Output {
		it, err := readItem(raw)
		if err != nil {
			return err
		}
		p := a.items[place(&i, "")]
		if p == nil {
			p = a.items[place(nil, api.Scalar(it.ID))]
		}
		if p == nil && a.known(it) || p != nil && p.done {
			continue
		}
		if p == nil {
			p = a.add(place(&i, ""))
		}
		if err := a.finish(p, raw); err != nil {
			return err
		}
	}
	a.status, a.reason, a.usage = r.Status, r.Incomplete.Reason, r.Usage
	return nil
}

// known reports whether an item without a position was already emitted.
func (a *answer) known(it item) bool {
	switch it.Type {
	case typeMessage:
		return a.spoken
	case typeReasoning:
		return a.sealed
	case typeCall, typeCustom:
		return a.called(tool.Call{ID: callID(it), Name: api.Scalar(it.Name), Args: it.arguments()})
	}
	return false
}

// called reports whether a call was emitted.
func (a *answer) called(c tool.Call) bool {
	for _, old := range a.calls {
		if old.ID == c.ID && (c.ID != "" || old.Name == c.Name && bytes.Equal(old.Args, c.Args)) {
			return true
		}
	}
	return false
}

func callID(it item) string {
	if id := api.Scalar(it.CallID); id != "" {
		return id
	}
	return api.Scalar(it.ID)
}

// place returns the key of an item: its index, or its ID if it has none.
func place(index *int, id string) string {
	if index != nil {
		return "#" + strconv.Itoa(*index)
	}
	return id
}

func (a *answer) add(key string) *part {
	p := &part{}
	a.items[key] = p
	a.order = append(a.order, p)
	return p
}

// begin opens an item.
func (a *answer) begin(e streamEvent) error {
	it, err := readItem(e.Item)
	if err != nil {
		return err
	}
	if e.ItemID == "" {
		e.ItemID = api.Scalar(it.ID)
	}
	key := place(e.OutputIndex, e.ItemID)
	if p := a.items[key]; p != nil && !p.done && p.Type == it.Type && callID(p.item) == callID(it) {
		return nil // sent twice
	}
	p := a.add(key)
	p.item = it
	return nil
}

// find returns the item of an event about a whole item; a new one if none is open. A repeated call is the same call.
func (a *answer) find(e streamEvent) *part {
	it, _ := readItem(e.Item) // finish reports the error
	key := place(e.OutputIndex, api.Scalar(it.ID))
	p := a.items[key]
	if p == nil || p.done && (p.Type != it.Type || callID(p.item) != callID(it)) {
		p = a.add(key)
	}
	return p
}

// open returns the item that a piece belongs to.
func (a *answer) open(e streamEvent, kind string) *part {
	key := place(e.OutputIndex, e.ItemID)
	p := a.items[key]
	if p == nil || p.done {
		p = a.add(key)
	}
	if p.Type == "" {
		p.Type = kind
	}
	return p
}

// Finish emits held events, then usage and end.
func (a *answer) Finish() error {
	for _, p := range a.order { // items without output_item.done
		if p.done {
			continue
		}
		if err := a.flush(p); err != nil {
			return err
		}
		if c, ok := p.call(); ok && (p.whole || json.Valid(c.Args)) {
			if err := a.emitCall(c); err != nil {
				return err
			}
		} else if ok {
			a.partial = &c
		}
	}
	reason := a.endReason()
	if a.partial != nil && (reason == model.Length || reason == model.Stop || reason == model.Calls) {
		if err := a.emitCall(*a.partial); err != nil {
			return err
		}
		reason = a.endReason()
	}
	if err := a.release(); err != nil {
		return err
	}
	var u usage
	if !api.IsNull(a.usage) && json.Unmarshal(a.usage, &u) == nil { // ignore invalid counts
		if err := a.out.Emit(u.event()); err != nil {
			return err
		}
	}
	return a.out.Emit(model.End{Reason: reason})
}

// Salvage emits the rest of texts, and calls whose arguments were complete.
func (a *answer) Salvage() error {
	if !a.out.Begun() {
		return nil // it can be sent again
	}
	for _, p := range a.order {
		if p.done {
			continue
		}
		if err := a.flush(p); err != nil {
			return err
		}
		if c, ok := p.call(); ok && p.whole {
			if err := a.emitCall(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *answer) endReason() model.Reason {
	switch {
	case a.status == "incomplete" && (a.reason == "max_output_tokens" || a.reason == ""):
		return model.Length
	case a.status == "incomplete" && a.reason == "content_filter":
		return model.Filter
	case a.status == "incomplete":
		return model.Reason(a.reason)
	case len(a.calls) > 0:
		return model.Calls
	}
	return model.Stop
}
