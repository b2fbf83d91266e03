package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/adze-dev/adze/model"
)

// line is one line of a recording: exactly one of its fields is set.
type line struct {
	Model   *string        `json:"model,omitempty"`
	Request *request       `json:"request,omitempty"`
	Text    *string        `json:"text,omitempty"`
	Thought *model.Thought `json:"thought,omitempty"`
	Call    *model.Call    `json:"call,omitempty"`
	Sealed  *model.Sealed  `json:"sealed,omitempty"`
	Usage   *model.Usage   `json:"usage,omitempty"`
	End     *model.Reason  `json:"end,omitempty"`
}

// event returns the line as an event; nil if it isn't one.
func (l line) event() model.Event {
	switch {
	case l.Text != nil:
		return model.Text(*l.Text)
	case l.Thought != nil:
		return *l.Thought
	case l.Call != nil:
		return *l.Call
	case l.Sealed != nil:
		return *l.Sealed
	case l.Usage != nil:
		return *l.Usage
	case l.End != nil:
		return model.End{Reason: *l.End}
	}
	return nil
}

// lineOf returns an event as a line. A Retry isn't part of the answer.
func lineOf(e model.Event) (line, bool) {
	switch e := e.(type) {
	case model.Text:
		s := string(e)
		return line{Text: &s}, true
	case model.Thought:
		return line{Thought: &e}, true
	case model.Call:
		return line{Call: &e}, true
	case model.Sealed:
		return line{Sealed: &e}, true
	case model.Usage:
		return line{Usage: &e}, true
	case model.End:
		return line{End: &e.Reason}, true
	}
	return line{}, false
}

func parse(data []byte, name string, o Options) (*Model, error) {
	m := &Model{name: name, strict: o.Strict}
	var t turn
	n := 0
	for raw := range bytes.Lines(replace(data, o.Vars)) {
		n++
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		l, err := parseLine(raw)
		if err == nil && l.Model != nil && (t.line != 0 || len(m.turns) > 0) {
			err = errors.New("the model's name must come first")
		}
		if err == nil && l.Request != nil && len(t.events) > 0 {
			err = errors.New("a request in the middle of a turn; an end is missing before it")
		}
		if err != nil {
			return nil, fmt.Errorf("read recording %s, line %d: %w", name, n, err)
		}
		if l.Model != nil {
			m.model = *l.Model
			continue
		}
		if t.line == 0 {
			t.line = n
		}
		if l.Request != nil {
			t.request = l.Request
			continue
		}
		t.events = append(t.events, l.event())
		if l.End != nil {
			m.turns = append(m.turns, t)
			t = turn{}
		}
	}
	if t.line != 0 {
		return nil, fmt.Errorf("read recording %s, line %d: the turn that starts here has no end", name, t.line)
	}
	return m, nil
}

func parseLine(raw []byte) (line, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return line{}, err
	}
	if len(keys) != 1 {
		return line{}, fmt.Errorf("expected an object with one key, got %d keys", len(keys))
	}
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return line{}, err
	}
	if l == (line{}) {
		return line{}, fmt.Errorf("unknown key %q (expected model, request, text, thought, call, sealed, usage or end)",
			slices.Collect(maps.Keys(keys))[0])
	}
	return l, nil
}

// replace replaces names by values, escaped for JSON strings. Longer names go first, so that $WORK doesn't match the
// beginning of $WORKTREE.
func replace(data []byte, vars map[string]string) []byte {
	names := slices.SortedFunc(maps.Keys(vars), func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		quoted, err := json.Marshal(vars[name])
		if err != nil {
			continue // can't happen for a string
		}
		data = bytes.ReplaceAll(data, []byte(name), quoted[1:len(quoted)-1])
	}
	return data
}
