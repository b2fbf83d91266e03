package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Most of a journal is messages and outcomes. A decoder reads them in one pass, in the format that this package writes. For
// any other format it fails, and encoding/json is used.
type decoder struct {
	b      []byte
	i      int // what is before it is read
	failed bool
}

// decode returns the data of an entry without references to the store.
func decode(t Type, raw json.RawMessage) (Data, error) {
	d := decoder{b: raw}
	var data Data
	switch t {
	case TypeMessage:
		data = d.entryMessage()
	case TypeCalled:
		data = d.called()
	case TypeFinished:
		data = d.finished(true)
	case TypeAsked:
		data = d.asked()
	case TypeAnswer:
		data = d.answer()
	case TypeResponses:
		data = d.responses()
	case TypeCompacted:
		data = d.compacted()
	default:
		return decodeSlowly(t, raw)
	}
	if d.failed || d.i != len(raw) {
		return decodeSlowly(t, raw)
	}
	return data, nil
}

// next skips whitespace, and reports whether c is the next character. It skips that too.
func (d *decoder) next(c byte) bool {
	d.i = space(d.b, d.i)
	if d.i < len(d.b) && d.b[d.i] == c {
		d.i++
		return true
	}
	return false
}

// peek returns the next character; 0 at the end.
func (d *decoder) peek() byte {
	if d.i = space(d.b, d.i); d.i < len(d.b) {
		return d.b[d.i]
	}
	return 0
}

// raw returns the next value.
func (d *decoder) raw() []byte {
	d.i = space(d.b, d.i)
	end, ok := valueEnd(d.b, d.i, 0)
	if !ok {
		d.failed = true
		return nil
	}
	v := d.b[d.i:end]
	d.i = end
	return v
}

// fields calls f with each key of an object, in quotes. f reads the value.
func (d *decoder) fields(f func(key []byte)) {
	if d.failed = d.failed || !d.next('{'); d.failed || d.next('}') {
		return
	}
	for {
		d.i = space(d.b, d.i)
		end, ok := stringEnd(d.b, d.i)
		key := d.b[d.i:end]
		if d.i = end; !ok || !d.next(':') {
			d.failed = true
			return
		}
		if f(key); d.failed || d.next('}') {
			return
		}
		if !d.next(',') {
			d.failed = true
			return
		}
	}
}

// each calls f for each element of an array. f reads it.
func (d *decoder) each(f func()) {
	if d.failed = d.failed || !d.next('['); d.failed || d.next(']') {
		return
	}
	for {
		if f(); d.failed || d.next(']') {
			return
		}
		if !d.next(',') {
			d.failed = true
			return
		}
	}
}

func (d *decoder) text() string {
	d.i = space(d.b, d.i)
	end, ok := stringEnd(d.b, d.i)
	if !ok {
		d.failed = true
		return ""
	}
	in := d.b[d.i+1 : end-1]
	d.i = end
	n := bytes.IndexByte(in, '\\')
	if n < 0 {
		d.failed = d.failed || !utf8.Valid(in)
		return string(in)
	}
	var out strings.Builder
	out.Grow(len(in)) // slightly more than needed
	from := 0
	for i := n; i < len(in); i++ {
		if in[i] != '\\' {
			continue
		}
		r, size := escape(in[i:])
		if size == 0 {
			d.failed = true
			return ""
		}
		out.Write(in[from:i])
		if r < utf8.RuneSelf {
			out.WriteByte(byte(r))
		} else {
			out.WriteRune(r)
		}
		from = i + size
		i = from - 1
	}
	out.Write(in[from:])
	s := out.String()
	d.failed = d.failed || !utf8.ValidString(s)
	return s
}

func (d *decoder) int() int64 {
	n, err := strconv.ParseInt(string(d.raw()), 10, 64)
	d.failed = d.failed || err != nil
	return n
}

func (d *decoder) bool() bool {
	if string(d.raw()) != "true" {
		d.failed = true
	}
	return true
}

// slow decodes a value that is rare or short.
func (d *decoder) slow(v any) {
	if raw := d.raw(); !d.failed && json.Unmarshal(raw, v) != nil {
		d.failed = true
	}
}

func (d *decoder) entryMessage() (out Message) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"kind"`:
			out.Kind = MessageKind(d.text())
		case `"message"`:
			out.Message = d.message()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) called() (out Called) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"turn"`:
			out.Turn = int(d.int())
		case `"call"`:
			out.Call = d.call()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) asked() (out Asked) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"turn"`:
			out.Turn = int(d.int())
		case `"model"`:
			out.Model = d.text()
		case `"declared"`:
			d.slow(&out.Declared)
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) usage() (out model.Usage) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"input"`:
			out.Input = int(d.int())
		case `"output"`:
			out.Output = int(d.int())
		case `"cacheRead"`:
			out.CacheRead = int(d.int())
		case `"cacheCreation"`:
			out.CacheCreation = int(d.int())
		case `"reasoning"`:
			out.Reasoning = int(d.int())
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) answer() (out Answer) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"turn"`:
			out.Turn = int(d.int())
		case `"turns"`:
			out.Turns = int(d.int())
		case `"model"`:
			out.Model = d.text()
		case `"usage"`:
			out.Usage = d.usage()
		case `"reason"`:
			out.Reason = model.Reason(d.text())
		case `"ms"`:
			out.MS = d.int()
		case `"error"`:
			out.Error = d.text()
		case `"message"`:
			out.Message = d.message()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) responses() (out Responses) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"turn"`:
			out.Turn = int(d.int())
		case `"message"`:
			out.Message = d.message()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) compacted() (out Compacted) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"turns"`:
			out.Turns = int(d.int())
		case `"model"`:
			out.Model = d.text()
		case `"snapshot"`:
			d.slow(&out.Snapshot)
		case `"messages"`:
			if d.peek() == 'n' {
				d.raw()
				return
			}
			d.each(func() { out.Messages = append(out.Messages, d.message()) })
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) message() (out model.Message) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"role"`:
			out.Role = model.Role(d.text())
		case `"parts"`:
			d.each(func() { out.Parts = append(out.Parts, d.part()) })
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) part() (out model.Part) {
	d.fields(func(key []byte) {
		if out != nil {
			d.failed = true // leave the order to encoding/json
			return
		}
		switch string(key) {
		case `"text"`:
			out = model.Text(d.text())
		case `"thought"`:
			out = model.Thought(d.text())
		case `"call"`:
			out = d.call()
		case `"response"`:
			out = d.response()
		case `"media"`:
			out = model.Media{Media: d.media()}
		case `"sealed"`:
			var s model.Sealed
			d.slow(&s)
			out = s
		default:
			d.raw()
		}
	})
	d.failed = d.failed || out == nil
	return out
}

