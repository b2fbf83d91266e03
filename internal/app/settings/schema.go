package settings

import (
	"encoding/json"
	"sort"
	"strings"
)

// shape is the JSON Schema of a setting's value.
type shape string

const (
	stringShape  shape = `{"type":"string"}`
	integerShape shape = `{"type":"integer"}`
	booleanShape shape = `{"type":"boolean"}`
	listShape    shape = `{"type":"array","items":{"type":"string"}}`
)

func enumShape(values []string) shape {
	list, _ := json.Marshal(values) // can't fail for strings
	return shape(`{"enum":` + string(list) + `}`)
}

// title returns the type in words, for documentation.
func (s shape) title() string {
	switch s {
	case stringShape:
		return "string"
	case integerShape:
		return "integer"
	case booleanShape:
		return "boolean"
	case listShape:
		return "list of strings"
	}
	var in struct {
		Type string
		Enum []string
	}
	if json.Unmarshal([]byte(s), &in) != nil {
		return "string or list"
	}
	switch {
	case in.Enum != nil:
		return "string"
	case in.Type == "":
		return "string or list of strings"
	case in.Type == "array":
		return "list of objects"
	}
	return in.Type
}

// Described describes a setting, for documentation.
type Described struct {
	Key     string   `json:"key"`
	Also    []string `json:"also,omitempty"` // older spellings
	Type    string   `json:"type"`
	Default string   `json:"default,omitempty"` // as JSON
	About   string   `json:"about"`
	Own     bool     `json:"userOnly,omitempty"` // only user settings may set it
	Adds    bool     `json:"adds,omitempty"`     // the values of all sources are combined
	Env     []string `json:"env,omitempty"`      // environment variables, the strongest last
	Project Trust    `json:"project"`            // what a project's settings can do
}

// Trust is how far a project's settings may change a setting.
type Trust string

// The degrees of trust.
const (
	NeverProject   Trust = "no"       // only the user and the machine set it
	TrustedProject Trust = "trusted"  // a project that the user trusts
	StricterOnly   Trust = "stricter" // any project makes it stricter; one that the user trusts sets anything
)

// project returns how far a project's settings may change the setting.
func (k key) project() Trust {
	switch {
	case k.own:
		return NeverProject
	case k.tightens == nil:
		return TrustedProject
	}
	return StricterOnly
}

// Describe lists all settings, sorted by name.
func Describe() []Described {
	var out []Described
	for _, k := range keys() {
		out = append(out, Described{k.name, k.also, k.shape.title(), k.preset, k.about, k.own, k.adds, k.env,
			k.project()})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// object is a JSON Schema of an object under construction.
type object struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Type        string             `json:"type"`
	Properties  map[string]any     `json:"properties"`
	objects     map[string]*object // the properties that are such objects
	Description string             `json:"description,omitempty"`
}

// Schema returns the JSON Schema of a settings file. Unknown keys are allowed, because Adze only warns about them.
func Schema() ([]byte, error) {
	root := &object{Schema: "https://json-schema.org/draft/2020-12/schema", Title: "Adze settings", Type: "object"}
	root.at("$schema", json.RawMessage(`{"type":"string"}`))
	for _, k := range keys() {
		value := map[string]any{}
		if err := json.Unmarshal([]byte(k.shape), &value); err != nil {
			return nil, err
		}
		value["description"] = k.about
		if k.preset != "" {
			value["default"] = json.RawMessage(k.preset)
		}
		parts := strings.Split(k.name, ".")
		root.below(parts[:len(parts)-1]).at(parts[len(parts)-1], value)
	}
	return json.MarshalIndent(root, "", "  ")
}

// at sets a property.
func (o *object) at(name string, schema any) {
	if o.Properties == nil {
		o.Properties = map[string]any{}
	}
	o.Properties[name] = schema
}

// below returns the object at a path.
func (o *object) below(path []string) *object {
	for _, name := range path {
		if o.objects == nil {
			o.objects = map[string]*object{}
		}
		if o.objects[name] == nil {
			o.objects[name] = &object{Type: "object"}
			o.at(name, o.objects[name])
		}
		o = o.objects[name]
	}
	return o
}
