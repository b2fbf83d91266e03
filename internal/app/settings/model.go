package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/tool"
)

// Model are the settings of the model.
type Model struct {
	Name      string // "" if none is set
	ForRun    bool   // the name is from a flag or a variable, not from a file
	Effort    string // how long the model thinks; "": the server decides
	Window    int    // size of its context in tokens; 0 or less: by its name
	AuthType  string // the API to use; "": any
	Enforced  Entry  // the only API that may be used; "": any
	Providers map[string][]Provider
	Pricing   map[string]Price
	Fallbacks []Entry // models that take over when one fails
	// FallbackWait is how many seconds a busy model is waited for, and then at least not asked.
	FallbackWait int
	Compaction   string // the model that summarizes conversations; "": the current one
	Dialect      string // how models write edits; "": by the model's name
	CacheTTL     string // how long Anthropic caches requests; "": 5 minutes
}

// Wait returns FallbackWait, at least a second.
func (m *Model) Wait() time.Duration { return time.Duration(max(m.FallbackWait, 1)) * time.Second }

// FallbacksOf returns the models that take over for a model: those of the command line, of its entry or of all models.
func (m *Model) FallbacksOf(name string) []string {
	given := len(m.Fallbacks) > 0 && m.Fallbacks[0].From.Line == 0
	for _, p := range m.Named(name) {
		if p.Fallbacks != nil && !given {
			return p.Fallbacks
		}
	}
	return Texts(m.Fallbacks)
}

// Named returns the entries of a model, in the order of the APIs.
func (m *Model) Named(name string) (all []Provider) {
	for _, api := range AuthTypes() {
		for _, p := range m.Providers[api] {
			if p.ID == name {
				all = append(all, p)
			}
		}
	}
	return all
}

// AuthTypes returns the APIs that modelProviders and security.auth.selectedType can name.
func AuthTypes() []string {
	return []string{"openai", "openai-responses", "anthropic", "gemini", "azure-openai", "vertex-ai"}
}

