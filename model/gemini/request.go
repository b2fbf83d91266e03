package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/api"
)

type request struct {
	System   *content        `json:"systemInstruction,omitempty"`
	Contents any             `json:"contents"` // nil: see api.Kept
	Tools    []toolSet       `json:"tools,omitempty"`
	Config   json.RawMessage `json:"generationConfig,omitempty"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []any  `json:"parts"` // *part, or json.RawMessage for a part that is sent back unchanged
}

type part struct {
	Text      *string           `json:"text,omitempty"`
	Inline    *blob             `json:"inlineData,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Signature json.RawMessage   `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []*part           `json:"parts,omitempty"` // only with inlineData
}

type toolSet struct {
	Declarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // instead, as an OpenAPI schema
}

type config struct {
	MaxTokens int             `json:"maxOutputTokens,omitempty"`
	Thinking  *thinkingConfig `json:"thinkingConfig,omitempty"`
}

// encoding is everything that the JSON of contents depends on. The set of rejected signatures only grows.
type encoding struct {
	quirks   quirks
	rejected int
	sees     bool
}

// encode writes the request's body. The API has no cache key: its server finds the prefix itself.
func (m *Model) encode(r model.Request) ([]byte, error) {
	m.mu.Lock()
	e := encoder{
		quirks: m.quirks, model: m.name, sees: m.client.SendsImages(), sent: map[string]bool{},
		rejected: maps.Clone(m.rejected),
	}
	m.mu.Unlock()
	var out request
	var contents []api.Entry
	if r.System != "" {
		out.System = &content{Parts: []any{textPart(r.System)}}
	}
	for _, msg := range r.Messages {
		contents = append(contents, e.entry(msg))
	}
	var declared []declaration
	for _, d := range r.Tools {
		f := declaration{Name: d.Name, Description: d.Description, Schema: m.client.Parameters(d)}
		if e.quirks.openAPI {
			f.Schema, f.Parameters = nil, openAPI(f.Schema)
		}
		declared = append(declared, f)
	}
	if len(declared) > 0 {
		out.Tools = []toolSet{{declared}}
	}
	var err error
	if out.Config, err = m.config(r, e.quirks); err != nil {
		return nil, err
	}
	body, err := m.kept.Object(out, "contents", r.CacheKey, encoding{e.quirks, len(e.rejected), e.sees}, contents,
		m.client.Options.Extra)
	if err != nil {
		return nil, fmt.Errorf("write the request to %s: %w", m.name, err)
	}
	return body, nil
}

// config returns the request's generationConfig; nil: none.
func (m *Model) config(r model.Request, q quirks) (json.RawMessage, error) {
	thinking, err := q.think(m.name, r.Effort)
	if err != nil {
		return nil, err
	}
	body, err := api.Marshal(config{cmp.Or(r.MaxTokens, m.client.Options.MaxTokens), thinking})
	if err != nil {
		return nil, err
	}
	sampling := map[string]json.RawMessage{}
	for name, value := range m.client.Options.Sampling {
		sampling[parameter(name)] = value
	}
	body, err = api.Merge(body, sampling)
	if string(body) == "{}" {
		return nil, err
	}
	return body, err
}

// parameter returns the API's name for a sampling parameter. Settings use the names of the chat completions API.
func parameter(name string) string {
	switch name {
	case "max_tokens", "max_completion_tokens":
		return "maxOutputTokens"
	case "stop":
		return "stopSequences"
	}
	words := strings.Split(name, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

func textPart(s string) *part { return &part{Text: &s} }
