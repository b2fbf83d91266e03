package web

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

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
	enc, _ := charset.Lookup(label)
	if enc == nil {
		return strings.ToValidUTF8(string(body), "\uFFFD"), "utf-8"
	}
	out, err := readUpTo(enc.NewDecoder().Reader(bytes.NewReader(body)), int64(limit))
	if err != nil {
		out = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(out, []byte("\xEF\xBB\xBF"))), ""), label
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
	for mark, name := range map[string]string{"\xEF\xBB\xBF": "utf-8", "\xFF\xFE": "utf-16le", "\xFE\xFF": "utf-16be"} {
		if bytes.HasPrefix(p.Body, []byte(mark)) {
			return name
		}
	}
	declared := p.headerEncoding()
	if declared == "" && p.IsHTML() {
		if _, name, certain := charset.DetermineEncoding(p.Body, "text/html"); certain || name != "windows-1252" {
			declared = name
		} else if bytes.Contains(bytes.ToLower(p.Body[:min(len(p.Body), 1024)]), []byte("charset")) {
			declared = name
		}
	}
	switch declared {
	case "utf-16le", "utf-16be":
		return declared
	case "iso-2022-jp": // only ASCII bytes: the next case would take it for UTF-8
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
	_, name := charset.Lookup(params["charset"])
	return name
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
	odd := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	from := max(odd-1000, 0)
	enc, err := text.Detect(body[from:min(len(body), from+sample)])
	switch {
	case err != nil || enc == text.UTF8:
		return ""
	case enc == text.ShiftJIS:
		return "shift_jis"
	}
	return string(enc)
}
