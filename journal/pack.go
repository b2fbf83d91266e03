package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The data of an entry is changed on its way to the log, and back:
//
//   - a string over MaxText bytes becomes {"blob":"sha256:…","bytes":n}
//   - so does "data" of an object with a "mimeType": the blob has the bytes, not their base64
//   - an object that looks like one of these becomes {"blob":"sha256:…","bytes":n,"json":true}; the blob has its JSON
//   - so do members of the data, the longest first, while the entry would be over MaxLine
//
// Secrets are masked in every string before.
const (
	envelope = 1 << 10 // bytes of an entry besides its data, at most
	maxRef   = 150     // bytes of a reference, at most
)

var errNoStore = errors.New("no store for long texts and media")

type packer struct {
	blobs Blobs
	err   error
}

// pack masks secrets, and moves long texts and media to the store.
func pack(raw json.RawMessage, blobs Blobs, mask func(string) string) (json.RawMessage, error) {
	raw = maskStrings(raw, mask)
	if len(raw) <= MaxText && !bytes.Contains(raw, []byte(`"mimeType"`)) && !bytes.Contains(raw, []byte(`"blob"`)) {
		return raw, nil
	}
	p := packer{blobs: blobs}
	out := p.value(raw)
	if p.err != nil || len(out) <= MaxLine-envelope {
		return out, p.err
	}
	return p.shorten(raw, out)
}

// value returns the value for the log; raw itself if nothing changes.
func (p *packer) value(raw []byte) []byte {
	switch {
	case len(raw) == 0 || p.err != nil:
	case raw[0] == '"':
		return p.string(raw)
	case isRef(raw):
		return p.store(raw, true)
	case raw[0] == '[' || raw[0] == '{':
		media := isMedia(raw)
		return rewritten(raw, func(key, v []byte) []byte {
			if media && string(key) == `"data"` && len(v) > 2 && v[0] == '"' {
				return p.media(v)
			}
			return p.value(v)
		})
	}
	return raw
}

func (p *packer) string(raw []byte) []byte {
	if len(raw) <= MaxText {
		return raw
	}
	s, ok := text(raw)
	switch {
	case !ok || len(s) <= MaxText:
		return raw
	case !utf8.ValidString(s):
		return p.store(raw, true)
	}
	return p.store([]byte(s), false)
}

// media moves the bytes of a picture. A long string that isn't base64 is moved with its quotes.
func (p *packer) media(raw []byte) []byte {
	if s, ok := text(raw); ok {
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		if err == nil && base64.StdEncoding.EncodeToString(b) == s {
			return p.store(b, false)
		}
	}
	if len(raw) <= MaxText {
		return raw
	}
	return p.store(raw, true)
}

// store returns the reference to a content.
func (p *packer) store(content []byte, isJSON bool) []byte {
	if p.err != nil {
		return nil
	}
	if p.blobs == nil {
		p.err = errNoStore
		return nil
	}
	ref, err := p.blobs.Put(content)
	ref.JSON = isJSON
	out, _ := json.Marshal(ref)
	p.err = err
	return out
}

// shorten moves the longest members of the data to the store until the entry is short enough. Members are moved
// unpacked, so that one read restores all of it.
func (p *packer) shorten(raw, packed []byte) ([]byte, error) {
	for p.err == nil && len(packed) > MaxLine-envelope {
		var longest, value []byte
		members(packed, func(key, v []byte) bool {
			if len(v) > len(value) {
				longest, value = key, v
			}
			return true
		})
		if len(value) <= maxRef {
			return nil, fmt.Errorf("the data has %d bytes, over %d", len(packed), MaxLine-envelope)
		}
		ref := p.store(memberOf(raw, string(longest[1:len(longest)-1])), true)
		packed = rewritten(packed, func(key, v []byte) []byte {
			if bytes.Equal(key, longest) {
				return ref
			}
			return v
		})
	}
	return packed, p.err
}

// maskStrings masks secrets in every string of a JSON value: keys too, because a model chooses some of them.
func maskStrings(raw []byte, mask func(string) string) []byte {
	if mask == nil {
		return raw
	}
	out := splice{raw: raw}
	strs(raw, func(quoted []byte, s string) {
		if masked := mask(s); masked != s {
			out.replace(quoted, appendText(nil, masked))
		}
	})
	return out.bytes()
}

// strs calls give with every string of a JSON value that may contain secrets, with and without its quotes.
func strs(raw []byte, give func(quoted []byte, s string)) {
	for i := 0; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return
		}
		start := i + n
		end, ok := stringEnd(raw, start)
		if !ok {
			return
		}
		i = end
		if s, ok := text(raw[start:end]); ok && !isBase64(s) {
			give(raw[start:end], s)
		}
	}
}

// isBase64 reports whether a long string must be media: secrets are shorter.
func isBase64(s string) bool {
	const long = 16 << 10
	return len(s) > long && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == ""
}

