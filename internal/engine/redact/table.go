package redact

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// Table has the secrets that were found in a session, with the placeholders that replace them. It is only in memory. A
// nil Table replaces every secret by [Masked].
type Table struct {
	mark string // the random part of the placeholders

	mu     sync.Mutex
	names  map[string]string // placeholders by secret
	values map[string]string // secrets by placeholder
	except []string          // kinds that aren't masked
	plain  map[string]bool   // texts that aren't masked
	bytes  int               // of all secrets
}

// The maximum number of placeholders, and bytes of their secrets. Further secrets become [Masked].
const (
	maxNames = 20_000
	maxBytes = 8 << 20
)

// NewTable returns a table without secrets. The kinds aren't masked.
func NewTable(except []string) *Table {
	return &Table{
		mark: strings.ToLower(rand.Text()[:4]), names: map[string]string{}, values: map[string]string{},
		except: except, plain: map[string]bool{},
	}
}

// name returns the placeholder of a secret: always the same for the same secret.
func (t *Table) name(kind, secret string) string {
	if t == nil {
		return Masked
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name, ok := t.names[secret]
	switch {
	case ok:
		return name
	case len(t.names) == maxNames || t.bytes+len(secret) > maxBytes:
		return Masked
	}
	t.bytes += len(secret)
	name = fmt.Sprintf("%s%s:%s-%d]", opening, kind, t.mark, len(t.names)+1)
	t.names[secret], t.values[name] = name, secret
	return name
}

// unexcepted returns the tokens of b that are masked.
func (t *Table) unexcepted(b []byte, found []span) []span {
	if t == nil || len(found) == 0 {
		return found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(found, func(f span) bool {
		return slices.Contains(t.except, f.kind) || t.plain[string(b[f.from:f.to])]
	})
}

// Except makes the tokens in a text ordinary text, also where else they occur.
func (t *Table) Except(text []byte) {
	s := scan{patterns: allPatterns(), b: text, final: true, open: len(text)}
	s.search()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range s.found {
		t.plain[string(text[f.from:f.to])] = true
	}
}

const opening = "[secret:"

var placeholders = lazy.Regexp(`\[secret:[a-z0-9-]{1,40}:[a-z0-9]{4}-[0-9]{1,10}\]`)

// Placeholder returns the first placeholder in a text, of this session or another; "": none.
func Placeholder(text string) string {
	if strings.Contains(text, opening) {
		if name := placeholders().FindString(text); name != "" {
			return name
		}
	}
	if strings.Contains(text, Masked) {
		return Masked
	}
	return ""
}

// Errors of placeholders. Their texts follow the placeholder.
var (
	ErrOther   = errors.New("stands for a secret that isn't in this file")
	ErrUnknown = errors.New("stands for a secret that this session doesn't know")
	ErrBoth    = errors.New("is also plain text in this file, so it is ambiguous")
)

// Restore returns text with secrets in place of their placeholders, for a file with this content: only secrets that the
// content has too. A placeholder that is plain text in the file stays. An error is one of the above, and comes with the
// placeholder.
func (t *Table) Restore(text, content string) (restored, placeholder string, err error) {
	var b strings.Builder
	for rest := text; ; {
		name := Placeholder(rest)
		if name == "" {
			return b.String() + rest, "", nil
		}
		i := strings.Index(rest, name)
		b.WriteString(rest[:i])
		rest = rest[i+len(name):]
		secret, known := t.value(name)
		inFile := known && strings.Contains(content, secret)
		switch plain := strings.Contains(content, name); {
		case plain && inFile:
			return "", name, ErrBoth
		case plain:
			secret = name
		case inFile:
		case known:
			return "", name, ErrOther
		default:
			return "", name, ErrUnknown
		}
		b.WriteString(secret)
	}
}

// Has reports whether a placeholder is one of this session.
func (t *Table) Has(placeholder string) bool {
	_, ok := t.value(placeholder)
	return ok
}

func (t *Table) value(name string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.values[name]
	return v, ok
}
