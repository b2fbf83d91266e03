// Package approval is shared by front ends that ask a user about a call: the possible answers, the rules that an answer
// applies, forms, and proposals that the user can edit.
package approval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/tool"
)

// Field is a question of a form: a property of a flat schema, as in MCP elicitation.
type Field struct {
	name     string
	required bool
	Type     string
	Title    string
	About    string `json:"description"`
	Enum     []string
	Names    []string `json:"enumNames"`
	OneOf    []Choice `json:"oneOf"`
	Items    struct {
		AnyOf []Choice `json:"anyOf"`
		Enum  []string
	}
	Default json.RawMessage
	limits
	own *Field // for text instead of a choice, or in addition
	yes bool   // "y" selects the first choice, and "n" none
}

// Choice is an answer that a field offers.
type Choice struct {
	Const, Title, Description string
}

// ReadForm reads a schema. The fields are in the order of the schema.
func ReadForm(schema json.RawMessage) ([]Field, error) {
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
	var fields []Field
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
		var f Field
		if err := d.Decode(&f); err != nil {
			return nil, fmt.Errorf("read the form: field %v: %w", name, err)
		}
		f.name, _ = name.(string)
		f.required = slices.Contains(outer.Required, f.name)
		if n := len(fields); n > 0 && f.isOwnAnswerOf(fields[n-1]) {
			fields[n-1].own = &f
			continue
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// isOwnAnswerOf reports whether a field is for a free-text answer to the choice before it. One line asks for both.
func (f Field) isOwnAnswerOf(before Field) bool {
	return f.name == before.name+"_other" && f.Type == "string" && !f.required && len(f.Choices()) == 0 && len(before.Choices()) > 0
}

// Choices returns the choices, if the field is a choice.
func (f Field) Choices() []Choice {
	cs := append(slices.Clone(f.OneOf), f.Items.AnyOf...)
	for i, value := range append(slices.Clone(f.Enum), f.Items.Enum...) {
		title := value
		if i < len(f.Names) {
			title = f.Names[i]
		}
		cs = append(cs, Choice{Const: value, Title: title})
	}
	return cs
}

// Label returns the question.
func (f Field) Label() string {
	label := tool.Visible(f.Title)
	if f.About != "" {
		label = strings.TrimPrefix(label+": "+tool.Visible(f.About), ": ")
	}
	return cmp.Or(label, tool.Visible(f.name))
}

// Name returns the field's name, for errors.
func (f Field) Name() string { return tool.Visible(f.name) }

// Answer reads a typed line into the answer of a form. For an empty line the field is omitted, or has its default. The error
// says what to type instead.
func (f Field) Answer(line string, answer map[string]any) error {
	typed, words := f.split(line)
	value, err := f.parse(typed, words)
	if err != nil {
		return err
	}
	if value != nil {
		answer[f.name] = value
	}
	if words != "" {
		answer[f.own.name] = words
	}
	return nil
}

// AcceptYes makes "y" select the first choice, and "n" none.
func (f *Field) AcceptYes() { f.yes = true }

// words describes what a user can type into the field.
func (f Field) words() string {
	about := tool.Visible(cmp.Or(f.About, f.Title))
	if about == "" || about == "Other" {
		return "type your own answer"
	}
	first, size := utf8.DecodeRuneInString(about)
	return string(unicode.ToLower(first)) + about[size:]
}

// split separates the numbers of choices from text after them, if the field accepts text too.
func (f Field) split(typed string) (numbers, words string) {
	if f.yes && IsYes(typed) {
		return "1", ""
	}
	if f.own == nil {
		return typed, ""
	}
	if reason, no := IsNo(typed); f.yes && no {
		return "", reason
	}
	rest := typed
	for rest != "" {
		word, after, _ := strings.Cut(rest, ",")
		if _, err := strconv.Atoi(strings.TrimSpace(word)); err != nil {
			break
		}
		rest = strings.TrimSpace(after)
	}
	return strings.TrimRight(strings.TrimSuffix(typed, rest), ", "), rest
}

// Hint describes what can be typed.
func (f Field) Hint() string {
	hint := f.wanted()
	if f.yes {
		hint += ", y for 1"
	}
	if f.own != nil {
		hint += ", or " + f.own.words()
	}
	if len(f.Default) > 0 {
		return hint + ", or nothing for " + f.defaultShown()
	}
	return hint
}

// defaultShown returns the default as the user would type it.
func (f Field) defaultShown() string {
	for i, c := range f.Choices() {
		var value string
		if json.Unmarshal(f.Default, &value) == nil && value == c.Const {
			return strconv.Itoa(i + 1)
		}
	}
	return tool.Visible(string(f.Default))
}

func (f Field) wanted() string {
	switch {
	case f.Type == "array" && len(f.Choices()) > 0:
		return "numbers, separated by commas"
	case len(f.Choices()) > 0:
		return "number"
	case f.Type == "boolean":
		return "y or n"
	case f.Type == "number" || f.Type == "integer":
		return "number"
	case f.required || len(f.Default) > 0:
		return "answer"
	}
	return "answer, or nothing"
}

// parse reads a typed answer and the user's own text. nil omits the field.
func (f Field) parse(typed, words string) (any, error) {
	if typed == "" {
		switch {
		case words != "":
			return nil, nil
		case len(f.Default) > 0:
			return f.Default, nil
		case f.required:
			return nil, fmt.Errorf("an answer is required")
		}
		return nil, nil
	}
	if choices := f.Choices(); len(choices) > 0 {
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
		return nil, fmt.Errorf("Enter y or n")
	case "number", "integer":
		n, err := strconv.ParseFloat(typed, 64)
		if err != nil || f.Type == "integer" && n != float64(int64(n)) {
			return nil, fmt.Errorf("Enter a number")
		}
		return n, f.number(n)
	}
	return typed, f.text(typed)
}

func (f Field) choose(typed string, choices []Choice) (any, error) {
	var chosen []string
	for _, word := range strings.Split(typed, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(choices) {
			return nil, fmt.Errorf("Enter a number from 1 to %d", len(choices))
		}
		chosen = append(chosen, choices[n-1].Const)
	}
	if f.Type == "array" {
		return chosen, f.count(len(chosen))
	}
	if len(chosen) > 1 {
		return nil, fmt.Errorf("Choose one")
	}
	return chosen[0], nil
}
