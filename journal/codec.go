package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// The tags of the structs in data.go describe the data of entries, and the structs in forms.go that of other packages'
// types. A form reads and writes one type by its description. It is much faster than encoding/json, which copies and
// checks the texts of messages and outcomes once for each level, and writes the same bytes.
type form struct {
	write func(*encoder, reflect.Value)
	read  func(*decoder, reflect.Value)
}

// forms has the form of each type.
type forms map[reflect.Type]*form

// entryForms returns the forms of data, by type of entry.
var entryForms = sync.OnceValue(func() map[Type]boxForm {
	all, b := map[Type]boxForm{}, newForms()
	for _, d := range []Data{
		Opened{}, Resumed{}, Message{}, Called{}, Tried{}, Started{}, Finished{}, Asked{}, Answer{}, Responses{},
		Mode{}, Model{}, Named{},
		Compacted{}, Changed{}, Undone{}, Closed{},
	} {
		all[d.Type()] = b.box(reflect.TypeOf(d))
	}
	return all
})

// boxForm is the form of a type whose values are in interfaces.
type boxForm struct {
	*form
	t     reflect.Type
	spare *sync.Pool // of pointers to values: each value is allocated once, for its interface
}

func (b forms) box(t reflect.Type) boxForm {
	return boxForm{b.of(t), t, &sync.Pool{New: func() any { return reflect.New(t).Interface() }}}
}

func (f boxForm) read(d *decoder) any {
	p := f.spare.Get()
	defer f.spare.Put(p)
	v := reflect.ValueOf(p).Elem()
	v.SetZero()
	d.value(f.form, v)
	return v.Interface()
}

// encode writes the data of an entry.
func encode(data Data) (json.RawMessage, error) {
	f := entryForms()[data.Type()]
	if reflect.TypeOf(data) != f.t {
		return humanize.JSON(data) // a type of another package
	}
	var e encoder
	f.write(&e, reflect.ValueOf(data))
	return e.b, e.err
}

// decode returns the data of an entry without references to the store; nil for an unknown type.
func decode(t Type, raw json.RawMessage) (Data, error) {
	return (&decoder{b: raw}).entry(t)
}

func (d *decoder) entry(t Type) (Data, error) {
	f, ok := entryForms()[t]
	if !ok {
		return nil, nil
	}
	data := f.read(d).(Data)
	if d.i = space(d.b, d.i); d.err == nil && d.i != len(d.b) {
		d.fail("more than one value")
	}
	if d.err != nil {
		return nil, d.err
	}
	return data, nil
}

// of returns the form of a type.
func (b forms) of(t reflect.Type) *form {
	if f := b[t]; f != nil {
		return f
	}
	f := b.form(t)
	b[t] = f
	return f
}

func (b forms) form(t reflect.Type) *form {
	switch kind := t.Kind(); {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case kind == reflect.String:
		return &form{
			func(e *encoder, v reflect.Value) { e.b = appendText(e.b, v.String()) },
			func(d *decoder, v reflect.Value) { v.SetString(d.text()) },
		}
	case kind == reflect.Int || kind == reflect.Int64:
		return &form{
			func(e *encoder, v reflect.Value) { e.b = strconv.AppendInt(e.b, v.Int(), 10) },
			func(d *decoder, v reflect.Value) { v.SetInt(d.int(t.Bits())) },
		}
	case kind == reflect.Bool:
		return &form{
			func(e *encoder, v reflect.Value) { e.b = strconv.AppendBool(e.b, v.Bool()) },
			func(d *decoder, v reflect.Value) { v.SetBool(d.bool()) },
		}
	case kind == reflect.Struct:
		return b.object(t)
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return b.list(t)
	case kind == reflect.Pointer:
		elem := b.of(t.Elem())
		return &form{
			orNull(func(e *encoder, v reflect.Value) { elem.write(e, v.Elem()) }),
			func(d *decoder, v reflect.Value) {
				v.Set(reflect.New(t.Elem()))
				elem.read(d, v.Elem())
			},
		}
	}
	return &form{ // a type that is rare or short
		func(e *encoder, v reflect.Value) {
			raw, err := humanize.JSON(v.Interface())
			e.raw(raw, err)
		},
		func(d *decoder, v reflect.Value) {
			if raw := d.raw(); d.err == nil {
				d.err = json.Unmarshal(raw, v.Addr().Interface())
			}
		},
	}
}

