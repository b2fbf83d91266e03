// Package scripted is shared by the scripted model servers for an API: how their scripts are read, and their answers
// written.
package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model/modeltest"
)

// Play returns a server with the answers of a script, each converted by reply, that doesn't listen.
func Play[A any](api modeltest.API, repeat bool, answers []A, reply func(A) modeltest.Reply) *modeltest.Server {
	s := modeltest.Script{API: api, Repeat: repeat}
	for _, a := range answers {
		s.Replies = append(s.Replies, reply(a))
	}
	return modeltest.New(s)
}

// Listed returns the models that a server lists: "scripted" if a script has none.
func Listed(models []string) []string {
	if models == nil {
		return []string{"scripted"}
	}
	return models
}

// Bearer returns whether a request has a key as a bearer token; "": none may be sent.
func Bearer(key string) func(http.Header) bool {
	return func(h http.Header) bool {
		given, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
		return given == key && ok == (key != "")
	}
}

// Parse reads a script of type S from JSON. Each key of vars, such as "$WORK", is replaced inside strings by its value.
func Parse[S any](data []byte, vars map[string]string) (S, error) {
	var s S
	// longest first: $WORKED before $WORK
	names := slices.SortedFunc(maps.Keys(vars), func(a, b string) int { return len(b) - len(a) })
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

// Arguments returns the arguments of a call as a model sends them: args without whitespace or, if it is a JSON string,
// the text of that string.
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
	text, err := humanize.JSON(v)
	if err != nil {
		panic(err) // a bug in the test
	}
	return string(text)
}

// WriteJSON writes a response with a status and one object. Its content type is application/json if none is set.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, JSON(v)) // some tests disconnect
}

// Raw returns the content type and the frames of an answer that is written in the script: the events of a stream or,
// with a status, one body.
func Raw(text string, status int, one, stream string) (kind string, frames []string) {
	switch {
	case status == 0:
		return stream, []string{text}
	case text == "":
		return one, nil
	}
	return one, []string{text}
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