// Provider is a model with its server, in Qwen Code's format.
type Provider struct {
	ID        string   `json:"id"`
	BaseURL   string   `json:"baseUrl"`
	EnvKey    string   `json:"envKey"`    // the variable with the key
	Fallbacks []string `json:"fallbacks"` // in place of those of all models
	Config    struct {
		Window     int                        `json:"contextWindowSize"`
		Dialect    string                     `json:"editDialect"`
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

// modelKeys returns the settings of models.
func modelKeys() []key {
	return []key{
		{
			name: "model.name", also: []string{"model"}, env: []string{"QWEN_MODEL"}, shape: stringShape,
			about: "Model to use.", put: putModelName,
		},
		{
			name: "model.reasoningEffort", shape: stringShape,
			about: "How long the model thinks, such as low, medium or high.",
			put:   text(func(s *Settings) *string { return &s.Model.Effort }),
		},
		{
			name: "model.generationConfig.contextWindowSize", shape: integerShape,
			about: "Tokens of the model's context window, in place of what Adze infers from its name.",
			put:   integer(func(s *Settings) *int { return &s.Model.Window }),
		},
		{
			name: "security.auth.selectedType", also: []string{"selectedAuthType"},
			shape: enumShape(append(AuthTypes(), "")),
			about: "API to use: openai, openai-responses, anthropic, gemini, azure-openai or vertex-ai.",
			put:   putAuthType,
		},
		{
			name: "security.auth.enforcedType", shape: enumShape(append(AuthTypes(), "")),
			about: "The only API that may be used. Another choice is an error.", put: putEnforced, tightens: always,
		},
		{ // they determine where keys are sent
			name: "modelProviders", own: true, adds: true,
			shape: `{"type":"object","additionalProperties":{"type":"array","items":{"type":"object"}}}`,
			about: "Models and their servers, in lists by API.", put: putModelProviders,
		},
		{
			name: "modelPricing", adds: true, shape: `{"type":"object","additionalProperties":{"type":"object"}}`,
			about: "Prices by model, in US dollars per million tokens.", put: putPricing,
		},
		{
			name: "compactionModel", shape: stringShape,
			about: "Model for summaries of conversations that fill the context window, instead of the current one.",
			put:   text(func(s *Settings) *string { return &s.Model.Compaction }),
		},
		{ // the conversation goes to another company
			name: "model.fallbacks", own: true, shape: listShape,
			about: "Models that take over, in this order, when one is overloaded, over its quota or broken.",
			put: func(s *Settings, g given) (string, error) { // a flag replaces the list
				s.Model.Fallbacks = nil
				return entries(func(s *Settings) *[]Entry { return &s.Model.Fallbacks })(s, g)
			},
		},
		{
			name: "model.fallbackWait", own: true, preset: "60", shape: integerShape,
			about: "Seconds to wait for a busy model before a fallback takes over, and then until it is asked again.",
			put:   integer(func(s *Settings) *int { return &s.Model.FallbackWait }),
		},
		{
			name: "model.editDialect", preset: `"auto"`, shape: enumShape(editDialects()),
			about: "How the model writes edits: replace (edit), patch (apply_patch), anchors (edit_lines, " +
				"with anchors in read_file), or auto, by the model's name.",
			put: choice(editDialects(), `"auto", "replace", "patch" or "anchors"`,
				func(s *Settings) *string { return &s.Model.Dialect }),
		},
		{
			name: "model.cacheTtl", preset: `"5m"`, shape: enumShape(cacheTTLs()),
			about: "How long Anthropic caches the start of requests: 5m, or 1h, which costs more to write.",
			put:   choice(cacheTTLs(), `"5m" or "1h"`, func(s *Settings) *string { return &s.Model.CacheTTL }),
		},
	}
}

func editDialects() []string {
	return []string{"auto", string(tool.ReplaceDialect), string(tool.PatchDialect), string(tool.AnchorDialect)}
}

func cacheTTLs() []string { return []string{"5m", "1h"} }

// choice reads one of several values. The first one, the default, is saved as "".
func choice(values []string, want string, at func(*Settings) *string) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (note string, err error) {
		var said string
		if json.Unmarshal(g.json(), &said) != nil || !slices.Contains(values, said) {
			return "", mustBe(want, g)
		}
		if said == values[0] {
			said = ""
		}
		*at(s) = said
		return "", nil
	}
}

// putEnforced reads the only API that may be used. An unknown one can't be used, so it is an error in every file.
func putEnforced(s *Settings, g given) (note string, err error) {
	var said string
	if json.Unmarshal(g.json(), &said) != nil {
		return "", mustBe("a string", g)
	}
	if said != "" && !slices.Contains(AuthTypes(), said) {
		return "", fmt.Errorf("has the unsupported value %q\nExpected one of: %s", said,
			strings.Join(AuthTypes(), ", "))
	}
	if e := s.Model.Enforced; e.Text != "" && e.Text != said {
		return "", fmt.Errorf("is %q, but %s enforces %q", said, e.From, e.Text)
	}
	s.Model.Enforced = Entry{said, g.from}
	return "", nil
}

// enforce makes the enforced API the only one.
func (m *Model) enforce() error {
	switch only := m.Enforced.Text; {
	case only == "" || m.AuthType == only:
	case m.AuthType == "":
		m.AuthType = only
	default:
		return &Error{
			From: m.Enforced.From, Key: "security.auth.enforcedType",
			Reason: fmt.Sprintf("allows only %q, but %q is selected", only, m.AuthType),
		}
	}
	return nil
}

func putModelName(s *Settings, g given) (note string, err error) {
	note, err = text(func(s *Settings) *string { return &s.Model.Name })(s, g)
	s.Model.ForRun = err == nil && g.file == nil && s.Model.Name != ""
	return note, err
}

// putAuthType reads the API. Others of Qwen Code are not supported.
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

// putModelProviders reads lists of models by API. Entries of a later file come first, so that they replace earlier
// ones.
func putModelProviders(s *Settings, g given) (note string, err error) {
	const want = "an object with lists of models by API, such as {\"openai\":[{\"id\":…,\"baseUrl\":…,\"envKey\":…}]}"
	var lists map[string]json.RawMessage
	if json.Unmarshal(g.json(), &lists) != nil {
		return "", mustBe(want, g)
	}
	all := merged(s.Model.Providers, nil)
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
		note = fmt.Sprintf("%s: not supported (expected %s)", strings.Join(unknown, ", "),
			strings.Join(AuthTypes(), ", "))
	}
	return note, nil
}

