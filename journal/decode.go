package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Most of a journal is messages and outcomes. A decoder reads them in the shape that this package writes; for any other
// shape it fails, and encoding/json decides.
type decoder struct{ failed bool }

// decode returns the data of an entry without references to the store.
func decode(t Type, raw json.RawMessage) (Data, error) {
	var d decoder
	var data Data
	switch t {
	case TypeMessage:
		data = d.entryMessage(raw)
	case TypeCalled:
		data = d.called(raw)
	case TypeFinished:
		data = d.finished(raw)
	case TypeAnswer:
		data = d.answer(raw)
	case TypeResponses:
		data = d.responses(raw)
	case TypeCompacted:
		data = d.compacted(raw)
	default:
		return decodeSlowly(t, raw)
	}
	if d.failed {
		return decodeSlowly(t, raw)
	}
	return data, nil
}

// fields calls f with each member of an object.
func (d *decoder) fields(raw []byte, f func(key, v []byte)) {
	ok := members(raw, func(key, v []byte) bool {
		f(key, v)
		return !d.failed
	})
	d.failed = d.failed || !ok
}

func (d *decoder) text(raw []byte) string {
	s, ok := text(raw)
	if !ok || !utf8.ValidString(s) {
		d.failed = true
	}
	return s
}

func (d *decoder) int(raw []byte) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	d.failed = d.failed || err != nil
	return n
}

func (d *decoder) bool(raw []byte) bool {
	if string(raw) != "true" {
		d.failed = true
	}
	return true
}

// slow decodes a value that is rare or short.
func (d *decoder) slow(raw []byte, v any) {
	if json.Unmarshal(raw, v) != nil {
		d.failed = true
	}
}

func (d *decoder) entryMessage(raw []byte) (out Message) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"kind"`:
			out.Kind = MessageKind(d.text(v))
		case `"message"`:
			out.Message = d.message(v)
		}
	})
	return out
}

func (d *decoder) called(raw []byte) (out Called) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"turn"`:
			out.Turn = int(d.int(v))
		case `"call"`:
			out.Call = d.call(v)
		}
	})
	return out
}

func (d *decoder) answer(raw []byte) (out Answer) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"turn"`:
			out.Turn = int(d.int(v))
		case `"turns"`:
			out.Turns = int(d.int(v))
		case `"model"`:
			out.Model = d.text(v)
		case `"usage"`:
			d.slow(v, &out.Usage)
		case `"reason"`:
			out.Reason = model.Reason(d.text(v))
		case `"ms"`:
			out.MS = d.int(v)
		case `"error"`:
			out.Error = d.text(v)
		case `"message"`:
			out.Message = d.message(v)
		}
	})
	return out
}

func (d *decoder) responses(raw []byte) (out Responses) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"turn"`:
			out.Turn = int(d.int(v))
		case `"message"`:
			out.Message = d.message(v)
		}
	})
	return out
}

func (d *decoder) compacted(raw []byte) (out Compacted) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"snapshot"`:
			d.slow(v, &out.Snapshot)
		case `"messages"`:
			if string(v) == "null" {
				return
			}
			ok := elements(v, func(m []byte) bool {
				out.Messages = append(out.Messages, d.message(m))
				return !d.failed
			})
			d.failed = d.failed || !ok
		}
	})
	return out
}

func (d *decoder) message(raw []byte) (out model.Message) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"role"`:
			out.Role = model.Role(d.text(v))
		case `"parts"`:
			ok := elements(v, func(p []byte) bool {
				out.Parts = append(out.Parts, d.part(p))
				return !d.failed
			})
			d.failed = d.failed || !ok
		}
	})
	return out
}

func (d *decoder) part(raw []byte) (out model.Part) {
	d.fields(raw, func(key, v []byte) {
		if out != nil {
			d.failed = true // the order of encoding/json decides
			return
		}
		switch string(key) {
		case `"text"`:
			out = model.Text(d.text(v))
		case `"thought"`:
			out = model.Thought(d.text(v))
		case `"call"`:
			out = d.call(v)
		case `"response"`:
			out = d.response(v)
		case `"media"`:
			out = model.Media{Media: d.media(v)}
		case `"sealed"`:
			var s model.Sealed
			d.slow(v, &s)
			out = s
		}
	})
	d.failed = d.failed || out == nil
	return out
}

