package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// These structs describe types of packages model and tool, as those write them.
type (
	messageForm struct {
		Role  model.Role   `json:"role"`
		Parts []model.Part `json:"parts"`
	}
	callForm struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
		Said *string         `json:"said,omitempty"` // arguments that aren't JSON
		By   string          `json:"by,omitempty"`
	}
	responseForm struct {
		ID      string     `json:"id"`
		Name    string     `json:"name"`
		Content resultOnly `json:"result"`
		IsError bool       `json:"isError,omitempty"`
		Denied  bool       `json:"denied,omitempty"`
	}
	resultOnly []tool.Part // a result without a display
	mediaForm  struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	resultForm struct {
		Content []tool.Part  `json:"llmContent"`
		Display tool.Display `json:"returnDisplay,omitempty"`
		Compare string       `json:"-"`
		Output  string       `json:"-"`
		Exit    int          `json:"-"`
		Missed  []string     `json:"-"`
		Hosts   []tool.Host  `json:"hosts,omitempty"`
	}
	diffForm struct {
		Diff     string         `json:"fileDiff"`
		File     string         `json:"fileName"`
		Path     string         `json:"filePath,omitempty"`
		Original *string        `json:"originalContent"`
		New      string         `json:"newContent"`
		Stat     *tool.DiffStat `json:"diffStat,omitempty"`
		Warnings []string       `json:"warnings,omitempty"`

		Files []tool.FileDiff `json:"-"`
	}
)

// newForms returns the forms of types that their tags don't describe.
func newForms() forms {
	b := forms{}
	b[reflect.TypeFor[json.RawMessage]()] = &form{
		func(e *encoder, v reflect.Value) { e.raw(v.Bytes(), nil) },
		func(d *decoder, v reflect.Value) { v.SetBytes(bytes.Clone(d.raw())) },
	}
	b[reflect.TypeFor[[]byte]()] = &form{
		orNull(func(e *encoder, v reflect.Value) {
			e.b = append(base64.StdEncoding.AppendEncode(append(e.b, '"'), v.Bytes()), '"')
		}),
		func(d *decoder, v reflect.Value) {
			data, err := base64.StdEncoding.DecodeString(d.text())
			if v.SetBytes(data); err != nil {
				d.fail("no base64 before it")
			}
		},
	}
	b.same(tool.Media{}, mediaForm(tool.Media{}))
	b.same(tool.FileDiff{}, diffForm(tool.FileDiff{}))
	b.content()
	b.display()
	b.same(tool.Result{}, resultForm(tool.Result{}))
	as(b, func(c model.Call) callForm {
		out := callForm{ID: c.ID, Name: c.Name, Args: c.Args, By: c.By}
		if len(c.Args) > 0 && !json.Valid(c.Args) {
			said := string(c.Args)
			out.Args, out.Said = nil, &said
		}
		return out
	}, func(c callForm) model.Call {
		if c.Said != nil {
			c.Args = json.RawMessage(*c.Said)
		}
		return model.Call{Call: tool.Call{ID: c.ID, Name: c.Name, Args: c.Args, By: c.By}}
	})
	b.same(model.Response{}, responseForm{})
	media := b.of(reflect.TypeFor[tool.Media]())
	b[reflect.TypeFor[model.Media]()] = &form{
		func(e *encoder, v reflect.Value) { media.write(e, v.Field(0)) },
		func(d *decoder, v reflect.Value) { media.read(d, v.Field(0)) },
	}
	b.parts()
	b.same(model.Message{}, messageForm(model.Message{}))
	outcome := b.object(reflect.TypeFor[Outcome]())
	b[reflect.TypeFor[Outcome]()] = &form{outcome.write, func(d *decoder, v reflect.Value) {
		if d.partial {
			d.raw()
			return
		}
		outcome.read(d, v)
	}}
	return b
}

// same makes the form of a struct from that of one that has the same fields, with tags.
func (b forms) same(t, tagged any) { b[reflect.TypeOf(t)] = b.of(reflect.TypeOf(tagged)) }

// as makes the form of T from that of F.
func as[T, F any](b forms, to func(T) F, from func(F) T) {
	f := b.of(reflect.TypeFor[F]())
	b[reflect.TypeFor[T]()] = &form{
		func(e *encoder, v reflect.Value) { f.write(e, reflect.ValueOf(to(v.Interface().(T)))) },
		func(d *decoder, v reflect.Value) {
			var in F
			f.read(d, reflect.ValueOf(&in).Elem())
			*v.Addr().Interface().(*T) = from(in)
		},
	}
}

