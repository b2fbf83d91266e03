package redact

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
)

// blockStarts are texts before secrets that aren't one word.
var blockStarts = []string{keyBegin, "://"}

const (
	privateKey  = "private-key"
	urlPassword = "url-password"

	keyBegin = "-----BEGIN"
	keyEnd   = "-----END"
)

// search finds all secrets in a text.
func (s *scan) search() {
	s.tokens()
	s.keys()
	s.each("//", func(at int) { s.url(at, at+2) })
	s.each(`\/\/`, func(at int) { s.url(at, at+4) }) // in JSON
	if !s.coded {
		s.percent()
	}
}

// each calls do with every position of a text.
func (s *scan) each(text string, do func(at int)) {
	for at := 0; ; {
		i := bytes.Index(s.b[at:], []byte(text))
		if i < 0 {
			return
		}
		do(at + i)
		at += i + len(text)
	}
}

// keys finds private keys. The lines between the first and the last are the secret.
func (s *scan) keys() {
	s.each(keyBegin, func(at int) {
		begin := at + len(keyBegin)
		title := s.b[begin:min(len(s.b), begin+60)]
		i := bytes.Index(title, []byte("-----"))
		if i < 0 {
			if len(title) < 60 && !s.final {
				s.open = min(s.open, at)
			}
			return
		}
		if !bytes.Contains(title[:i], []byte("PRIVATE")) {
			return
		}
		begin += i + 5
		body := s.b[begin:min(len(s.b), begin+longest)]
		next, end := bytes.Index(body, []byte(keyBegin)), bytes.Index(body, []byte(keyEnd))
		switch {
		case end >= 0 && (next < 0 || end < next):
			body = body[:end]
		case next >= 0:
			body = body[:next]
		case len(body) < longest && !s.final:
			s.open = min(s.open, at)
			return
		}
		if n := keyLines(body); n > 0 {
			s.found = append(s.found, span{begin, begin + n, privateKey})
		}
	})
}

// keyLines returns the end of the base64 in the body of a private key; 0 if it has none.
func keyLines(body []byte) (end int) {
	group := alphabets()["group"]
	for i := 0; i < len(body); i++ {
		from := i
		for i < len(body) && group[body[i]] {
			i++
		}
		long := i-from >= 24 && random(body[from:i])
		if long || end > 0 && i-from >= 4 && from-end < 64 {
			end = i
		}
	}
	for end > 0 && end < len(body) && body[end] == '=' {
		end++
	}
	return end
}

const maxPart = 256 // length of a user name or a password in a URL

// url finds the password in a URL whose slashes are at at, with its user name at user.
func (s *scan) url(at, user int) {
	if at < 3 || s.b[at-1] != ':' || !isAlnum(s.b[at-2]) || !isAlnum(s.b[at-3]) {
		return
	}
	n, ok := s.part(at, user, ':')
	if !ok {
		return
	}
	begin := user + n + 1
	if n, ok = s.part(at, begin, '@'); !ok {
		return
	}
	host := begin + n + 1
	switch {
	case host < len(s.b) && !isAlnum(s.b[host]) && s.b[host] != '[':
	case host == len(s.b) && !s.final:
		s.open = min(s.open, at)
	case secretPassword(s.b[begin : begin+n]):
		s.found = append(s.found, span{begin, begin + n, urlPassword})
	}
}

// part returns the length of a part of a URL before its end. If the text ends before it, the URL at at is open.
func (s *scan) part(at, from int, end byte) (n int, ok bool) {
	for i := from; i-from <= maxPart; i++ {
		switch {
		case i == len(s.b):
			if !s.final {
				s.open = min(s.open, at)
			}
			return 0, false
		case s.b[i] == end:
			return i - from, true
		case s.b[i] == '/' || s.b[i] == '@' || s.b[i] == '\'' || s.b[i] < 0x7f && !inURL(s.b[i]):
			return 0, false
		}
	}
	return 0, false
}

// secretPassword reports whether the password of a URL is neither a placeholder nor an ordinary word.
func secretPassword(password []byte) bool {
	if plain, err := url.PathUnescape(string(password)); err == nil {
		password = []byte(plain)
	}
	lower := strings.ToLower(string(password))
	s := shapeOf(password)
	if len(password) < 8 || s.distinct < 5 || isExample(password) || sequence(password) ||
		slices.Contains(ordinary, lower) || strings.IndexByte("${%(*[", password[0]) >= 0 {
		return false
	}
	in := func(word string) bool { return strings.Contains(lower, word) }
	words := []string{"pass", "secret", "token", "user", "test"}
	if slices.ContainsFunc([]string{"${", "{{", "$(", "..."}, in) || s.changes < 4 && slices.ContainsFunc(words, in) {
		return false // S3cretPassw0rdX9 is one
	}
	return s.kinds() > 1 && s.changes > 1 || len(password) >= 16 && s.distinct >= 10
}
