package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/schema"
)

// cut reports whether the answer was cut off by err after something of it had arrived, so that the model can be asked
// to continue it.
func (t *turn) cut(ctx context.Context, err error) bool {
	return t.resumable && ctx.Err() == nil && len(t.parts) > 0 && model.CutShort(err)
}

// onlyThought reports whether only thoughts arrived. Such an answer is dropped, and the request repeated.
func (t *turn) onlyThought() bool { return len(t.calls) == 0 && !t.said() }

// resume asks the model to continue, and returns the text that its next answer continues. before is the text that this
// answer continued, and now that text with what this answer added.
func (t *turn) resume(before, now string) string {
	if t.onlyThought() {
		return before
	}
	t.agent.addTold(model.Prompt(resumeText), true)
	if len(t.calls) > 0 {
		return ""
	}
	return now
}

// minOverlap is how many equal bytes count as a repetition.
const minOverlap = 12

// continued joins a text that was cut off and its continuation, without text that the model repeats.
func continued(text, more string) string {
	for n := min(len(text), len(more)); n >= minOverlap || n > 0 && n == len(text); n-- {
		if strings.HasSuffix(text, more[:n]) {
			return text + more[n:]
		}
	}
	return text + more
}

// sameCall reports whether two calls as a server sent them are the same: equal ID, name and arguments.
func sameCall(a, b tool.Call) bool {
	return a.ID != "" && a.ID == b.ID && a.Name == b.Name && bytes.Equal(compact(a.Args), compact(b.Args))
}

// compact removes whitespace from JSON. Other text is returned unchanged.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// Sendable returns the answer with arguments that servers accept in the next request: some parse them, and reject the
// whole conversation for a call that was cut off.
func Sendable(answer model.Message) model.Message {
	out := answer
	out.Parts = slices.Clone(answer.Parts)
	for i, p := range out.Parts {
		if c, ok := p.(model.Call); ok {
			c.Args = argumentObject(c.Args)
			out.Parts[i] = c
		}
	}
	return out
}

// argumentObject returns the JSON object that a model sent as arguments, without trailing commas, or an empty one.
func argumentObject(raw json.RawMessage) json.RawMessage {
	if fixed, ok := schema.RepairJSON(raw); ok {
		raw = fixed
	}
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil { // some models encode the object twice
		raw = json.RawMessage(quoted)
	}
	if raw = bytes.TrimSpace(raw); json.Valid(raw) && bytes.HasPrefix(raw, []byte("{")) {
		return raw
	}
	return json.RawMessage("{}")
}
