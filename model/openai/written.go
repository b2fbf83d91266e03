package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
	"github.com/adze-dev/adze/tool"
)

// Some servers don't recognize the calls of a model and leave them in the text, in the markup that the model was
// trained with. Such text is held back, and becomes calls if the answer ends with it, has no other call, and all of
// them name declared tools. Otherwise it is emitted as text.

// markup are the tags that start calls in a text.
var markup = []string{"<tool_call>", "<function=", "<function_calls>", "<invoke name=", "<minimax:tool_call>"}

// written finds calls in the text of an answer.
type written struct {
	tools map[string]bool // names of declared tools
	last  byte            // before held
	held  []byte
	open  bool // held starts with markup
	ended int  // end of the last end tag in held; 0: none
	seen  int  // bytes of held in which end tags were looked for
}

func newWritten(tools []tool.Declaration) written {
	w := written{tools: map[string]bool{}}
	for _, d := range tools {
		w.tools[d.Name] = true
	}
	return w
}

// add adds a piece of text and returns the text that isn't part of a call.
func (w *written) add(piece string) string {
	if len(w.tools) == 0 {
		return piece
	}
	w.held = append(w.held, piece...)
	var out strings.Builder
	for len(w.held) > 0 {
		if w.open && w.possible() {
			break
		}
		n := w.next()
		if n < 0 {
			break
		}
		out.Write(w.held[:n])
		if n > 0 {
			w.last = w.held[n-1]
		}
		w.held, w.ended, w.seen = w.held[n:], 0, 0
	}
	return out.String()
}

// next returns how many bytes of held are text, up to markup or a possible beginning of it; -1 if none are.
func (w *written) next() int {
	start := 0
	if w.open { // it wasn't a call
		start, w.open = 1, false
	}
	for i := start; i < len(w.held); i++ {
		before := w.last
		if i > 0 {
			before = w.held[i-1]
		}
		if w.held[i] != '<' || before == '`' || before == '"' || before == '\'' {
			continue
		}
		for _, tag := range markup {
			switch rest := string(w.held[i:min(len(w.held), i+len(tag))]); {
			case rest == tag:
				w.open = true
				if i == 0 {
					return -1
				}
				return i
			case strings.HasPrefix(tag, rest): // more may come
				if i == 0 {
					return -1
				}
				return i
			}
		}
	}
	return len(w.held)
}

// ends are the tags that end calls.
var ends = []string{"</tool_call>", "</function>", "</invoke>", "</function_calls>", longestEnd}

const longestEnd = "</minimax:tool_call>"

// possible reports whether held may still become calls at the end of the answer: it begins like a call, and no text
// follows.
func (w *written) possible() bool {
	const longName = 200
	start := string(w.held[:min(len(w.held), longName)])
	if body, ok := strings.CutPrefix(start, "<tool_call>"); ok {
		if body = strings.TrimLeft(body, whitespace); body != "" && body[0] != '{' && body[0] != '<' && !w.named(body) {
			return false
		}
	}
	from := max(w.seen-len(longestEnd), 0) // a tag may have been split
	for _, tag := range ends {
		if i := bytes.LastIndex(w.held[from:], []byte(tag)); i >= 0 {
			w.ended = max(w.ended, from+i+len(tag))
		}
	}
	w.seen = len(w.held)
	rest := bytes.TrimLeft(w.held[w.ended:], whitespace)
	return w.ended == 0 || len(rest) == 0 || rest[0] == '<'
}

// named reports whether a text begins with the name of a tool, or with a part of one.
func (w *written) named(body string) bool {
	word := body
	if i := strings.IndexAny(body, whitespace+"<"); i >= 0 {
		return w.tools[body[:i]]
	}
	for name := range w.tools {
		if strings.HasPrefix(name, word) {
			return true
		}
	}
	return false
}

// rest returns the held text at the end of the answer: as calls if there are no others, otherwise as text.
func (w *written) rest(alone bool) ([]model.Call, string) {
	held := string(w.held)
	w.held, w.open = nil, false
	if !alone {
		return nil, held
	}
	calls, ok := readWritten(held)
	for _, c := range calls {
		ok = ok && w.tools[c.Name]
	}
	if !ok || len(calls) == 0 {
		return nil, held
	}
	return calls, ""
}

