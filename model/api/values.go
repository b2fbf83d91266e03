package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool/schema"
)

// Excerpt quotes the beginning of a server's response, as one line.
func Excerpt(b []byte) string {
	const limit = 200
	s := strings.ToValidUTF8(string(b[:min(len(b), limit)]), "\ufffd")
	if len(b) > limit {
		s += "…"
	}
	return strings.Join(strings.Fields(s), " ")
}

// IsNull reports whether a value is missing or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// Scalar reads a string, or a number instead of one.
func Scalar(raw json.RawMessage) string {
	switch {
	case IsNull(raw) || raw[0] == '{' || raw[0] == '[':
		return ""
	case raw[0] == '"':
		return Clean(Unquote(raw))
	}
	return string(raw)
}

// Marshal is json.Marshal without HTML escapes.
func Marshal(v any) ([]byte, error) { return humanize.JSON(v) }

// Merge adds members to a JSON object. An existing member is replaced; if both are objects, they are merged.
func Merge(object []byte, members map[string]json.RawMessage) ([]byte, error) {
	if len(members) == 0 {
		return object, nil
	}
	var have map[string]json.RawMessage
	if err := json.Unmarshal(object, &have); err != nil {
		return nil, fmt.Errorf("add members to a request: %w", err)
	}
	for name, value := range members {
		var inner map[string]json.RawMessage
		if old, ok := have[name]; ok && json.Unmarshal(value, &inner) == nil && inner != nil && isObject(old) {
			merged, err := Merge(old, inner)
			if err != nil {
				return nil, err
			}
			value = merged
		}
		have[name] = value
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(have)) {
		if i > 0 {
			b.WriteByte(',')
		}
		quoted, err := Marshal(name)
		if err != nil {
			return nil, err
		}
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(have[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

// Arguments returns the arguments of a call for a server that parses them: a JSON object. Invalid JSON is repaired, or
// replaced by an empty object.
func Arguments(args json.RawMessage) json.RawMessage {
	if fixed, ok := schema.RepairJSON(args); ok {
		args = fixed
	}
	if !json.Valid(args) || !isObject(args) {
		return json.RawMessage("{}")
	}
	return args
}

// maxID is the maximum length of an ID that all servers accept.
const maxID = 64

// ID returns a call's ID for a server that restricts IDs to letters, digits, "_" and "-": the ID of a call from another
// server may have other characters. Calls and responses with one ID get the same one.
func ID(id string) string {
	if plain(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Name returns a tool's name for a server with the same restrictions on names. Only names that the model made up need
// it.
func Name(name string) string {
	if plain(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if plain(string(r)) {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), maxID)]
}

func plain(s string) bool {
	return s != "" && len(s) <= maxID &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
