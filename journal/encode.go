package journal

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// encode writes the data of an entry. Messages and outcomes are long and nested; encoding/json would copy and check their
// texts once for each level.
func encode(data Data) (json.RawMessage, error) {
	var e encoder
	switch d := data.(type) {
	case Message:
		if d.Kind != "" {
			e.key(`{"kind":`).text(string(d.Kind))
			e.key(`,"message":`).message(d.Message)
		} else {
			e.key(`{"message":`).message(d.Message)
		}
		e.key(`}`)
	case Called:
		e.key(`{`)
		if d.Turn != 0 {
			e.key(`"turn":`).int(int64(d.Turn)).key(`,`)
		}
		e.key(`"call":`).any(d.Call)
		e.key(`}`)
	case Finished:
		e.finished(d)
	case Answer:
		message := d.Message
		d.Message = model.Message{}
		e.any(d) // ends with the message
		const empty = `{"role":"","parts":[]}}`
		e.b = e.b[:len(e.b)-len(empty)]
		e.message(message)
		e.key(`}`)
	case Responses:
		e.key(`{"turn":`).int(int64(d.Turn)).key(`,"message":`).message(d.Message)
		e.key(`}`)
	default:
		return marshal(data)
	}
	return e.b, e.err
}

type encoder struct {
	b   []byte
	err error
}

func (e *encoder) key(s string) *encoder {
	e.b = append(e.b, s...)
	return e
}

func (e *encoder) int(n int64) *encoder {
	e.b = strconv.AppendInt(e.b, n, 10)
	return e
}

// any writes a value that is short.
func (e *encoder) any(v any) {
	raw, err := marshal(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.b = append(e.b, raw...)
}

func (e *encoder) message(m model.Message) {
	e.key(`{"role":`).text(string(m.Role))
	e.key(`,"parts":[`)
	for i, p := range m.Parts {
		if i > 0 {
			e.key(`,`)
		}
		switch p := p.(type) {
		case model.Text:
			e.key(`{"text":`).text(string(p))
		case model.Thought:
			e.key(`{"thought":`).text(string(p))
		case model.Response:
			e.key(`{"response":{"id":`).text(p.ID)
			e.key(`,"name":`).text(p.Name)
			e.key(`,"result":`).result(tool.Result{Content: p.Content})
			if p.IsError {
				e.key(`,"isError":true`)
			}
			if p.Denied {
				e.key(`,"denied":true`)
			}
			e.key(`}`)
		case model.Call:
			e.key(`{"call":`).any(p)
		case model.Sealed:
			e.key(`{"sealed":`).any(p)
		case model.Media:
			e.key(`{"media":{"mimeType":`).text(p.MIMEType)
			e.key(`,"data":`).any(p.Data)
			e.key(`}`)
		default:
			_, e.err = m.MarshalJSON() // returns the error
			return
		}
		e.key(`}`)
	}
	e.key(`]}`)
}

func (e *encoder) finished(d Finished) {
	e.key(`{"id":`).text(d.ID)
	e.key(`,"outcome":{"name":`).text(d.Outcome.Name)
	e.key(`,"status":`).text(string(d.Outcome.Status))
	e.key(`,"result":`).result(d.Outcome.Result)
	if d.Outcome.Error != nil {
		e.key(`,"error":`).any(d.Outcome.Error)
	}
	e.key(`,"ms":`).int(d.Outcome.MS).key(`}`)
	if len(d.Seen) > 0 {
		e.key(`,"seen":`).any(d.Seen)
	}
	if len(d.Changes) > 0 {
		e.key(`,"changes":`).any(d.Changes)
	}
	if len(d.Unsaved) > 0 {
		e.key(`,"unsaved":`).any(d.Unsaved)
	}
	if d.Running {
		e.key(`,"running":true`)
	}
	if len(d.Todos) > 0 {
		e.key(`,"todos":`).any(d.Todos)
	}
	if len(d.Jobs) > 0 {
		e.key(`,"jobs":`).any(d.Jobs)
	}
	e.key(`}`)
}

func (e *encoder) result(r tool.Result) {
	text, ok := "", len(r.Content) == 0
	if len(r.Content) == 1 {
		var t tool.Text
		t, ok = r.Content[0].(tool.Text)
		text = string(t)
	}
	if !ok {
		e.any(r)
		return
	}
	e.key(`{"llmContent":`).text(text)
	switch d := r.Display.(type) {
	case nil:
	case tool.Markdown:
		e.key(`,"returnDisplay":`).text(string(d))
	case tool.FileDiff:
		e.key(`,"returnDisplay":`).diff(d)
	default:
		raw, err := tool.MarshalDisplay(d)
		if err != nil && e.err == nil {
			e.err = err
		}
		e.key(`,"returnDisplay":`).any(raw)
	}
	e.key(`}`)
}

func (e *encoder) diff(d tool.FileDiff) {
	e.key(`{"fileDiff":`).text(d.Diff)
	e.key(`,"fileName":`).text(d.File)
	if d.Path != "" {
		e.key(`,"filePath":`).text(d.Path)
	}
	if d.Original == nil {
		e.key(`,"originalContent":null`)
	} else {
		e.key(`,"originalContent":`).text(*d.Original)
	}
	e.key(`,"newContent":`).text(d.New)
	if d.Stat != nil {
		e.key(`,"diffStat":`).any(d.Stat)
	}
	if len(d.Warnings) > 0 {
		e.key(`,"warnings":`).any(d.Warnings)
	}
	e.key(`}`)
}

const hexDigits = "0123456789abcdef"

// text writes a string as encoding/json does without HTML escapes.
func (e *encoder) text(s string) {
	b := append(e.b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(append(b, s[start:i]...), `\ufffd`...)
				start = i + n
			case r == '\u2028' || r == '\u2029':
				b = append(append(b, s[start:i]...), `\u202`...)
				b = append(b, hexDigits[r&15])
				start = i + n
			}
			i += n
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	e.b = append(append(b, s[start:]...), '"')
}