// readWritten reads a text that consists of calls.
func readWritten(s string) (calls []model.Call, ok bool) {
	for {
		s = strings.TrimLeft(s, whitespace)
		if s == "" {
			return calls, true
		}
		before := s
		for _, tag := range []string{"<function_calls>", "</function_calls>", "<minimax:tool_call>",
			"</minimax:tool_call>", "<tool_call>", "</tool_call>"} {
			s = strings.TrimPrefix(s, tag)
		}
		if s != before {
			if c, rest, ok := readNamed(before, s); ok {
				calls, s = append(calls, c), rest
			}
			continue
		}
		c, rest, ok := readOne(s)
		if !ok {
			return nil, false
		}
		calls, s = append(calls, c), rest
	}
}

// readOne reads one call that begins with JSON or with a tag that has the name.
func readOne(s string) (c model.Call, rest string, ok bool) {
	if s[0] == '{' {
		return readJSONCall(s)
	}
	head := callHead().FindStringSubmatch(s)
	if head == nil {
		return c, "", false
	}
	end := "</function>"
	if strings.HasPrefix(s, "<invoke") {
		end = "</invoke>"
	}
	s = strings.TrimLeft(s[len(head[0]):], whitespace)
	if strings.HasPrefix(s, "{") {
		d := json.NewDecoder(strings.NewReader(s))
		var args json.RawMessage
		if d.Decode(&args) != nil {
			return c, "", false
		}
		rest, ok = strings.CutPrefix(strings.TrimLeft(s[d.InputOffset():], whitespace), end)
		return newCall(head[1]+head[2], args), rest, ok
	}
	args := map[string]string{}
	for {
		s = strings.TrimLeft(s, whitespace)
		if rest, ok := strings.CutPrefix(s, end); ok {
			return stringCall(head[1]+head[2], args), rest, true
		}
		key := parameterHead().FindStringSubmatch(s)
		if key == nil {
			return c, "", false
		}
		s = s[len(key[0]):]
		n := parameterEnd().FindStringIndex(s)
		if n == nil {
			return c, "", false
		}
		args[key[1]+key[2]] = trimLine(s[:n[0]])
		s = s[n[0]+len("</parameter>"):]
	}
}

var (
	callHead      = lazy.Regexp(`^<function=([^<>\s]+)>|^<invoke name="([^"]+)">`)
	parameterHead = lazy.Regexp(`^<parameter=([^<>]+)>|^<parameter name="([^"]+)"[^>]*>`)
	// A value may contain the end tag itself: the right one is followed by another tag of the call.
	parameterEnd = lazy.Regexp(`</parameter>\s*(<parameter|</function>|</invoke>)`)
	namedHead    = lazy.Regexp(`^\s*([A-Za-z0-9_.-]+)\s*`)
	namedPair    = lazy.Regexp(`(?s)^\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
)

// readNamed reads GLM's form: the name, then keys and values in tags. It follows <tool_call> directly.
func readNamed(before, s string) (c model.Call, rest string, ok bool) {
	head := namedHead().FindStringSubmatch(s)
	if !strings.HasPrefix(before, "<tool_call>") || head == nil {
		return c, "", false
	}
	s = s[len(head[0]):]
	args := map[string]string{}
	for {
		pair := namedPair().FindStringSubmatch(s)
		if pair == nil {
			break
		}
		args[strings.TrimSpace(pair[1])] = pair[2]
		s = s[len(pair[0]):]
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(s, whitespace), "</tool_call>")
	return stringCall(head[1], args), rest, ok
}

// readJSONCall reads {"name":…,"arguments":…}. Some models write the arguments as a string, or use another key.
func readJSONCall(s string) (c model.Call, rest string, ok bool) {
	type function struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	var in struct {
		function
		Function *function `json:"function"`
	}
	d := json.NewDecoder(strings.NewReader(s))
	if d.Decode(&in) != nil {
		return c, "", false
	}
	f := in.function
	if in.Function != nil {
		f = *in.Function
	}
	args := f.Arguments
	if api.IsNull(args) {
		args = f.Parameters
	}
	if text := api.Scalar(args); text != "" {
		args = json.RawMessage(text)
	}
	return newCall(f.Name, args), s[d.InputOffset():], f.Name != ""
}

func newCall(name string, args json.RawMessage) model.Call {
	if api.IsNull(args) {
		args = json.RawMessage("{}")
	}
	return model.Call{Call: tool.Call{Name: name, Args: args}}
}

// stringCall returns a call whose arguments are all strings. Tools convert them by their schema.
func stringCall(name string, args map[string]string) model.Call {
	raw, err := api.Marshal(args)
	if err != nil {
		raw = nil // can't happen for strings
	}
	return newCall(name, raw)
}

// trimLine removes the line breaks around a value.
func trimLine(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(s, "\n"), "\n")
}
