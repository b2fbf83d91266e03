package builtin

import (
	"encoding/json"

	"github.com/adze-dev/adze/tool"
)

// form is a schema of an answer: a flat object, as MCP elicitation has it. Its fields are kept in the order they are
// to be asked in.
type form struct{ fields []field }

type field struct {
	name   string
	schema fieldSchema
}

type fieldSchema struct {
	Type        string   `json:"type"` // string, or array for several of items
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	OneOf       []choice `json:"oneOf,omitempty"`
	Items       *several `json:"items,omitempty"`
}

type several struct {
	AnyOf []choice `json:"anyOf"`
}

type choice struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// visible is the choice with invisible characters shown; the value itself is unchanged.
func (c choice) visible() choice {
	return choice{c.Const, tool.Visible(c.Title), tool.Visible(c.Description)}
}

// text is a field for words.
func (f *form) text(name, title, description string) {
	f.fields = append(f.fields, field{name, fieldSchema{Type: "string", Title: tool.Visible(title), Description: tool.Visible(description)}})
}

// one is a field for one of some choices.
func (f *form) one(name, title, description string, choices []choice) {
	s := fieldSchema{Type: "string", Title: tool.Visible(title), Description: tool.Visible(description)}
	for _, c := range choices {
		s.OneOf = append(s.OneOf, c.visible())
	}
	f.fields = append(f.fields, field{name, s})
}

// many is a field for any number of some choices.
func (f *form) many(name, title, description string, choices []choice) {
	s := fieldSchema{Type: "array", Title: tool.Visible(title), Description: tool.Visible(description), Items: &several{}}
	for _, c := range choices {
		s.Items.AnyOf = append(s.Items.AnyOf, c.visible())
	}
	f.fields = append(f.fields, field{name, s})
}

func (f *form) json() json.RawMessage {
	out := []byte(`{"type":"object","properties":{`)
	for i, fd := range f.fields {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(fd.name) // a string
		schema, _ := json.Marshal(fd.schema)
		out = append(append(append(out, name...), ':'), schema...)
	}
	return append(out, "}}"...)
}
