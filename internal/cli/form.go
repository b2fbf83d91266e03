package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// formField is one question of a form: a property of a flat schema, as MCP elicitation has it.
type formField struct {
	name     string
	required bool
	open     bool // an answer of the person's own may be typed instead of a choice
	Type     string
	Title    string
	About    string `json:"description"`
	Enum     []string
	Names    []string     `json:"enumNames"`
	OneOf    []formChoice `json:"oneOf"`
	Items    struct {
		AnyOf []formChoice `json:"anyOf"`
		Enum  []string
	}
	Default json.RawMessage
	formLimits
}

type formChoice struct {
	Const, Title, Description string
}

// readForm reads a schema, its fields in the order they are written.
func readForm(schema json.RawMessage) ([]formField, error) {
	var outer struct {
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &outer); err != nil {
		return nil, fmt.Errorf("read the form: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(outer.Properties))
	if _, err := d.Token(); err != nil {
		return nil, nil // a form without fields
	}
	var fields []formField
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
		var f formField
		if err := d.Decode(&f); err != nil {
			return nil, fmt.Errorf("read the form: field %v: %w", name, err)
		}
		f.name, _ = name.(string)
		f.required = slices.Contains(outer.Required, f.name)
		fields = append(fields, f)
	}
	return fields, nil
}

// choices are what may be chosen, if the field is a choice.
func (f formField) choices() []formChoice {
	cs := append(slices.Clone(f.OneOf), f.Items.AnyOf...)
	for i, value := range append(slices.Clone(f.Enum), f.Items.Enum...) {
		title := value
		if i < len(f.Names) {
			title = f.Names[i]
		}
		cs = append(cs, formChoice{Const: value, Title: title})
	}
	return cs
}

// fill asks for every field of a form. An empty answer leaves a field out, or takes its default.
func (t *terminal) fill(ctx context.Context, schema json.RawMessage) (json.RawMessage, error) {
	fields, err := readForm(schema)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{}
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if f.open = i+1 < len(fields) && fields[i+1].isOtherOf(f); f.open {
			i++
		}
		value, err := t.fillField(ctx, f)
		if err != nil {
			return nil, err
		}
		switch value := value.(type) {
		case nil:
		case ownAnswer:
			answer[f.name+otherSuffix] = string(value)
		default:
			answer[f.name] = value
		}
	}
	return json.Marshal(answer)
}

// otherSuffix is how the field for an answer of one's own is named after the choice that it stands beside.
const otherSuffix = "_other"

// isOtherOf reports whether a field is for an answer that the choice before it does not have.
func (f formField) isOtherOf(choice formField) bool {
	return f.name == choice.name+otherSuffix && f.Type == "string" && !f.required && len(f.choices()) == 0 && len(choice.choices()) > 0
}

// ownAnswer is what somebody typed instead of a choice.
type ownAnswer string

func (t *terminal) fillField(ctx context.Context, f formField) (any, error) {
	label := tool.Visible(f.Title)
	if f.About != "" {
		label = strings.TrimPrefix(label+": "+tool.Visible(f.About), ": ")
	}
	if label == "" {
		label = tool.Visible(f.name)
	}
	fmt.Fprintf(t.out, "%s\n", label)
	for i, c := range f.choices() {
		fmt.Fprintf(t.out, "  %d. %s", i+1, tool.Visible(c.Title))
		if c.Description != "" {
			fmt.Fprintf(t.out, " (%s)", tool.Visible(c.Description))
		}
		fmt.Fprintln(t.out)
	}
	for wrong := 0; wrong < maxWrong; wrong++ {
		fmt.Fprintf(t.out, "%s: ", f.hint())
		line, err := t.in.next(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		value, err := f.parse(strings.TrimSpace(string(line)))
		if err == nil {
			return value, nil
		}
		fmt.Fprintf(t.out, "%v\n", err)
	}
	return nil, fmt.Errorf("%s: given up after %d answers that do not fit", tool.Visible(f.name), maxWrong)
}

// maxWrong is how often an answer may not fit: a form that nothing fits must not hold a person for ever.
const maxWrong = 5

func (f formField) hint() string {
	if f.open {
		return f.wanted() + ", or an answer of your own"
	}
	if len(f.Default) > 0 {
		return f.wanted() + ", or nothing for " + tool.Visible(string(f.Default))
	}
	return f.wanted()
}

func (f formField) wanted() string {
	switch {
	case f.Type == "array" && len(f.choices()) > 0:
		return "numbers, separated by commas"
	case len(f.choices()) > 0:
		return "number"
	case f.Type == "boolean":
		return "[y]es or [n]o"
	case f.Type == "number" || f.Type == "integer":
		return "number"
	case f.required || len(f.Default) > 0:
		return "answer"
	}
	return "answer, or nothing"
}

// parse reads what was typed. nil leaves the field out.
func (f formField) parse(typed string) (any, error) {
	if typed == "" {
		switch {
		case len(f.Default) > 0:
			return f.Default, nil
		case f.required:
			return nil, fmt.Errorf("an answer is needed")
		}
		return nil, nil
	}
	if choices := f.choices(); len(choices) > 0 {
		if f.open && strings.Trim(typed, "0123456789, ") != "" {
			return ownAnswer(typed), nil
		}
		return f.choose(typed, choices)
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(typed) {
		case "y", "yes", "true":
			return true, nil
		case "n", "no", "false":
			return false, nil
		}
		return nil, fmt.Errorf("please answer yes or no")
	case "number", "integer":
		n, err := strconv.ParseFloat(typed, 64)
		if err != nil || f.Type == "integer" && n != float64(int64(n)) {
			return nil, fmt.Errorf("please answer with a number")
		}
		return n, f.number(n)
	}
	return typed, f.text(typed)
}

func (f formField) choose(typed string, choices []formChoice) (any, error) {
	var chosen []string
	for _, word := range strings.Split(typed, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(choices) {
			return nil, fmt.Errorf("please answer with a number from 1 to %d", len(choices))
		}
		chosen = append(chosen, choices[n-1].Const)
	}
	if f.Type == "array" {
		return chosen, f.count(len(chosen))
	}
	if len(chosen) > 1 {
		return nil, fmt.Errorf("please choose one")
	}
	return chosen[0], nil
}