// parts makes the form of the parts of a message: each is an object with one member, named after its type.
func (b forms) parts() {
	names, types := map[reflect.Type]string{}, map[string]boxForm{}
	for name, p := range map[string]model.Part{
		`"text"`: model.Text(""), `"thought"`: model.Thought(""), `"call"`: model.Call{}, `"sealed"`: model.Sealed{},
		`"response"`: model.Response{}, `"media"`: model.Media{},
	} {
		t := reflect.TypeOf(p)
		names[t], types[name] = name, b.box(t)
	}
	b[reflect.TypeFor[model.Part]()] = &form{
		func(e *encoder, v reflect.Value) {
			v = v.Elem()
			name := names[v.Type()]
			if name == "" {
				e.raw(nil, fmt.Errorf("a part of unknown type %s", v.Type()))
				return
			}
			e.b = append(append(append(e.b, '{'), name...), ':')
			types[name].write(e, v)
			e.b = append(e.b, '}')
		},
		func(d *decoder, v reflect.Value) {
			out := v.Addr().Interface().(*model.Part)
			for more := d.begin('{', '}'); more; more = d.another('}') {
				if f, ok := types[string(d.key())]; ok && *out == nil && d.peek() != 'n' {
					*out = f.read(d).(model.Part)
				} else {
					d.raw()
				}
			}
			if *out == nil {
				d.fail("an unknown part of a message before it")
			}
		},
	}
	t := reflect.TypeFor[[]model.Part]()
	list := b.list(t)
	b[t] = &form{func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			v = reflect.ValueOf([]model.Part{})
		}
		list.write(e, v)
	}, list.read}
}

// content makes the form of a result's content: a string, or an array of strings and media.
func (b forms) content() {
	type media struct {
		InlineData tool.Media `json:"inlineData"`
		Text       *string    `json:"text,omitempty"`
	}
	object := b.of(reflect.TypeFor[media]())
	read := func(d *decoder) tool.Part {
		if d.peek() == '"' {
			return tool.Text(d.text())
		}
		var in media
		if object.read(d, reflect.ValueOf(&in).Elem()); in.Text != nil {
			return tool.Text(*in.Text)
		}
		return in.InlineData
	}
	b[reflect.TypeFor[tool.Part]()] = &form{
		func(e *encoder, v reflect.Value) {
			if t, ok := v.Interface().(tool.Text); ok {
				e.b = appendText(e.b, string(t))
				return
			}
			m := v.Interface().(tool.Media)
			if m.Data == nil {
				m.Data = []byte{}
			}
			object.write(e, reflect.ValueOf(media{InlineData: m}))
		},
		func(d *decoder, v reflect.Value) { *v.Addr().Interface().(*tool.Part) = read(d) },
	}
	t := reflect.TypeFor[[]tool.Part]()
	list := b.list(t)
	b[t] = &form{
		func(e *encoder, v reflect.Value) {
			parts := v.Interface().([]tool.Part)
			if len(parts) == 0 {
				parts = []tool.Part{tool.Text("")}
			}
			if text, ok := parts[0].(tool.Text); ok && len(parts) == 1 {
				e.b = appendText(e.b, string(text))
				return
			}
			list.write(e, v)
		},
		func(d *decoder, v reflect.Value) {
			if d.peek() == '[' {
				list.read(d, v)
			} else if p := read(d); p != tool.Text("") {
				*v.Addr().Interface().(*[]tool.Part) = []tool.Part{p}
			}
		},
	}
	content := b[t]
	b[reflect.TypeFor[resultOnly]()] = &form{
		func(e *encoder, v reflect.Value) {
			e.b = append(e.b, `{"llmContent":`...)
			content.write(e, v)
			e.b = append(e.b, '}')
		},
		func(d *decoder, v reflect.Value) {
			for more := d.begin('{', '}'); more; more = d.another('}') {
				if string(d.key()) == `"llmContent"` {
					d.value(content, v)
				} else {
					d.raw()
				}
			}
		},
	}
}

// display makes the form of a display.
func (b forms) display() {
	t := reflect.TypeFor[tool.FileDiff]()
	b[reflect.TypeFor[tool.Display]()] = &form{
		func(e *encoder, v reflect.Value) {
			switch d := v.Interface().(tool.Display).(type) {
			case tool.Markdown:
				e.b = appendText(e.b, string(d))
			case tool.FileDiff:
				b[t].write(e, v.Elem())
			default:
				e.raw(tool.MarshalDisplay(d))
			}
		},
		func(d *decoder, v reflect.Value) {
			out := v.Addr().Interface().(*tool.Display)
			switch {
			case d.peek() == '"':
				*out = tool.Markdown(d.text())
			case bytes.HasPrefix(d.b[d.i:], []byte(`{"fileDiff":"`)):
				var diff tool.FileDiff
				b[t].read(d, reflect.ValueOf(&diff).Elem())
				*out = diff
			default:
				if raw := d.raw(); d.err == nil {
					*out, d.err = tool.UnmarshalDisplay(raw)
				}
			}
		},
	}
}
