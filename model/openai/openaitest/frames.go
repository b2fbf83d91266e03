package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/model/internal/scripted"
)

const head = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"scripted",`

// frames returns the events of the answer's stream, each with its blank line.
func (a Answer) frames() []string {
	var out []string
	event := func(data string) { out = append(out, "data: "+data+"\n\n") }
	delta := func(d string) { event(head + `"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`) }
	if a.Raw != "" {
		return []string{a.Raw}
	}
	delta(`{"role":"assistant","content":""}`)
	for _, s := range split(a.Thought, a.Faults.Split) {
		delta(`{` + quote(a.field()) + `:` + quote(s) + `}`)
	}
	for _, s := range split(a.Text, a.Faults.Split) {
		delta(`{"content":` + quote(s) + `}`)
	}
	for i, c := range a.Calls {
		for _, d := range a.callDeltas(i, c) {
			delta(`{"tool_calls":[` + d + `]}`)
		}
	}
	if a.Faults.Again {
		for i, c := range a.Calls {
			delta(`{"tool_calls":[` + a.piece(i, c, c.ID, c.Name, c.text()) + `]}`)
		}
	}
	if f := a.finish(); f != "" {
		event(head + `"choices":[{"index":0,"delta":{},"finish_reason":` + quote(f) + `}]}`)
	}
	if a.Usage != nil {
		event(head + `"choices":[],"usage":` + a.Usage.json() + `}`)
	}
	if !a.Faults.NoDone {
		event("[DONE]")
	}
	return scripted.Dress(out, a.Faults.CRLF, a.Faults.Comments)
}

// callDeltas returns the pieces of one call.
func (a Answer) callDeltas(i int, c Call) []string {
	f := a.Faults
	if f.ObjectArgs {
		return []string{a.piece(i, c, c.ID, c.Name, c.text())}
	}
	pieces := split(c.text(), f.Split)
	if f.Split > 0 || len(pieces) == 0 {
		pieces = append([]string{""}, pieces...) // like OpenAI: the name first, then the arguments
	}
	var out []string
	for n, p := range pieces {
		id, name := c.ID, c.Name
		if n > 0 && !f.RepeatID {
			id = ""
		}
		if n > 0 && !f.RepeatName {
			name = ""
		}
		out = append(out, a.piece(i, c, id, name, p))
	}
	return out
}

func (a Answer) piece(i int, c Call, id, name, args string) string {
	var fields []string
	switch {
	case a.Faults.ZeroIndex:
		fields = append(fields, `"index":0`)
	case !a.Faults.NoIndex:
		fields = append(fields, `"index":`+strconv.Itoa(i))
	}
	if id != "" {
		fields = append(fields, `"id":`+quote(id), `"type":"function"`)
	}
	function := `"arguments":` + quote(args)
	if a.Faults.ObjectArgs {
		function = `"arguments":` + c.text()
	}
	if name != "" {
		function = `"name":` + quote(name) + `,` + function
	}
	return `{` + strings.Join(append(fields, `"function":{`+function+`}`), ",") + `}`
}

func (a Answer) finish() string {
	switch {
	case a.Finish == "none":
		return ""
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (a Answer) field() string { return cmp.Or(a.Field, "reasoning_content") }

// plain returns the answer as one object.
func (a Answer) plain() string {
	var calls []string
	for i, c := range a.Calls {
		calls = append(calls, a.piece(i, c, c.ID, c.Name, c.text()))
	}
	usage := ""
	if a.Usage != nil {
		usage = `,"usage":` + a.Usage.json()
	}
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","model":"scripted","choices":[{"index":0,"message":`+
		`{"role":"assistant","content":%s,%s:%s,"tool_calls":[%s]},"finish_reason":%s}]%s}`,
		quote(a.Text), quote(a.field()), quote(a.Thought), strings.Join(calls, ","), quote(a.finish()), usage)
}

func (u Usage) json() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.Cached)
}

// split splits s into pieces of n bytes, even inside a character; 0 doesn't split it.
func split(s string, n int) []string {
	if s == "" {
		return nil
	}
	if n <= 0 {
		return []string{s}
	}
	var out []string
	for len(s) > n {
		out = append(out, s[:n])
		s = s[n:]
	}
	return append(out, s)
}

// quote writes a JSON string and keeps bytes that are not UTF-8, like servers that split text inside a character.
func quote(s string) string {
	b := []byte{'"'}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

func modelsJSON(names []string) string {
	type entry struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	list := make([]entry, 0, len(names))
	for _, n := range names {
		list = append(list, entry{n, "model"})
	}
	b, err := json.Marshal(map[string]any{"object": "list", "data": list})
	if err != nil {
		return ""
	}
	return string(b)
}
