package contextfiles

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lineError is an error in a line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// tomlString is a string, and the line in which it starts.
type tomlString struct {
	text string
	line int
}

// tomlStrings reads the strings at the top level of a TOML text, by key, which is what command files consist of. Other
// values and tables are skipped. It uses the library's parser rather than its decoder because that has the lines.
func tomlStrings(text string) (map[string]tomlString, error) {
	var p unstable.Parser
	p.Reset([]byte(text))
	found, top := map[string]tomlString{}, true
	for p.NextExpression() {
		e := p.Expression()
		top = top && e.Kind == unstable.KeyValue
		if !top { // a table: no top-level keys follow
			continue
		}
		key := e.Key()
		key.Next()
		name, v := string(key.Node().Data), e.Value()
		line := p.Shape(key.Node().Raw).Start.Line
		if _, twice := found[name]; twice {
			return nil, &lineError{line, name + " is there twice"}
		}
		if v.Kind != unstable.String || !key.IsLast() {
			continue
		}
		if raw := p.Raw(v.Raw); len(raw) > 3 && strings.TrimLeft(string(raw[3:4]), "\r\n") == "" { // after three quotes
			line++
		}
		found[name] = tomlString{string(v.Data), line}
	}
	var bad *unstable.ParserError
	if errors.As(p.Error(), &bad) {
		return nil, &lineError{p.Shape(p.Range(bad.Highlight)).Start.Line, bad.Message}
	}
	return found, p.Error()
}