func (d *decoder) call() (out model.Call) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"id"`:
			out.ID = d.text()
		case `"name"`:
			out.Name = d.text()
		case `"args"`:
			out.Args = bytes.Clone(d.raw())
		case `"said"`:
			out.Args = json.RawMessage(d.text())
		case `"by"`:
			out.By = d.text()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) response() (out model.Response) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"id"`:
			out.ID = d.text()
		case `"name"`:
			out.Name = d.text()
		case `"result"`:
			out.Content = d.result().Content
		case `"isError"`:
			out.IsError = d.bool()
		case `"denied"`:
			out.Denied = d.bool()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) media() (out tool.Media) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"mimeType"`:
			out.MIMEType = d.text()
		case `"data"`:
			b, err := base64.StdEncoding.DecodeString(d.text())
			d.failed = d.failed || err != nil
			out.Data = b
		default:
			d.raw()
		}
	})
	return out
}

// finished decodes the outcome only if requested.
func (d *decoder) finished(outcome bool) (out Finished) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"id"`:
			out.ID = d.text()
		case `"outcome"`:
			if !outcome {
				d.raw()
				return
			}
			out.Outcome = d.outcome()
		case `"seen"`:
			d.each(func() { out.Seen = append(out.Seen, d.seen()) })
		case `"changes"`:
			d.slow(&out.Changes)
		case `"unsaved"`:
			d.slow(&out.Unsaved)
		case `"running"`:
			out.Running = d.bool()
		case `"todos"`:
			out.Todos = bytes.Clone(d.raw())
		case `"jobs"`:
			d.slow(&out.Jobs)
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) seen() (out Seen) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"path"`:
			out.Path = d.text()
		case `"hash"`:
			out.Hash = d.text()
		case `"lines"`:
			out.Lines = int(d.int())
		case `"whole"`:
			out.Whole = d.bool()
		case `"opaque"`:
			out.Opaque = d.bool()
		case `"read"`:
			d.slow(&out.Read)
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) outcome() (out Outcome) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"name"`:
			out.Name = d.text()
		case `"status"`:
			out.Status = tool.Status(d.text())
		case `"result"`:
			out.Result = d.result()
		case `"error"`:
			d.slow(&out.Error)
		case `"ms"`:
			out.MS = d.int()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) result() (out tool.Result) {
	d.fields(func(key []byte) {
		switch string(key) {
		case `"llmContent"`:
			out.Content = d.content()
		case `"returnDisplay"`:
			out.Display = d.display()
		default:
			d.raw()
		}
	})
	return out
}

func (d *decoder) content() (out []tool.Part) {
	one := func() {
		if d.peek() == '"' {
			out = append(out, tool.Text(d.text()))
			return
		}
		n := 0
		d.fields(func(key []byte) {
			if n++; string(key) != `"inlineData"` || n > 1 {
				d.failed = true
				return
			}
			out = append(out, d.media())
		})
	}
	if d.peek() != '"' {
		d.each(one)
		return out
	}
	if one(); len(out) == 1 && out[0] == tool.Text("") {
		return nil
	}
	return out
}

func (d *decoder) display() tool.Display {
	if d.peek() == '"' {
		return tool.Markdown(d.text())
	}
	if !bytes.HasPrefix(d.b[d.i:], []byte(`{"fileDiff":"`)) {
		var r tool.Result
		if err := json.Unmarshal([]byte(`{"llmContent":"","returnDisplay":`+string(d.raw())+`}`), &r); err != nil {
			d.failed = true
		}
		return r.Display
	}
	var out tool.FileDiff
	d.fields(func(key []byte) {
		switch string(key) {
		case `"fileDiff"`:
			out.Diff = d.text()
		case `"fileName"`:
			out.File = d.text()
		case `"filePath"`:
			out.Path = d.text()
		case `"originalContent"`:
			if d.peek() == 'n' {
				d.raw()
				return
			}
			s := d.text()
			out.Original = &s
		case `"newContent"`:
			out.New = d.text()
		case `"diffStat"`:
			d.slow(&out.Stat)
		case `"warnings"`:
			d.slow(&out.Warnings)
		default:
			d.raw()
		}
	})
	return out
}