func (d *decoder) call(raw []byte) (out model.Call) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"id"`:
			out.ID = d.text(v)
		case `"name"`:
			out.Name = d.text(v)
		case `"args"`:
			out.Args = bytes.Clone(v)
		case `"said"`:
			out.Args = json.RawMessage(d.text(v))
		case `"by"`:
			out.By = d.text(v)
		}
	})
	return out
}

func (d *decoder) response(raw []byte) (out model.Response) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"id"`:
			out.ID = d.text(v)
		case `"name"`:
			out.Name = d.text(v)
		case `"result"`:
			out.Content = d.result(v).Content
		case `"isError"`:
			out.IsError = d.bool(v)
		}
	})
	return out
}

func (d *decoder) media(raw []byte) (out tool.Media) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"mimeType"`:
			out.MIMEType = d.text(v)
		case `"data"`:
			b, err := base64.StdEncoding.DecodeString(d.text(v))
			d.failed = d.failed || err != nil
			out.Data = b
		}
	})
	return out
}

func (d *decoder) finished(raw []byte) (out Finished) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"id"`:
			out.ID = d.text(v)
		case `"outcome"`:
			out.Outcome = d.outcome(v)
		case `"seen"`:
			d.slow(v, &out.Seen)
		case `"changes"`:
			d.slow(v, &out.Changes)
		case `"todos"`:
			out.Todos = bytes.Clone(v)
		}
	})
	return out
}

func (d *decoder) outcome(raw []byte) (out Outcome) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"name"`:
			out.Name = d.text(v)
		case `"status"`:
			out.Status = tool.Status(d.text(v))
		case `"result"`:
			out.Result = d.result(v)
		case `"error"`:
			d.slow(v, &out.Error)
		case `"ms"`:
			out.MS = d.int(v)
		}
	})
	return out
}

func (d *decoder) result(raw []byte) (out tool.Result) {
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"llmContent"`:
			out.Content = d.content(v)
		case `"returnDisplay"`:
			out.Display = d.display(v)
		}
	})
	return out
}

func (d *decoder) content(raw []byte) (out []tool.Part) {
	switch {
	case string(raw) == `""`:
	case raw[0] == '"':
		out = []tool.Part{tool.Text(d.text(raw))}
	default:
		ok := elements(raw, func(p []byte) bool {
			if p[0] == '"' {
				out = append(out, tool.Text(d.text(p)))
				return !d.failed
			}
			n := 0
			d.fields(p, func(key, v []byte) {
				if n++; string(key) != `"inlineData"` || n > 1 {
					d.failed = true
					return
				}
				out = append(out, d.media(v))
			})
			return !d.failed
		})
		d.failed = d.failed || !ok
	}
	return out
}

func (d *decoder) display(raw []byte) tool.Display {
	if raw[0] == '"' {
		return tool.Markdown(d.text(raw))
	}
	if !bytes.HasPrefix(raw, []byte(`{"fileDiff":"`)) {
		var r tool.Result
		d.slow([]byte(`{"llmContent":"","returnDisplay":`+string(raw)+`}`), &r)
		return r.Display
	}
	var out tool.FileDiff
	d.fields(raw, func(key, v []byte) {
		switch string(key) {
		case `"fileDiff"`:
			out.Diff = d.text(v)
		case `"fileName"`:
			out.File = d.text(v)
		case `"filePath"`:
			out.Path = d.text(v)
		case `"originalContent"`:
			if string(v) != "null" {
				s := d.text(v)
				out.Original = &s
			}
		case `"newContent"`:
			out.New = d.text(v)
		case `"diffStat"`:
			d.slow(v, &out.Stat)
		case `"warnings"`:
			d.slow(v, &out.Warnings)
		}
	})
	return out
}
