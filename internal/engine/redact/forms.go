package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

const (
	minSecret   = 8 // shorter values occur by chance,
	minPassword = 3 // and still shorter ones even as the password of a URL
)

// forms returns the texts that are masked everywhere, and those that are masked between their first and last byte.
func (s Secret) forms() (long, short [][]byte) {
	if len(s.Value) < minPassword || strings.Contains(s.Value, Masked) {
		return nil, nil
	}
	if slices.Contains(ordinary, strings.ToLower(s.Value)) {
		return nil, nil
	}
	add := func(text string) { long = append(long, []byte(text)) }
	if s.worthMasking() {
		for _, text := range slices.Concat(written(s.Value), inBase64(s.Value)) {
			add(text)
		}
	} else {
		for _, text := range written(s.Value) {
			short = append(short, []byte(":"+text+"@"))
		}
	}
	if s.User != "" {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if text := e.EncodeToString([]byte(s.User + ":" + s.Value)); len(text) >= minSecret {
				add(text)
			}
		}
	}
	return long, short
}

// written returns how a value is written in plain text, in URLs and in JSON.
func written(value string) []string {
	out := []string{value}
	inUserinfo := strings.TrimPrefix(url.UserPassword("", value).String(), ":")
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value), inUserinfo} {
		out = append(out, escaped, lowerHex(escaped))
	}
	if b, err := json.Marshal(value); err == nil {
		text := string(b[1 : len(b)-1])
		out = append(out, text, strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(text))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lowerHex returns a text in URL form with %2f in place of %2F.
func lowerHex(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return escapes().ReplaceAllStringFunc(text, strings.ToLower)
}

var escapes = lazy.Regexp("%..")

// inBase64 returns what a value is in the base64 form of a text that contains it: three texts, because its first byte
// may be at any position of a group of three. Characters that also depend on other bytes are not part of it.
func inBase64(value string) []string {
	var out []string
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			from, to := (before*8+5)/6, (before+len(value))*8/6
			out = append(out, text[from:to], text[from:]) // the latter at the end
		}
	}
	return out
}

// ordinary are values that aren't secret, even if they are used as a password.
var ordinary = strings.Fields(`true false none null yes main master root admin user username test testing guest example secret
	password passwd changeme postgres mysql redis mongo localhost x-access-token x-oauth-basic x-token-auth oauth2 token git
	gitlab-ci-token anonymous default undefined`)

// worthMasking reports whether a value is masked wherever it occurs.
func (s Secret) worthMasking() bool {
	v := s.Value
	if len(v) < minSecret {
		return false
	}
	of := shapeOf([]byte(v))
	oneKind := !of.other && of.kinds() == 1
	if of.distinct < 5 || oneKind && len(v) < 12 && !(s.Sure && of.upper) {
		return false // a word, a date, a small number
	}
	return s.Sure || !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "~/") && !strings.HasPrefix(v, "./")
}
