// Package toml reads TOML into values of Go, and errors with their lines.
//
//	all, err := toml.Read([]byte("prompt = \"Review {{args}}\"\n"))
//	all["prompt"] // "Review {{args}}"
package toml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Table is a table, as [toml.Unmarshal] decodes it.
type Table = map[string]any

// Error is an error in a line of a text.
type Error struct {
	Line int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// Read reads a text.
func Read(text []byte) (all Table, err error) {
	err = toml.Unmarshal(text, &all)
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, _ := bad.Position()
		err = &Error{line, strings.TrimPrefix(bad.Error(), "toml: ")}
	}
	return all, err
}
