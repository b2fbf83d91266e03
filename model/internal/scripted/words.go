package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Duration is a time.Duration that JSON writes as "10ms".
type Duration time.Duration

// UnmarshalJSON reads "10ms".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read a duration such as \"10ms\": %w", err)
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// MarshalJSON writes "10ms".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Parse reads a script of type S from JSON. Each key of vars, such as "$WORK", is replaced inside strings by its value.
func Parse[S any](data []byte, vars map[string]string) (S, error) {
	var s S
	names := slices.SortedFunc(maps.Keys(vars), func(a, b string) int { return len(b) - len(a) }) // longest first: $WORKED before $WORK
	for _, name := range names {
		quoted, err := json.Marshal(vars[name])
		if err != nil {
			return s, err
		}
		data = bytes.ReplaceAll(data, []byte(name), quoted[1:len(quoted)-1])
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		var none S
		return none, fmt.Errorf("read a script: %w", err)
	}
	return s, nil
}

// Arguments returns the arguments of a call as a model sends them: args without whitespace or, if it is a JSON string, the
// text of that string.
func Arguments(args json.RawMessage) string {
	var s string
	if json.Unmarshal(args, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return string(args)
	}
	return b.String()
}

// JSON writes a value like model servers: on one line, and without HTML escapes.
func JSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a bug in the test
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Event returns one server-sent event with its blank line.
func Event(name string, data any) string { return "event: " + name + "\ndata: " + JSON(data) + "\n\n" }

// Dress adds CRLF line endings and comments to events.
func Dress(events []string, crlf, comments bool) []string {
	for i, e := range events {
		if comments {
			e = ": keep-alive\n\n" + e
		}
		if crlf {
			e = strings.ReplaceAll(e, "\n", "\r\n")
		}
		events[i] = e
	}
	return events
}

// Runes splits s into pieces of n characters; 0 doesn't split it, and an empty s has no pieces.
func Runes(s string, n int) []string {
	if s == "" {
		return nil
	}
	if n <= 0 {
		return []string{s}
	}
	var out []string
	for piece := range slices.Chunk([]rune(s), n) {
		out = append(out, string(piece))
	}
	return out
}

// Object is a JSON object whose keys keep their order.
type Object []Field

// Field is one member of an Object: its name and its value.
type Field [2]any

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(JSON(f[0]) + ":" + JSON(f[1]))
	}
	return []byte("{" + b.String() + "}"), nil
}