// putPricing reads prices by model. A later file's price replaces that of the same model.
func putPricing(s *Settings, g given) (note string, err error) {
	var prices map[string]Price
	if json.Unmarshal(g.json(), &prices) != nil {
		return "", mustBe(`an object with prices in US dollars per million tokens by model, such as {"gpt-5":{"input":1.25,"output":10}}`, g)
	}
	s.Model.Pricing = merged(s.Model.Pricing, prices)
	return "", nil
}

// merged returns what is in two maps, where the second one overrides the first one.
func merged[V any](old, more map[string]V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, old)
	maps.Copy(all, more)
	return all
}

// Limits end a run. 0 or less: no limit.
type Limits struct {
	Turns     int // requests to the model, of all agents together
	Seconds   int
	Calls     int // tool calls, of all agents together
	Request   int // tokens of one request
	Depth     int // maximum depth of nested subagents; 0 with DepthSet: none
	DepthSet  bool
	Subagents int // that run at once
}

// limitKeys returns the settings of limits, as Qwen Code names them.
func limitKeys() []key {
	turns := func(s *Settings) *int { return &s.Limits.Turns }
	seconds := func(s *Settings) *int { return &s.Limits.Seconds }
	calls := func(s *Settings) *int { return &s.Limits.Calls }
	request := func(s *Settings) *int { return &s.Limits.Request }
	subagents := func(s *Settings) *int { return &s.Limits.Subagents }
	return []key{
		{
			name: "model.maxSessionTurns", also: []string{"maxSessionTurns"}, shape: integerShape,
			about: "Maximum number of model turns (exit code 53). 0 for no limit.",
			put:   integer(turns), tightens: lower(turns),
		},
		{
			name: "model.maxWallTimeSeconds", shape: integerShape,
			about: "Maximum time of a run, in seconds (exit code 55). 0 for no limit.",
			put:   integer(seconds), tightens: lower(seconds),
		},
		{
			name: "model.maxToolCalls", shape: integerShape,
			about: "Maximum number of tool calls, including those of subagents (exit code 55). 0 for no limit.",
			put:   integer(calls), tightens: lower(calls),
		},
		{
			name: "model.sessionTokenLimit", also: []string{"sessionTokenLimit"}, shape: integerShape,
			about: "Maximum number of tokens of a conversation (exit code 55). 0 for no limit.",
			put:   integer(request), tightens: lower(request),
		},
		{
			name: "model.maxSubagentDepth", shape: integerShape,
			about: "Maximum depth of nested subagents (0 to 3; 0 turns subagents off).",
			put:   putDepth, tightens: shallower,
		},
		{
			name: "agents.maxParallelAgents", shape: integerShape,
			about: "Maximum number of parallel subagents (1 to 8; default 8).",
			put:   integer(subagents), tightens: lower(subagents),
		},
	}
}

// lower reports whether a limit became stricter.
func lower(at func(*Settings) *int) func(before, after *Settings) bool {
	return func(before, after *Settings) bool {
		was, is := *at(before), *at(after)
		return was <= 0 || is > 0 && is <= was
	}
}

func putDepth(s *Settings, g given) (note string, err error) {
	note, err = integer(func(s *Settings) *int { return &s.Limits.Depth })(s, g)
	s.Limits.DepthSet = err == nil && s.Limits.Depth >= 0
	return note, err
}

func shallower(before, after *Settings) bool {
	return !before.Limits.DepthSet || after.Limits.DepthSet && after.Limits.Depth <= before.Limits.Depth
}
