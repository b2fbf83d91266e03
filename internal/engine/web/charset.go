package web

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/adze-dev/adze/internal/engine/charset"
	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/internal/engine/text"
)

// Text returns at most that many bytes of the body as text, and its encoding. A byte order mark takes precedence, then
// valid UTF-8, then the header, then the page itself. Invalid bytes become U+FFFD.
func (p *Page) Text(limit int) (string, string) {
	body := p.Body[:min(len(p.Body), limit)]
	label := p.encoding()
	if label == "utf-8" {
		if len(body) < len(p.Body) {
			body = wholeRunes(body)
		}
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))), "\uFFFD"), label
	}
	if label == "" {
		label = guessed(body)
	}
	out, ok := charset.Text(charset.Name(label), body, limit)
	if !ok {
		return strings.ToValidUTF8(string(body), "\uFFFD"), "utf-8"
	}
	return string(bytes.TrimPrefix(out, []byte("\xEF\xBB\xBF"))), label
}

// wholeRunes removes an incomplete last character.
func wholeRunes(b []byte) []byte {
	for n := 0; n < 3 && len(b) > 0 && !utf8.Valid(b[max(0, len(b)-4):]); n++ {
		b = b[:len(b)-1]
	}
	return b
}

// encoding returns the name of the encoding, "" if it must be guessed.
func (p *Page) encoding() string {
	for mark, name := range map[string]string{
		"\xEF\xBB\xBF": "utf-8", "\xFF\xFE": charset.UTF16LE, "\xFE\xFF": charset.UTF16BE,
	} {
		if bytes.HasPrefix(p.Body, []byte(mark)) {
			return name
		}
	}
	declared := p.headerEncoding()
	if declared == "" && p.IsHTML() {
		declared = declaredIn(p.Body[:min(len(p.Body), 1024)])
	}
	switch declared {
	case charset.UTF16LE, charset.UTF16BE:
		return declared
	case charset.ISO2022JP: // only ASCII bytes: the next case would take it for UTF-8
		if bytes.IndexByte(p.Body, 0x1b) >= 0 {
			return declared
		}
	}
	switch {
	case validUTF8(p.Body, p.Incomplete != ""):
		return "utf-8" // text in another encoding is hardly ever valid UTF-8
	case declared == "utf-8":
		return "" // it is wrong
	case declared == "replacement":
		return "utf-8"
	}
	return declared
}

func (p *Page) headerEncoding() string {
	_, params, err := mime.ParseMediaType(p.contentType)
	if err != nil {
		return ""
	}
	return charset.Name(params["charset"])
}

// declaredIn returns the encoding that the beginning of a page names in a meta element. What isn't UTF-8 and speaks of
// a charset that is unknown is read as browsers read it.
func declaredIn(head []byte) string {
	z := html.NewTokenizer(bytes.NewReader(head))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if tag := z.Token(); tag.Data == "meta" {
			if name := declaredBy(tag.Attr); name != "" {
				return name
			}
		}
	}
	if !bytes.Contains(bytes.ToLower(head), []byte("charset")) || firstHigh(head) >= 0 && utf8.Valid(wholeRunes(head)) {
		return ""
	}
	return "windows-1252"
}

var charsetIn = lazy.Regexp(`charset[ \t\n\f\r]*=[ \t\n\f\r]*(?:"([^"]*)"|'([^']*)'|([^; \t\n\f\r"'][^; \t\n\f\r]*))`)

// declaredBy returns the encoding that the attributes of a meta element name: in charset, or in content if http-equiv
// says that it is a type.
func declaredBy(attributes []html.Attribute) string {
	name, isType, needsType := "", false, false
	seen := map[string]bool{}
	for _, a := range attributes {
		value := strings.ToLower(a.Val)
		switch {
		case seen[a.Key]: // the first one counts
		case a.Key == "http-equiv":
			isType = value == "content-type"
		case a.Key == "charset":
			name, needsType = charset.Name(value), false
		case a.Key == "content" && name == "":
			if m := charsetIn().FindStringSubmatch(value); m != nil {
				name, needsType = charset.Name(m[1]+m[2]+m[3]), true
			}
		}
		seen[a.Key] = true
	}
	switch {
	case needsType && !isType:
		return ""
	case strings.HasPrefix(name, "utf-16"): // the page couldn't be read so far
		return "utf-8"
	}
	return name
}

// firstHigh returns the offset of the first byte that isn't ASCII, or -1.
func firstHigh(b []byte) int {
	return bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf })
}

// validUTF8 accepts an incomplete last character if cut is set.
func validUTF8(b []byte, cut bool) bool {
	if cut {
		b = wholeRunes(b)
	}
	return utf8.Valid(b)
}

// sample is the number of bytes for a guess.
const sample = 64 << 10

// guessed returns the encoding of bytes without a declared encoding, or with a wrong one; "" if it may be UTF-8.
func guessed(body []byte) string {
	from := max(firstHigh(body)-1000, 0)
	enc, err := text.Detect(body[from:min(len(body), from+sample)])
	switch {
	case err != nil || enc == text.UTF8:
		return ""
	case enc == text.ShiftJIS:
		return charset.ShiftJIS
	}
	return string(enc)
}
