package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// names are the names that parameters of a struct, and of structs within it, accept in addition to the declared ones.
type names struct {
	aliases map[string][]string
	ignored []string                   // parameters that have no effect
	lenient []string                   // declared as required, and accepted when missing
	silent  map[string]json.RawMessage // accepted, and not declared
	inner   map[string]*names
	items   *names
}

func (a *names) apply(n *node) {
	if a == nil || n == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.silent)) {
		n.properties[name], n.order = parseChild(a.silent[name], 1), append(n.order, name)
		n.properties[name].silent = true
	}
	for name, aliases := range a.aliases {
		n.properties[name].aliases = aliases
	}
	n.ignored = a.ignored
	n.required = slices.DeleteFunc(n.required, func(name string) bool { return slices.Contains(a.lenient, name) })
	for name, inner := range a.inner {
		inner.apply(n.properties[name])
	}
	a.items.apply(n.items)
}

// Struct is the schema of a struct type.
type Struct struct {
	JSON  json.RawMessage // properties in the order of the fields
	names *names
}

// Of writes the JSON Schema of a struct type. A field is a property under its JSON name, required unless its tag says
// omitempty or omitzero. Further tags become keywords: description, enum, minimum, maximum, minLength, maxLength,
// minItems, maxItems and default. The tags alias, lenient and ignored aren't in the JSON, nor are fields tagged
// declared:"false"; they apply to the schema that Parse returns.
func Of(t reflect.Type) (*Struct, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the arguments are %s, not a struct", t)
	}
	raw, names, err := structSchema(t)
	if err != nil {
		return nil, err
	}
	return &Struct{raw, names}, nil
}

// Parse returns the schema that arguments for the struct are checked against.
func (s *Struct) Parse() (*Schema, error) {
	parsed, err := Parse(s.JSON)
	if err != nil {
		return nil, err
	}
	s.names.apply(parsed.root)
	return parsed, nil
}

func structSchema(t reflect.Type) (json.RawMessage, *names, error) {
	found := &names{aliases: map[string][]string{}, inner: map[string]*names{}, silent: map[string]json.RawMessage{}}
	var properties, required []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			return nil, nil, fmt.Errorf("field %s has no json name", f.Name)
		}
		schema, inner, err := typeSchema(f.Type, f.Tag)
		if err != nil {
			return nil, nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if inner != nil {
			found.inner[name] = inner
		}
		if alias := f.Tag.Get("alias"); alias != "" {
			found.aliases[name] = strings.Split(alias, ",")
		}
		if ignored := f.Tag.Get("ignored"); ignored != "" {
			found.ignored = append(found.ignored, strings.Split(ignored, ",")...)
		}
		if f.Tag.Get("lenient") == "true" {
			found.lenient = append(found.lenient, name)
		}
		if f.Tag.Get("declared") == "false" {
			found.silent[name] = schema
			continue
		}
		properties = append(properties, quote(name)+":"+string(schema))
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, quote(name))
		}
	}
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{` + strings.Join(properties, ",") + "}")
	if len(required) > 0 {
		b.WriteString(`,"required":[` + strings.Join(required, ",") + "]")
	}
	b.WriteString(`,"additionalProperties":false}`)
	return b.Bytes(), found, nil
}

// typeSchema writes the schema of one field.
func typeSchema(t reflect.Type, tag reflect.StructTag) (json.RawMessage, *names, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var fields []string
	var inner *names
	switch t.Kind() {
	case reflect.String:
		fields = append(fields, `"type":"string"`)
	case reflect.Bool:
		fields = append(fields, `"type":"boolean"`)
	case reflect.Int, reflect.Int64:
		fields = append(fields, `"type":"integer"`)
	case reflect.Float64:
		fields = append(fields, `"type":"number"`)
	case reflect.Slice:
		items, below, err := typeSchema(t.Elem(), "")
		if err != nil {
			return nil, nil, err
		}
		fields = append(fields, `"type":"array"`, `"items":`+string(items))
		if below != nil {
			inner = &names{items: below}
		}
	case reflect.Struct:
		s, below, err := structSchema(t)
		if err != nil {
			return nil, nil, err
		}
		fields = append(fields, strings.TrimSuffix(strings.TrimPrefix(string(s), "{"), "}"))
		inner = below
	default:
		return nil, nil, fmt.Errorf("type %s has no schema", t)
	}
	tags, err := tagKeywords(t.Kind(), tag)
	return json.RawMessage("{" + strings.Join(append(fields, tags...), ",") + "}"), inner, err
}

// tagKeywords writes the schema keywords for a field's tags.
func tagKeywords(kind reflect.Kind, tag reflect.StructTag) ([]string, error) {
	var out []string
	if d := tag.Get("description"); d != "" {
		out = append(out, `"description":`+quote(d))
	}
	if e := tag.Get("enum"); e != "" {
		if kind != reflect.String {
			return nil, fmt.Errorf("enum applies to strings, not to %s", kind)
		}
		var items []string
		for _, item := range strings.Split(e, ",") {
			items = append(items, quote(item))
		}
		out = append(out, `"enum":[`+strings.Join(items, ",")+"]")
	}
	for _, keyword := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if v := tag.Get(keyword); v != "" {
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				return nil, fmt.Errorf("%s %q is not a number", keyword, v)
			}
			out = append(out, quote(keyword)+":"+v)
		}
	}
	if d, ok := tag.Lookup("default"); ok {
		if kind == reflect.String {
			d = quote(d)
		}
		if !json.Valid([]byte(d)) {
			return nil, fmt.Errorf("default %s is not valid JSON", d)
		}
		out = append(out, `"default":`+d)
	}
	return out, nil
}

func quote(s string) string {
	return compact(s)
}