// orNull writes null for a nil pointer or slice.
func orNull(write func(*encoder, reflect.Value)) func(*encoder, reflect.Value) {
	return func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			e.b = append(e.b, "null"...)
			return
		}
		write(e, v)
	}
}

// list returns the form of a slice.
func (b forms) list(t reflect.Type) *form {
	elem := b.of(t.Elem())
	return &form{
		orNull(func(e *encoder, v reflect.Value) {
			e.b = append(e.b, '[')
			for i := range v.Len() {
				if i > 0 {
					e.b = append(e.b, ',')
				}
				elem.write(e, v.Index(i))
			}
			e.b = append(e.b, ']')
		}),
		func(d *decoder, v reflect.Value) {
			v.SetZero()
			for more := d.begin('[', ']'); more; more = d.another(']') {
				v.Grow(1)
				v.SetLen(v.Len() + 1)
				d.value(elem, v.Index(v.Len()-1))
			}
			if v.IsNil() {
				v.Set(reflect.MakeSlice(t, 0, 0))
			}
		},
	}
}

// member is a member of an object.
type member struct {
	name  string // with quotes
	index int    // of the field
	omit  bool   // if it is empty
	*form
}

// object returns the form of a struct by its tags. See [Extra].
func (b forms) object(t reflect.Type) *form {
	var all []member
	extra := -1
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == reflect.TypeFor[Extra]():
			extra = i
		case name != "" && name != "-":
			all = append(all, member{`"` + name + `"`, i, options == "omitempty", b.of(f.Type)})
		}
	}
	return &form{
		func(e *encoder, v reflect.Value) {
			start := len(e.b)
			e.b = append(e.b, '{')
			for _, m := range all {
				f := v.Field(m.index)
				if m.omit && (f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0) {
					continue
				}
				if len(e.b) > start+1 {
					e.b = append(e.b, ',')
				}
				e.b = append(append(e.b, m.name...), ':')
				m.write(e, f)
			}
			if extra >= 0 && v.Field(extra).Field(0).Len() > 0 {
				if len(e.b) > start+1 {
					e.b = append(e.b, ',')
				}
				e.b = append(e.b, v.Field(extra).Field(0).String()...)
			}
			e.b = append(e.b, '}')
		},
		func(d *decoder, v reflect.Value) {
			next := 0 // members usually have this order
			var unknown []byte
			for more := d.begin('{', '}'); more; more = d.another('}') {
				d.peek()
				left := len(all)
				for ; left > 0 && !d.skip(all[next].name); left-- {
					next = (next + 1) % len(all)
				}
				if left > 0 {
					m := &all[next]
					next = (next + 1) % len(all)
					d.value(m.form, v.Field(m.index))
					continue
				}
				key := d.key()
				if raw := d.raw(); extra >= 0 && d.err == nil {
					if unknown != nil {
						unknown = append(unknown, ',')
					}
					unknown = append(append(append(unknown, key...), ':'), raw...)
				}
			}
			if unknown != nil {
				v.Field(extra).Field(0).SetString(string(unknown))
			}
		},
	}
}

type encoder struct {
	b   []byte
	err error
}

// raw writes JSON without whitespace.
func (e *encoder) raw(raw []byte, err error) {
	b := bytes.NewBuffer(e.b)
	if err == nil {
		err = json.Compact(b, raw)
	}
	if e.b = b.Bytes(); e.err == nil {
		e.err = err
	}
}

