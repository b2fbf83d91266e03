package geminitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// The request, with the fields that the API has. Any other is rejected.
type request struct {
	Contents          []content        `json:"contents"`
	SystemInstruction *content         `json:"systemInstruction"`
	Tools             []tools          `json:"tools"`
	ToolConfig        json.RawMessage  `json:"toolConfig"`
	SafetySettings    json.RawMessage  `json:"safetySettings"`
	CachedContent     string           `json:"cachedContent"`
	GenerationConfig  generationConfig `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text             *string           `json:"text"`
	Thought          bool              `json:"thought"`
	InlineData       *blob             `json:"inlineData"`
	FileData         json.RawMessage   `json:"fileData"`
	FunctionCall     *functionCall     `json:"functionCall"`
	FunctionResponse *functionResponse `json:"functionResponse"`
	ThoughtSignature string            `json:"thoughtSignature"`

	ExecutableCode      json.RawMessage `json:"executableCode"`
	CodeExecutionResult json.RawMessage `json:"codeExecutionResult"`
}

type blob struct {
	MIMEType    string `json:"mimeType"`
	Data        []byte `json:"data"`
	DisplayName string `json:"displayName"`
}

type functionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

type functionResponse struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
	Parts    []struct {
		InlineData *blob `json:"inlineData"`
	} `json:"parts"`
}

type tools struct {
	FunctionDeclarations []struct {
		Name                 string          `json:"name"`
		Description          string          `json:"description"`
		Parameters           json.RawMessage `json:"parameters"`
		ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
	} `json:"functionDeclarations"`
	CodeExecution json.RawMessage `json:"codeExecution"`
	GoogleSearch  json.RawMessage `json:"googleSearch"`
}

type generationConfig struct {
	MaxOutputTokens  int             `json:"maxOutputTokens"`
	Temperature      *float64        `json:"temperature"`
	TopP             *float64        `json:"topP"`
	TopK             *float64        `json:"topK"`
	Seed             *int            `json:"seed"`
	CandidateCount   int             `json:"candidateCount"`
	StopSequences    []string        `json:"stopSequences"`
	PresencePenalty  *float64        `json:"presencePenalty"`
	FrequencyPenalty *float64        `json:"frequencyPenalty"`
	ResponseMIMEType string          `json:"responseMimeType"`
	ResponseSchema   json.RawMessage `json:"responseSchema"`
	ThinkingConfig   *struct {
		IncludeThoughts bool   `json:"includeThoughts"`
		ThinkingLevel   string `json:"thinkingLevel"`
		ThinkingBudget  *int   `json:"thinkingBudget"`
	} `json:"thinkingConfig"`
}

// skipValidation is a signature that the server doesn't check.
const skipValidation = "skip_thought_signature_validator"

// check rejects requests that the real server rejects, with its messages.
func (s Script) check(_ http.Header, body string) string {
	var r request
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return "Invalid JSON payload received. Unknown name " + name + ": Cannot find field."
		}
		return "Invalid JSON payload received. " + err.Error()
	}
	if len(r.Contents) == 0 {
		return "* GenerateContentRequest.contents: contents is not specified\n"
	}
	for i, c := range r.Contents {
		if why := s.content(i, c); why != "" {
			return why
		}
		if why := turns(r.Contents[:i], c); why != "" {
			return why
		}
	}
	if last := r.Contents[len(r.Contents)-1]; last.Role == "model" {
		return "Please ensure that single turn requests end with a user role or the role field is empty."
	}
	if why := r.GenerationConfig.check(); why != "" {
		return why
	}
	return declarations(r.Tools)
}

// content checks one message by itself.
func (s Script) content(i int, c content) string {
	if c.Role != "user" && c.Role != "model" && c.Role != "" {
		return "Please use a valid role: user, model."
	}
	if len(c.Parts) == 0 {
		return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
	}
	called := false
	for n, p := range c.Parts {
		if p.fields() != 1 {
			return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' "+
				"must have one initialized field\n", i, n)
		}
		first := p.FunctionCall != nil && !called
		called = called || first
		if why := s.signature(p, first, n+1); why != "" {
			return why
		}
		switch {
		case p.FunctionCall != nil && c.Role != "model", p.FunctionResponse != nil && c.Role == "model":
			return "Please ensure that function calls are in a model turn and function responses in a user turn."
		case p.FunctionCall != nil && !s.sent(p.FunctionCall.ID):
			return fmt.Sprintf("Function call id %q is unknown.", p.FunctionCall.ID)
		case p.FunctionResponse != nil && p.FunctionResponse.Response == nil:
			return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].function_response.response: "+
				"required field\n", i, n)
		case p.InlineData != nil && (p.InlineData.MIMEType == "" || len(p.InlineData.Data) == 0):
			return "Unable to process input image. Please retry or report."
		}
	}
	return ""
}

// fields counts the fields of which a part must have exactly one.
func (p part) fields() int {
	n := 0
	for _, set := range []bool{p.Text != nil, p.InlineData != nil, p.FileData != nil, p.FunctionCall != nil,
		p.FunctionResponse != nil,
		p.ExecutableCode != nil, p.CodeExecutionResult != nil} {
		if set {
			n++
		}
	}
	return n
}

// signature rejects a call without its signature, and a signature of another part.
func (s Script) signature(p part, first bool, position int) string {
	switch given := p.ThoughtSignature; {
	case given == skipValidation:
		return ""
	case given == "" && first && s.signs():
		return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for "+
			"tools to work correctly, and missing thought_signature may lead to degraded model performance. "+
			"Additional data, function call `default_api:%s` , position %d.", p.FunctionCall.Name, position)
	case given == "":
		return ""
	default:
		if _, err := base64.StdEncoding.DecodeString(given); err != nil {
			return "Invalid value at 'contents[0].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed"
		}
		if !s.signed(p) {
			return "Thought signature is not valid."
		}
	}
	return ""
}

// signs reports whether the script's model signs its calls.
func (s Script) signs() bool {
	for _, a := range s.Answers {
		for _, c := range a.Calls {
			if c.Signature != "" {
				return true
			}
		}
	}
	return false
}

// signed reports whether the script has the part with its signature.
func (s Script) signed(p part) bool {
	text := ""
	switch {
	case p.FunctionCall != nil:
		text = p.FunctionCall.Name
	case p.Text != nil:
		text = *p.Text
	}
	for _, a := range s.Answers {
		if strings.Contains(a.Raw, p.ThoughtSignature) {
			return true
		}
		for _, q := range a.parts() {
			if q.signature == p.ThoughtSignature && q.content == text {
				return true
			}
		}
	}
	return false
}

// sent reports whether the script has a call with the ID. A missing ID is valid.
func (s Script) sent(id string) bool {
	for _, a := range s.Answers {
		if strings.Contains(a.Raw, `"`+id+`"`) {
			return true
		}
		for _, c := range a.Calls {
			if c.ID == id {
				return true
			}
		}
	}
	return id == ""
}

// turns checks that calls come after a user's turn, and that each has its response in the next one.
func turns(before []content, c content) string {
	var last content
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	open, given := last.calls(), c.responses()
	switch {
	case len(c.calls()) > 0 && (len(before) == 0 || last.Role == "model"):
		return "Please ensure that function call turn comes immediately after a user turn or after a function " +
			"response turn."
	case len(given) > 0 && len(open) == 0:
		return "Please ensure that function response turn comes immediately after a function call turn."
	case len(given) != len(open):
		return "Please ensure that the number of function response parts is equal to the number of function call " +
			"parts of the function call turn."
	}
	for i, r := range given {
		if r.Name != open[i].Name || r.ID != open[i].ID {
			return fmt.Sprintf("Function response %s %q doesn't match function call %s %q.", r.Name, r.ID, open[i].Name,
				open[i].ID)
		}
	}
	return ""
}

func (c content) calls() (out []*functionCall) {
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			out = append(out, p.FunctionCall)
		}
	}
	return out
}

func (c content) responses() (out []*functionResponse) {
	for _, p := range c.Parts {
		if p.FunctionResponse != nil {
			out = append(out, p.FunctionResponse)
		}
	}
	return out
}

func (g generationConfig) check() string {
	t := g.ThinkingConfig
	if t == nil {
		return ""
	}
	switch strings.ToUpper(t.ThinkingLevel) {
	case "", "MINIMAL", "LOW", "MEDIUM", "HIGH":
	default:
		return fmt.Sprintf("Invalid value at 'generation_config.thinking_config.thinking_level' "+
			"(type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), %q",
			t.ThinkingLevel)
	}
	if t.ThinkingLevel != "" && t.ThinkingBudget != nil {
		return "You can only set only one of thinking budget and thinking level."
	}
	return ""
}

var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

func declarations(list []tools) string {
	seen := map[string]bool{}
	for i, t := range list {
		for n, d := range t.FunctionDeclarations {
			at := fmt.Sprintf("GenerateContentRequest.tools[%d].function_declarations[%d]", i, n)
			switch {
			case !functionName.MatchString(d.Name):
				return "* " + at + ".name: Invalid function name. Must start with a letter or an underscore.\n"
			case seen[d.Name]:
				return "Duplicate function declaration found: " + d.Name
			case d.Parameters != nil && d.ParametersJSONSchema != nil:
				return "* " + at + ": only one of parameters and parameters_json_schema may be set.\n"
			case d.ParametersJSONSchema != nil && !bytes.HasPrefix(d.ParametersJSONSchema, []byte("{")):
				return "* " + at + ".parameters_json_schema: must be an object.\n"
			}
			if key := unknownKeyword(d.Parameters); key != "" {
				return fmt.Sprintf("Invalid JSON payload received. Unknown name %q at "+
					"'tools[%d].function_declarations[%d].parameters': Cannot find field.", key, i, n)
			}
			seen[d.Name] = true
		}
	}
	return ""
}

// keywords are the allowed keywords of a schema in parameters.
var keywords = []string{
	"type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "anyOf", "minimum",
	"maximum",
	"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "pattern", "example", "default",
	"propertyOrdering",
}

// unknownKeyword returns a keyword of a schema that isn't allowed in parameters; "": none.
func unknownKeyword(schema json.RawMessage) string {
	var node map[string]json.RawMessage
	if json.Unmarshal(schema, &node) != nil {
		return ""
	}
	children := []json.RawMessage{node["items"]}
	var list []json.RawMessage
	var named map[string]json.RawMessage
	if json.Unmarshal(node["anyOf"], &list) == nil {
		children = append(children, list...)
	}
	if json.Unmarshal(node["properties"], &named) == nil {
		children = slices.AppendSeq(children, maps.Values(named))
	}
	for key := range node {
		if !slices.Contains(keywords, key) {
			return key
		}
	}
	for _, c := range children {
		if key := unknownKeyword(c); key != "" {
			return key
		}
	}
	return ""
}
