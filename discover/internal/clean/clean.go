// Package clean makes external text safe to show and to pass on: names, descriptions and schemas of tools that servers
// and commands declare. It bounds their length and removes invisible characters.
package clean

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// MaxName is the longest name that every model provider accepts.
const MaxName = 63

// Name returns the name by which a model calls a tool of a server: alias__tool, or the tool's own name without an
// alias. Every provider accepts it, and two different tools never get the same name: if a name had to be changed or
// cut, a short hash of the original is appended.
func Name(alias, name string) string {
	full := name
	if alias != "" {
		full = alias + "__" + name
	}
	safe := strings.Map(safeRune, full)
	if safe == "" || !isLetter(safe[0]) {
		safe = "t_" + safe
	}
	if safe == full && len(safe) <= MaxName && !strings.Contains(alias, "__") {
		return safe
	}
	sum := sha256.Sum256([]byte(alias + "\x00" + name))
	tag := "_" + hex.EncodeToString(sum[:4])
	return safe[:min(len(safe), MaxName-len(tag))] + tag
}

// Prefix returns the prefix of the names of a server's tools, for names that didn't have to be changed.
func Prefix(alias string) string { return strings.Map(safeRune, alias) + "__" }

func safeRune(r rune) rune {
	if r < 0x80 && (isLetter(byte(r)) || r >= '0' && r <= '9' || r == '_' || r == '-') {
		return r
	}
	return '_'
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// MaxText is the maximum length of a description for the model, in characters.
const MaxText = 4000

// Text bounds an external text and removes invisible characters: they can contain instructions that users don't see.
func Text(s string, limit int) (cleaned string, hidden int) {
	if tool.Hidden(s) {
		var b strings.Builder
		for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
			if r == utf8.RuneError || tool.Hidden(string(r)) {
				hidden++
				continue
			}
			b.WriteRune(r)
		}
		s = b.String()
	}
	return humanize.Shorten(s, limit), hidden
}

// maxSchema is the maximum size of a schema. A larger one is replaced by one that accepts everything: the server
// checks.
const maxSchema = 256 << 10

// Schema returns a schema as JSON, with invisible characters removed from its descriptions and titles.
func Schema(schema any) (json.RawMessage, int) {
	hidden := 0
	cleanNode(schema, 0, &hidden)
	raw, err := json.Marshal(schema)
	if err != nil || raw[0] != '{' || len(raw) > maxSchema {
		return json.RawMessage(`{"type":"object"}`), hidden
	}
	return raw, hidden
}

func cleanNode(v any, depth int, hidden *int) {
	if depth > 200 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if text, ok := child.(string); ok && (key == "description" || key == "title") {
				cleaned, n := Text(text, MaxText)
				v[key] = cleaned
				*hidden += n
				continue
			}
			cleanNode(child, depth+1, hidden)
		}
	case []any:
		for _, child := range v {
			cleanNode(child, depth+1, hidden)
		}
	}
}

// JSONError describes an invalid declaration in terms of JSON, where encoding/json uses names of Go types.
func JSONError(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Field == "":
		return "expected an object, got a JSON " + wrong.Value
	}
	return fmt.Sprintf("%s must be a string, got a JSON %s", wrong.Field, wrong.Value)
}