// unpack reverses pack, except for the mask. A content that can't be read is an error.
func unpack(raw json.RawMessage, blobs Blobs) (json.RawMessage, error) {
	raw, lost, err := unpackRest(raw, blobs)
	if err == nil {
		err = lost.Err
	}
	return raw, err
}

// Lost describes contents that are missing in the store.
type Lost struct {
	Contents int
	Err      error // the first error
}

func (l Lost) plus(more Lost) Lost {
	if l.Contents == 0 {
		return more
	}
	l.Contents += more.Contents
	return l
}

// unpackRest reverses pack as far as possible: a sentence replaces a missing text or picture, and null any other value.
func unpackRest(raw json.RawMessage, blobs Blobs) (json.RawMessage, Lost, error) {
	if !bytes.Contains(raw, []byte(`"blob"`)) {
		return raw, Lost{}, nil
	}
	u := unpacker{blobs: blobs}
	out := u.value(raw, false)
	return out, u.lost, u.err
}

type unpacker struct {
	blobs   Blobs
	err     error
	lost    Lost
	picture string // the sentence for a missing picture, until its object is replaced
}

func (u *unpacker) value(raw []byte, media bool) []byte {
	if len(raw) == 0 || u.err != nil || raw[0] != '{' && raw[0] != '[' || !bytes.Contains(raw, []byte(`"blob"`)) {
		return raw
	}
	if isRef(raw) {
		return u.load(raw, media)
	}
	media = isMedia(raw)
	var instead []byte
	out := rewritten(raw, func(key, v []byte) []byte {
		content := media && string(key) == `"data"`
		before := u.lost.Contents
		value := u.value(v, content)
		switch {
		case string(key) == `"sealed"` && u.lost.Contents > before:
			instead = []byte(`{"thought":""}`) // part of sealed data is useless, and thoughts aren't sent
		case key != nil && !content && u.picture != "":
			instead, u.picture = u.sentence(key), ""
		}
		return value
	})
	if instead != nil {
		return instead
	}
	return out
}

// load returns the value of a reference.
func (u *unpacker) load(raw []byte, media bool) []byte {
	var ref Ref
	if u.err = json.Unmarshal(raw, &ref); u.err != nil {
		return raw
	}
	if u.blobs == nil {
		u.err = errNoStore
		return raw
	}
	content, err := u.blobs.Get(ref)
	switch {
	case err != nil:
		return u.lose(ref, media, err)
	case ref.JSON:
		return content
	case media:
		content, u.err = json.Marshal(content)
	default:
		content = appendText(nil, string(content))
	}
	return content
}

// lose returns the replacement for a missing content.
func (u *unpacker) lose(ref Ref, media bool, err error) []byte {
	u.lost = u.lost.plus(Lost{1, err})
	text := lostText(ref.Bytes)
	switch {
	case ref.JSON:
		return []byte("null")
	case media:
		u.picture = text
		return []byte(`""`)
	}
	return appendText(nil, text)
}

func lostText(bytes int64) string {
	return fmt.Sprintf("[%d bytes are missing here: Adze's store no longer has them]", bytes)
}

// sentence returns the replacement for an object with a missing picture under this key, in a message or a result; nil
// for other objects.
func (u *unpacker) sentence(key []byte) []byte {
	switch string(key) {
	case `"media"`:
		return append(appendText([]byte(`{"text":`), u.picture), '}')
	case `"inlineData"`:
		return appendText(nil, u.picture)
	}
	return nil
}

// isRef reports whether a value is an object that looks like a reference to the store.
func isRef(raw []byte) bool {
	return bytes.Contains(raw, []byte(`"blob"`)) && bytes.HasPrefix(memberOf(raw, "blob"), []byte(`"`))
}

// isMedia reports whether a value is a picture, a sound or a document.
func isMedia(raw []byte) bool { return memberOf(raw, "mimeType") != nil }

// splice is a text in which some pieces are replaced.
type splice struct {
	raw  []byte
	out  []byte // what replaces the first done bytes of raw
	done int
}

// replace replaces a piece of the text that comes after those before.
func (s *splice) replace(old, new []byte) {
	at := cap(s.raw) - cap(old)
	s.out = append(append(s.out, s.raw[s.done:at]...), new...)
	s.done = at + len(old)
}

// bytes returns the text; raw itself if nothing changed.
func (s *splice) bytes() []byte {
	if s.done == 0 {
		return s.raw
	}
	return append(s.out, s.raw[s.done:]...)
}

// rewritten returns an object or array with the values that f returns for its members or elements, which have no key;
// raw itself if nothing changes.
func rewritten(raw []byte, f func(key, v []byte) []byte) []byte {
	out := splice{raw: raw}
	each := func(key, old []byte) bool {
		if v := f(key, old); !same(old, v) {
			out.replace(old, v)
		}
		return true
	}
	members(raw, each)
	elements(raw, func(v []byte) bool { return each(nil, v) })
	return out.bytes()
}

// same reports whether a and b share the same memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
