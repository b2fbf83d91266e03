package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/tool"
)

// formField is one question of a form: a property of a flat schema, as MCP elicitation has it.
type formField struct {
	name     string
	required bool
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
	own *formField // for words in place of a choice, or beside it
	yes bool       // "y" is the first choice, and "n" none of them
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
		if n := len(fields); n > 0 && f.isOwnAnswerOf(fields[n-1]) {
			fields[n-1].own = &f
			continue
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// isOwnAnswerOf reports whether a field is for a free-text answer to the choice before it. One line asks for both, so that
// users without anything to add answer once.
func (f formField) isOwnAnswerOf(before formField) bool {
	return f.name == before.name+"_other" && f.Type == "string" && !f.required && len(f.choices()) == 0 && len(before.choices()) > 0
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
func (t *terminal) fill(ctx context.Context, fields []formField) (json.RawMessage, error) {
	answer := map[string]any{}
	for _, f := range fields {
		if err := t.fillField(ctx, f, answer); err != nil {
			return nil, err
		}
	}
	return json.Marshal(answer)
}

func (t *terminal) fillField(ctx context.Context, f formField, answer map[string]any) error {
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
		line, err := t.read(ctx, f.hint()+": ")
		if err != nil {
			return err
		}
		typed, words := f.split(line)
		value, err := f.parse(typed, words)
		if err == nil {
			if value != nil {
				answer[f.name] = value
			}
			if words != "" {
				answer[f.own.name] = words
			}
			return nil
		}
		fmt.Fprintf(t.out, "%v\n", err)
	}
	return fmt.Errorf("%s: too many invalid answers", tool.Visible(f.name))
}

// maxWrong is the number of invalid answers after which a form is canceled.
const maxWrong = 5

// words is what a user can type into the field, said in a sentence.
func (f formField) words() string {
	about := tool.Visible(cmp.Or(f.About, f.Title))
	if about == "" || about == "Other" {
		return "type your own answer"
	}
	first, size := utf8.DecodeRuneInString(about)
	return string(unicode.ToLower(first)) + about[size:]
}

// split parts numbers that choose from the words behind them, where the field takes words too.
func (f formField) split(typed string) (numbers, words string) {
	if f.yes && isYes(typed) {
		return "1", ""
	}
	if f.own == nil {
		return typed, ""
	}
	if reason, no := isNo(typed); f.yes && no {
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

func (f formField) hint() string {
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

// defaultShown is the default as the user would type it.
func (f formField) defaultShown() string {
	for i, c := range f.choices() {
		var value string
		if json.Unmarshal(f.Default, &value) == nil && value == c.Const {
			return strconv.Itoa(i + 1)
		}
	}
	return tool.Visible(string(f.Default))
}

func (f formField) wanted() string {
	switch {
	case f.Type == "array" && len(f.choices()) > 0:
		return "numbers, separated by commas"
	case len(f.choices()) > 0:
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

// parse reads what was typed, beside words of the user's own. nil leaves the field out.
func (f formField) parse(typed, words string) (any, error) {
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
	if choices := f.choices(); len(choices) > 0 {
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

func (f formField) choose(typed string, choices []formChoice) (any, error) {
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
