package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Model is which model is used, and how.
type Model struct {
	Name       string // "" if nobody chose one
	ForRun     bool   // a flag or a variable chose the name, not a file
	Effort     string // how long the model thinks; "": the server decides
	Window     int    // tokens of its context; 0 or less: what is known of the name
	AuthType   string // the API to use; "": any
	Providers  map[string][]Provider
	Pricing    map[string]Price
	Compaction string // the model that summarizes conversations; "": the one that is used
}

// AuthTypes are the APIs that modelProviders and security.auth.selectedType can name.
func AuthTypes() []string { return []string{"openai", "openai-responses", "anthropic", "gemini"} }

// Provider is a model with its server, as Qwen Code writes it.
type Provider struct {
	ID      string `json:"id"`
	BaseURL string `json:"baseUrl"`
	EnvKey  string `json:"envKey"` // the variable that has the key
	Config  struct {
		Window     int                        `json:"contextWindowSize"`
		Timeout    int                        `json:"timeout"` // milliseconds
		MaxRetries *int                       `json:"maxRetries"`
		Sampling   map[string]json.RawMessage `json:"samplingParams"`
		Headers    map[string]string          `json:"customHeaders"`
		Extra      map[string]json.RawMessage `json:"extra_body"`
	} `json:"generationConfig"`
}

// Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// modelKeys are the settings of models.
func modelKeys() []key {
	return []key{
		{
			name: "model.generationConfig.contextWindowSize",
			put:  integer(func(s *Settings) *int { return &s.Model.Window }),
		},
		{name: "model.name", also: []string{"model"}, env: []string{"QWEN_MODEL"}, put: putModelName},
		{
			name: "model.reasoningEffort",
			put:  text(func(s *Settings) *string { return &s.Model.Effort }),
		},
		{name: "security.auth.selectedType", also: []string{"selectedAuthType"}, put: putAuthType},
		{name: "modelProviders", own: true, put: putModelProviders}, // they say where keys are sent
		{name: "modelPricing", put: putPricing},
		{
			name: "compactionModel",
			put:  text(func(s *Settings) *string { return &s.Model.Compaction }),
		},
	}
}

func putModelName(s *Settings, g given) (note string, err error) {
	note, err = text(func(s *Settings) *string { return &s.Model.Name })(s, g)
	s.Model.ForRun = err == nil && g.file == nil && s.Model.Name != ""
	return note, err
}

// putAuthType takes the APIs. Qwen Code has others, which are not supported.
func putAuthType(s *Settings, g given) (note string, err error) {
	var said string
	if json.Unmarshal(g.json(), &said) != nil {
		return "", mustBe("a string", g)
	}
	switch {
	case said == "" || slices.Contains(AuthTypes(), said):
		s.Model.AuthType = said
	case g.qwen:
		return fmt.Sprintf("%q is not supported; any API is used", said), nil
	default:
		return "", fmt.Errorf("has the invalid value %q\nExpected one of: %s", said, strings.Join(AuthTypes(), ", "))
	}
	return "", nil
}

// putModelProviders takes lists of models by API. Entries of a later file come first, so that they replace earlier ones.
func putModelProviders(s *Settings, g given) (note string, err error) {
	const want = "an object with lists of models by API, such as {\"openai\":[{\"id\":…,\"baseUrl\":…,\"envKey\":…}]}"
	var lists map[string]json.RawMessage
	if json.Unmarshal(g.json(), &lists) != nil {
		return "", mustBe(want, g)
	}
	all := maps.Clone(s.Model.Providers)
	if all == nil {
		all = map[string][]Provider{}
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if !slices.Contains(AuthTypes(), name) {
			unknown = append(unknown, name)
			continue
		}
		var list []Provider
		if err := json.Unmarshal(lists[name], &list); err != nil {
			return "", fmt.Errorf("has an invalid list %s: %w\nExpected %s", name, err, want)
		}
		for i, p := range list {
			if p.ID == "" {
				return "", fmt.Errorf("has no id in %s[%d]\nExpected %s", name, i, want)
			}
		}
		all[name] = append(list, all[name]...)
	}
	s.Model.Providers = all
	if len(unknown) > 0 {
		note = fmt.Sprintf("%s: not supported (expected %s)", strings.Join(unknown, ", "), strings.Join(AuthTypes(), ", "))
	}
	return note, nil
}

// putPricing takes prices by model. A later file's replaces that of the same model.
func putPricing(s *Settings, g given) (note string, err error) {
	var prices map[string]Price
	if json.Unmarshal(g.json(), &prices) != nil {
		return "", mustBe(`an object with prices in US dollars per million tokens by model, such as {"gpt-5":{"input":1.25,"output":10}}`, g)
	}
	all := maps.Clone(s.Model.Pricing)
	if all == nil {
		all = map[string]Price{}
	}
	maps.Copy(all, prices)
	s.Model.Pricing = all
	return "", nil
}
