package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// callDelta is a piece of a call as servers send it. Any field may be missing, depending on the server.
type callDelta struct {
	Index    json.RawMessage `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function struct {
		Name      json.RawMessage `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a piece of a string; some servers send the object itself
	} `json:"function"`
}

// calls assembles an answer's calls from their pieces.
//
// A piece belongs to the call of its index, else to the call of its id, else to the last one. It begins a new call
// instead when it has a name and the call it would belong to is complete: some servers give every call of an answer
// the index 0, or the same id. A call is emitted when a later one has begun and its arguments are a whole JSON
// object, which no further piece could add to, and at the latest at the end of the answer; always in order.
type calls struct {
	list []*partCall
	out  int // number of calls in list that were emitted
}

// partCall is a call that is being received.
type partCall struct {
	index string // as sent; "" for none
	id    string
	name  string
	args  []byte
	scan  objectScan
}

// add adds a piece. It fails if the piece changes a call that was emitted.
func (c *calls) add(d callDelta) error {
	index, id, name := number(d.Index), api.Scalar(d.ID), api.Scalar(d.Function.Name)
	args, whole := arguments(d.Function.Arguments)
	p := c.find(index, id, name)
	if p != nil && p.repeated(index, id, name, args) {
		return nil
	}
	if p == nil || p.ended(id, name, args) {
		p = &partCall{index: index, id: id}
		c.list = append(c.list, p)
	}
	if c.handedOut(p) {
		if len(bytes.TrimSpace(args)) == 0 {
			return nil
		}
		return model.Errorf(model.ErrWire, "the server continued call %q after it started the next one", p.name)
	}
	if p.id == "" {
		p.id = id
	}
	p.addName(name)
	if whole {
		p.args, p.scan = nil, objectScan{}
	}
	p.args = append(p.args, args...)
	p.scan.add(args)
	return nil
}

// find returns the call that a piece belongs to; nil if it begins one.
func (c *calls) find(index, id, name string) *partCall {
	if index != "" {
		return c.last(func(p *partCall) bool { return p.index == index })
	}
	if id != "" {
		if p := c.last(func(p *partCall) bool { return p.id == id }); p != nil || name != "" {
			return p
		}
	}
	return c.last(func(*partCall) bool { return true })
}

func (c *calls) last(ok func(*partCall) bool) *partCall {
	for i := len(c.list) - 1; i >= 0; i-- {
		if ok(c.list[i]) {
			return c.list[i]
		}
	}
	return nil
}

func (c *calls) handedOut(p *partCall) bool {
	return slices.Contains(c.list[:c.out], p)
}

// repeated reports whether a piece repeats a whole call: some servers end an answer with all of its calls.
func (p *partCall) repeated(index, id, name string, args []byte) bool {
	if id == "" || id != p.id || name != p.name || !p.scan.whole() {
		return false
	}
	return index != "" && len(args) == 0 || sameJSON(args, p.args)
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// ended reports whether a piece that would belong to p begins a new call.
func (p *partCall) ended(id, name string, args []byte) bool {
	switch {
	case name == "":
		return false
	case p.scan.whole():
		return true
	case p.index == "" && id == "" && name != p.name:
		return true // they differ only in the name
	case len(p.args) == 0 && len(args) == 0 && id != "":
		return id != p.id // two calls without arguments
	case len(p.args) == 0 && len(args) == 0:
		return p.index == ""
	}
	return false
}

// addName adds a name that is sent once, repeated with each piece, or split into pieces.
func (p *partCall) addName(name string) {
	switch {
	case strings.HasPrefix(name, p.name):
		p.name = name
	case name != p.name:
		p.name += name
	}
}

// ready returns the calls that can be emitted now: a later one has begun.
func (c *calls) ready() []model.Call { return c.whole(len(c.list) - 1) }

// complete returns the calls that were complete when the answer was cut off, up to the first incomplete one.
func (c *calls) complete() []model.Call { return c.whole(len(c.list)) }

// whole returns the calls before end that are complete, up to the first incomplete one.
func (c *calls) whole(end int) []model.Call {
	var out []model.Call
	for c.out < end && c.list[c.out].scan.whole() && c.list[c.out].name != "" {
		out = append(out, c.list[c.out].call())
		c.out++
	}
	return out
}

// rest returns all others, at the end of the answer.
func (c *calls) rest() []model.Call {
	var out []model.Call
	for ; c.out < len(c.list); c.out++ {
		out = append(out, c.list[c.out].call())
	}
	return out
}

func (p *partCall) call() model.Call {
	args := []byte(api.Clean(p.args))
	if len(bytes.TrimSpace(args)) == 0 {
		args = []byte("{}") // a call without parameters
	}
	return model.Call{Call: tool.Call{ID: p.id, Name: p.name, Args: args}}
}

// arguments returns a piece of arguments, and whether it is complete: an object instead of a string.
func arguments(raw json.RawMessage) (piece []byte, whole bool) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, false
	case raw[0] == '"':
		return api.Unquote(raw), false
	}
	return raw, true
}

// number reads an index; "" if missing.
func number(raw json.RawMessage) string {
	s := api.Scalar(raw)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return ""
	}
	return s
}

// objectScan scans JSON as it arrives and detects the end of an object. Scanning everything again with each piece would
// take quadratic time.
type objectScan struct {
	depth     int
	inString  bool
	escaped   bool
	begun     bool
	ended     bool
	notObject bool // there is text before or after the object
}

func (s *objectScan) add(b []byte) {
	for _, c := range b {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case s.ended:
			s.notObject = true
		case c == '{':
			s.begun = true
			s.depth++
		case !s.begun:
			s.notObject = true
		case c == '"':
			s.inString = true
		case c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
			s.ended = s.depth == 0
		}
	}
}

// whole reports whether the input so far is one object, judging by its brackets.
func (s *objectScan) whole() bool { return s.ended && !s.notObject }
