// Package toml reads TOML with the parser of github.com/pelletier/go-toml. Its decoder would make the program 0.2 MB
// larger, and has no lines.
//
//	all, lines, err := toml.Read([]byte("prompt = \"Review {{args}}\"\n"))
//	all["prompt"]   // "Review {{args}}"
//	lines["prompt"] // 1
package toml

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Table is a table. Its values are tables, lists ([]any), texts, numbers (float64) and booleans.
type Table = map[string]any

// Error is an error in a line of a text.
type Error struct {
	Line int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// Read reads a text. lines has the lines in which the values at its top begin.
func Read(text []byte) (all Table, lines map[string]int, err error) {
	var p unstable.Parser
	p.Reset(text)
	all, lines = Table{}, map[string]int{}
	for at, top := all, true; p.NextExpression(); {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			at, top = child(descend(all, e)), false
		case unstable.ArrayTable:
			within, key := descend(all, e)
			list, _ := within[key].([]any)
			at, top = Table{}, false
			within[key] = append(list, at)
		case unstable.KeyValue:
			first := e.Value().Next()
			line := p.Shape(first.Raw).Start.Line
			if key, twice := set(at, e); twice {
				return nil, nil, &Error{line, key + " is there twice"}
			}
			if raw := p.Raw(e.Value().Raw); len(raw) > 3 && strings.Trim(string(raw[3:4]), "\r\n") == "" {
				line++ // after three quotes and the end of their line
			}
			if top && first.Next() == nil {
				lines[string(first.Data)] = line
			}
		}
	}
	var bad *unstable.ParserError
	if errors.As(p.Error(), &bad) {
		return nil, nil, &Error{p.Shape(p.Range(bad.Highlight)).Start.Line, bad.Message}
	}
	return all, lines, p.Error()
}

// set sets a key of a table, and reports whether it was there before.
func set(t Table, e *unstable.Node) (key string, twice bool) {
	within, key := descend(t, e)
	_, twice = within[key]
	within[key] = value(e.Value())
	return key, twice
}

// descend returns the table that has the last part of an expression's key, and that part.
func descend(t Table, e *unstable.Node) (within Table, last string) {
	keys := e.Key()
	for within = t; keys.Next() && !keys.IsLast(); {
		within = child(within, string(keys.Node().Data))
	}
	return within, string(keys.Node().Data)
}

// child returns the table under a key, the last one of a list, or a new one.
func child(t Table, key string) Table {
	found := t[key]
	if list, _ := found.([]any); len(list) > 0 {
		found = list[len(list)-1]
	}
	if table, ok := found.(Table); ok {
		return table
	}
	made := Table{}
	t[key] = made
	return made
}

func value(n *unstable.Node) any {
	text := string(n.Data)
	switch n.Kind {
	case unstable.Bool:
		return text == "true"
	case unstable.Integer, unstable.Float:
		if number, err := strconv.ParseFloat(text, 64); err == nil {
			return number
		}
	case unstable.Array:
		list := []any{}
		for i := n.Children(); i.Next(); {
			list = append(list, value(i.Node()))
		}
		return list
	case unstable.InlineTable:
		table := Table{}
		for i := n.Children(); i.Next(); {
			set(table, i.Node())
		}
		return table
	}
	return text
}
