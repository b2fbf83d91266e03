package approval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
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
	OneOf    []Option `json:"oneOf"`
	Items    struct {
		AnyOf []Option `json:"anyOf"`
		Enum  []string
	}
	Default json.RawMessage
	limits
	own *Field // for text instead of a choice, or in addition
	yes bool   // "y" selects the first choice, and "n" none
}

// Option is an answer that a field offers.
type Option struct {
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
	return f.name == before.name+"_other" && f.Type == "string" && !f.required && len(f.Choices()) == 0 &&
		len(before.Choices()) > 0
}

// Choices returns the choices, if the field is a choice.
func (f Field) Choices() []Option {
	cs := append(slices.Clone(f.OneOf), f.Items.AnyOf...)
	for i, value := range append(slices.Clone(f.Enum), f.Items.Enum...) {
		title := value
		if i < len(f.Names) {
			title = f.Names[i]
		}
		cs = append(cs, Option{Const: value, Title: title})
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

// Required reports whether the field must be answered.
func (f Field) Required() bool { return f.required }

// Several reports whether several choices can be taken.
func (f Field) Several() bool { return f.Type == "array" && len(f.Choices()) > 0 }

// Own describes the user's own answer, if the field accepts one beside its choices.
func (f Field) Own() string {
	if f.own == nil {
		return ""
	}
	return f.own.words()
}

// Answer reads a typed line into the answer of a form. For an empty line the field is omitted, or has its default. The
// error says what to type instead.
func (f Field) Answer(line string, answer map[string]any) error {
	if strings.TrimSpace(line) == "" && f.own != nil && len(f.Default) == 0 {
		return fmt.Errorf("Choose a number, or %s", f.own.words())
	}
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
		return hint + ", or nothing for " + f.DefaultText()
	}
	return hint
}

// DefaultText returns the default as the user would type it; "" without one.
func (f Field) DefaultText() string {
	switch string(f.Default) {
	case "true":
		return "y"
	case "false":
		return "n"
	}
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
	case f.Several():
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

func (f Field) choose(typed string, choices []Option) (any, error) {
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

// limits are a form's limits on a typed answer. A server may check more.
type limits struct {
	Format    string
	MinLength *float64
	MaxLength *float64
	Minimum   *float64
	Maximum   *float64
	MinItems  *float64
	MaxItems  *float64
}

// text checks a text.
func (l limits) text(s string) error {
	n := float64(utf8.RuneCountInString(s))
	switch {
	case l.MinLength != nil && n < *l.MinLength:
		return fmt.Errorf("Use at least %g characters", *l.MinLength)
	case l.MaxLength != nil && n > *l.MaxLength:
		return fmt.Errorf("Use at most %g characters", *l.MaxLength)
	}
	switch l.Format {
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return fmt.Errorf("Enter an email address, e.g. me@example.com")
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || u.Scheme == "" {
			return fmt.Errorf("Enter a URL, e.g. https://example.com")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return fmt.Errorf("Enter a date, e.g. 2006-01-02")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, strings.ToUpper(s)); err != nil {
			return fmt.Errorf("Enter a date and time, e.g. 2006-01-02T15:04:05Z")
		}
	}
	return nil
}

// number checks a number.
func (l limits) number(n float64) error {
	switch {
	case l.Minimum != nil && n < *l.Minimum:
		return fmt.Errorf("Enter %g or more", *l.Minimum)
	case l.Maximum != nil && n > *l.Maximum:
		return fmt.Errorf("Enter %g or less", *l.Maximum)
	}
	return nil
}

// count checks the number of choices.
func (l limits) count(n int) error {
	switch {
	case l.MinItems != nil && float64(n) < *l.MinItems:
		return fmt.Errorf("Choose at least %g", *l.MinItems)
	case l.MaxItems != nil && float64(n) > *l.MaxItems:
		return fmt.Errorf("Choose at most %g", *l.MaxItems)
	}
	return nil
}

// Match returns the answer of a form from the answers of a program. Programs name a question by its field, by its
// number from 0, by its text or by its header. A text that isn't one of the choices is put into the field for other
// answers, if there is one.
func Match(fields []Field, answers map[string]json.RawMessage) map[string]json.RawMessage {
	var all []Field
	for _, f := range fields {
		all = append(all, f)
		if f.own != nil {
			all = append(all, *f.own)
		}
	}
	named := func(name string) int { return slices.IndexFunc(all, func(f Field) bool { return f.name == name }) }
	filled := map[string]json.RawMessage{}
	for name, value := range answers {
		i := named(name)
		if n, err := strconv.Atoi(name); i < 0 && err == nil {
			i = named("q" + strconv.Itoa(n+1))
		}
		if i < 0 && name != "" {
			i = slices.IndexFunc(all, func(f Field) bool {
				return (f.About == name || f.Title == name) &&
					len(f.Choices()) > 0
			})
		}
		if i < 0 {
			continue
		}
		f, choices, text := all[i], all[i].Choices(), ""
		field := f.name
		switch {
		case json.Unmarshal(value, &text) != nil:
		case len(choices) > 0 && named(f.name+"_other") >= 0 &&
			!slices.ContainsFunc(choices, func(o Option) bool { return o.Const == text }):
			field += "_other"
		case f.Type == "array":
			value, _ = json.Marshal([]string{text})
		}
		filled[field] = value
	}
	return filled
}
