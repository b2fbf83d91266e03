package discover

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// result turns the answer of a server into a result. Most servers say what is structured as text too, whole, in pieces,
// or wrapped; only what the text does not say is added to it, as JSON.
func result(res *mcp.CallToolResult) tool.Result {
	content := parts(res.Content)
	if res.StructuredContent == nil {
		return tool.Result{Content: content}
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil { // it came from JSON
		return tool.Result{Content: content}
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return tool.Result{Content: content}
	}
	rest, left := heard(content).untold(value)
	if !left {
		return tool.Result{Content: content}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(rest) != nil {
		return tool.Result{Content: content}
	}
	return tool.Result{Content: append(content, tool.Text(strings.TrimRight(b.String(), "\n")))}
}

// words are what the text of a result says.
type words struct {
	blocks map[string]bool // whole texts, without blanks around them
	values []any           // texts that are JSON
	all    string
	effort int // that may still be spent on comparing; then all is reported
}

// mostEffort bounds what a hostile answer of many small values beside a long text costs: some tenths of a second.
const mostEffort = 1 << 28

func heard(content []tool.Part) *words {
	s := &words{blocks: map[string]bool{}, effort: mostEffort}
	var all []string
	for _, p := range content {
		t, ok := p.(tool.Text)
		if !ok {
			continue
		}
		text := strings.TrimSpace(string(t))
		s.blocks[text] = true
		all = append(all, text)
		var v any
		if text != "" && strings.ContainsRune(`{["-0123456789tfn`, rune(text[0])) && json.Unmarshal([]byte(text), &v) == nil {
			s.values = append(s.values, v)
		}
	}
	s.all = strings.Join(all, "\n")
	return s
}

// untold is what is left of a value when all that was said is taken out, and whether anything is.
func (s *words) untold(v any) (rest any, left bool) {
	if s.effort -= 100 * len(s.values); s.effort > 0 {
		for _, told := range s.values {
			if reflect.DeepEqual(v, told) {
				return nil, false
			}
		}
	}
	switch v := v.(type) {
	case nil:
		return nil, false
	case string:
		return v, !s.saysText(v)
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if s.saysMember(key, member) {
				continue
			}
			if rest, left := s.untold(member); left {
				out[key] = rest
			}
		}
		return out, len(out) > 0
	case []any:
		return s.untoldList(v)
	}
	return v, true
}

// untoldList keeps the places of a list's elements: one that was said is null.
func (s *words) untoldList(list []any) (any, bool) {
	out, any := make([]any, len(list)), false
	for i, element := range list {
		if rest, left := s.untold(element); left {
			out[i], any = rest, true
		}
	}
	return out, any
}

// leastQuote is how long a text must be to count as said where it stands within another: "ok" is in "look".
const leastQuote = 16

func (s *words) saysText(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || s.blocks[text] {
		return true
	}
	if bare := unfenced(text); bare != text {
		return s.saysText(bare)
	}
	if len(text) < leastQuote {
		return false
	}
	s.effort -= len(s.all)
	return s.effort > 0 && strings.Contains(s.all, text)
}

// unfenced is a text without the fence of Markdown around it.
func unfenced(text string) string {
	fence := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	first, rest, many := strings.Cut(text, "\n")
	if len(fence) < 3 || !many || strings.Contains(first[len(fence):], "`") {
		return text
	}
	body, ok := strings.CutSuffix(rest, fence)
	if !ok {
		return text
	}
	return strings.TrimSpace(body)
}

// saysMember reports whether a text that is an object has this very member.
func (s *words) saysMember(key string, value any) bool {
	for _, told := range s.values {
		if object, ok := told.(map[string]any); ok {
			if other, ok := object[key]; ok && reflect.DeepEqual(value, other) {
				return true
			}
		}
	}
	return false
}
