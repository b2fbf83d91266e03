package headless

import (
	"encoding/json"
	"slices"
	"strconv"
)

// formField is a question of a form.
type formField struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	OneOf       []struct {
		Const string `json:"const"`
	} `json:"oneOf"`
	Enum  []string `json:"enum"`
	Items struct {
		AnyOf []struct {
			Const string `json:"const"`
		} `json:"anyOf"`
		Enum []string `json:"enum"`
	} `json:"items"`
}

// choices returns the values that the field accepts; none: any.
func (f formField) choices() []string {
	all := slices.Concat(f.Enum, f.Items.Enum)
	for _, c := range f.OneOf {
		all = append(all, c.Const)
	}
	for _, c := range f.Items.AnyOf {
		all = append(all, c.Const)
	}
	return all
}

// formAnswer removes the answers to a form from updatedInput, and returns both. Programs name a question by its field, by
// its number from 0, by its text or by its header.
func formAnswer(form, updated json.RawMessage) (answer, rest json.RawMessage) {
	var object, answers map[string]json.RawMessage
	var schema struct {
		Properties map[string]formField `json:"properties"`
	}
	if json.Unmarshal(updated, &object) != nil || object["answers"] == nil || json.Unmarshal(form, &schema) != nil {
		return nil, updated
	}
	_ = json.Unmarshal(object["answers"], &answers) // other values have no answers
	filled := map[string]json.RawMessage{}
	for name, value := range answers {
		if field := findField(schema.Properties, name); field != "" {
			put(filled, schema.Properties, field, value)
		}
	}
	delete(object, "answers")
	rest, _ = json.Marshal(object)
	answer, _ = json.Marshal(filled)
	return answer, rest
}

// findField returns the field with a name; "": none.
func findField(fields map[string]formField, name string) string {
	if _, ok := fields[name]; ok {
		return name
	}
	if n, err := strconv.Atoi(name); err == nil {
		if field := "q" + strconv.Itoa(n+1); fields[field].Type != "" {
			return field
		}
	}
	for field, f := range fields {
		if name != "" && (f.Description == name || f.Title == name) && len(f.choices()) > 0 {
			return field
		}
	}
	return ""
}

// put fills a field. A text that isn't one of the choices is put into the field for other answers, if there is one.
func put(filled map[string]json.RawMessage, fields map[string]formField, name string, value json.RawMessage) {
	f := fields[name]
	var text string
	if json.Unmarshal(value, &text) != nil {
		filled[name] = value
		return
	}
	choices := f.choices()
	if _, other := fields[name+"_other"]; other && len(choices) > 0 && !slices.Contains(choices, text) {
		filled[name+"_other"] = value
		return
	}
	if f.Type == "array" {
		value, _ = json.Marshal([]string{text})
	}
	filled[name] = value
}