// appendText writes a string as encoding/json does without HTML escapes.
func appendText(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c, n := rune(s[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRuneInString(s[i:])
		}
		if c >= ' ' && c != '"' && c != '\\' && c != '\u2028' && c != '\u2029' && (c != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		b = append(append(b, s[start:i]...), '\\')
		i += n
		start = i
		switch c {
		case '"', '\\':
			b = append(b, byte(c))
		case '\n':
			b = append(b, 'n')
		case '\t':
			b = append(b, 't')
		case '\r':
			b = append(b, 'r')
		case '\b':
			b = append(b, 'b')
		case '\f':
			b = append(b, 'f')
		default:
			b = append(b, 'u', digits[c>>12], digits[c>>8&15], digits[c>>4&15], digits[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}

// decoder reads JSON. Like the functions of raw.go it accepts some texts that aren't JSON.
type decoder struct {
	b       []byte
	i       int  // what is before it is read
	partial bool // outcomes are skipped
	err     error
}

// fail reports a problem with the next value. Nothing more is read.
func (d *decoder) fail(problem string) {
	if d.err == nil {
		d.err = fmt.Errorf("byte %d: %s", d.i, problem)
	}
	d.i = len(d.b)
}

// peek returns the next character; 0 at the end.
func (d *decoder) peek() byte {
	if d.i < len(d.b) && d.b[d.i] > ' ' {
		return d.b[d.i]
	}
	if d.i = space(d.b, d.i); d.i < len(d.b) {
		return d.b[d.i]
	}
	return 0
}

// next reports whether c is the next character, and skips it.
func (d *decoder) next(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.i++
	return true
}

// value reads a value. null changes nothing, except raw JSON.
func (d *decoder) value(f *form, v reflect.Value) {
	if d.peek() == 'n' && v.Type() != reflect.TypeFor[json.RawMessage]() {
		d.raw()
		return
	}
	f.read(d, v)
}

// raw returns the next value.
func (d *decoder) raw() []byte {
	d.i = space(d.b, d.i)
	end, ok := valueEnd(d.b, d.i, 0)
	if !ok {
		d.fail("not JSON")
		return nil
	}
	v := d.b[d.i:end]
	d.i = end
	return v
}

// begin skips the start of an object or array, and reports whether something is in it. Then another reports whether
// more follows.
func (d *decoder) begin(start, end byte) bool {
	if !d.next(start) {
		d.fail("no " + string(start))
		return false
	}
	return !d.next(end)
}

func (d *decoder) another(end byte) bool {
	if d.err != nil || d.next(end) {
		return false
	}
	if !d.next(',') {
		d.fail("no comma")
		return false
	}
	return true
}

// skip skips a name and its colon, and reports whether they come next.
func (d *decoder) skip(name string) bool {
	i := d.i + len(name)
	if i >= len(d.b) || string(d.b[d.i:i]) != name {
		return false
	}
	if d.i = i; !d.next(':') {
		d.fail("no member")
	}
	return true
}

// key returns the key of the next member, in quotes.
func (d *decoder) key() []byte {
	d.i = space(d.b, d.i)
	end, ok := stringEnd(d.b, d.i)
	key := d.b[d.i:end]
	if d.i = end; !ok || !d.next(':') {
		d.fail("no member")
	}
	return key
}

func (d *decoder) text() string {
	d.i = space(d.b, d.i)
	end, ok := stringEnd(d.b, d.i)
	var s string
	if ok {
		s, ok = text(d.b[d.i:end])
	}
	if !ok {
		d.fail("not a string")
		return ""
	}
	d.i = end
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // like encoding/json
	}
	return s
}

func (d *decoder) int(bits int) int64 {
	start := d.i
	n, err := strconv.ParseInt(string(d.raw()), 10, bits)
	if err != nil {
		d.i = start
		d.fail("not an integer")
	}
	return n
}

func (d *decoder) bool() bool {
	raw := string(d.raw())
	if raw != "true" && raw != "false" {
		d.fail("not true or false")
	}
	return raw == "true"
}
