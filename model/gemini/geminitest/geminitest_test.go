package geminitest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/gemini/geminitest"
	"github.com/google/go-cmp/cmp"
)

const path = "/v1beta/models/m:streamGenerateContent?alt=sse"

// hi is a request with one message.
const hi = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`

// post sends a request and returns what came back.
func post(t *testing.T, s *geminitest.Server, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Goog-Api-Key", "k")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

// The stream equals the real server's byte for byte, except for counts.
func TestStream(t *testing.T) {
	s := geminitest.Serve(t, geminitest.Script{Key: "k", Answers: []geminitest.Answer{{
		Thought: "hm", Text: "ab", Signature: "ZW5k",
		Calls:  []geminitest.Call{{ID: "x", Name: "f", Args: []byte(`{"a": 1}`), Signature: "c2ln"}, {Name: "g"}},
		Usage:  geminitest.Usage{Input: 9, Output: 2, Thoughts: 3, Cached: 4},
		Faults: geminitest.Faults{Split: 1},
	}}})
	status, got := post(t, s, path, hi)
	part := func(p string) string {
		return `data: {"candidates":[{"content":{"parts":[` + p + `],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":12},"modelVersion":"scripted","responseId":"response_1"}` + "\r\n\r\n"
	}
	want := part(`{"text":"h","thought":true}`) + part(`{"text":"m","thought":true}`) + part(`{"text":"a"}`) + part(`{"text":"b"}`) +
		part(`{"functionCall":{"name":"f","args":{"a":1},"id":"x"},"thoughtSignature":"c2ln"}`) + part(`{"functionCall":{"name":"g"}}`) +
		`data: {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"ZW5k"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"cachedContentTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":14},"modelVersion":"scripted","responseId":"response_1"}` + "\r\n\r\n"
	if d := cmp.Diff(want, got); d != "" || status != 200 {
		t.Error(status, d)
	}
}

func TestOtherAnswers(t *testing.T) {
	s := geminitest.Serve(t, geminitest.Script{Key: "k", Answers: []geminitest.Answer{
		{Text: "half", Error: "UNAVAILABLE"},
		{Block: "SAFETY", Message: "no"},
		{Finish: "MALFORMED_FUNCTION_CALL", Message: "what"},
		{Text: "a", Faults: geminitest.Faults{Plain: true}},
		{Status: 503, Raw: `{}`},
	}})
	for _, want := range []string{
		`data: {"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}` + "\r\n\r\n",
		`data: {"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"},"usageMetadata"`,
		`data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","index":0,"finishMessage":"what"}],`,
		`[{"candidates":[{"content":{"parts":[{"text":"a"}],`,
		`{}`,
	} {
		if _, got := post(t, s, path, hi); !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if status, got := post(t, s, "/v1beta/models/m:countTokens", hi); status != 200 || got != `{"totalTokens":13}` {
		t.Error(status, got)
	}
	if status, got := post(t, s, "/v1beta/models/m:streamGenerateContent", hi); status != 404 || !strings.Contains(got, `"NOT_FOUND"`) {
		t.Error(status, got)
	}
}

// A request that the real server rejects does not get an answer, and fails the test.
func TestRejects(t *testing.T) {
	contents := func(list string) string { return `{"contents":[` + list + `]}` }
	user := `{"role":"user","parts":[{"text":"hi"}]},`
	call := `{"role":"model","parts":[{"functionCall":{"name":"f","id":"x"},"thoughtSignature":"c2ln"}]},`
	response := `{"role":"user","parts":[{"functionResponse":{"name":"f","id":"x","response":{}}}]}`
	if why := rejection(t, contents(user+call+response)); why != "" {
		t.Fatal(why)
	}
	for name, c := range map[string]struct{ body, want string }{
		"no JSON":                 {`{`, "Invalid JSON payload received."},
		"an unknown field":        {`{"model":"m"}`, `Unknown name "model": Cannot find field.`},
		"an unknown field inside": {contents(`{"role":"user","parts":[{"text":"hi","type":"text"}]}`), `Unknown name "type": Cannot find field.`},
		"no contents":             {`{}`, "contents is not specified"},
		"no parts":                {contents(`{"role":"user","parts":[]}`), "contents.parts must not be empty"},
		"no data":                 {contents(`{"role":"user","parts":[{}]}`), "contents[0].parts[0].data: required oneof field 'data' must have one initialized field"},
		"a role":                  {contents(`{"role":"assistant","parts":[{"text":"hi"}]}`), "Please use a valid role: user, model."},
		"an empty image":          {contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":""}}]}`), "Unable to process input image"},
		"the model last":          {contents(user + `{"role":"model","parts":[{"text":"hi"}]}`), "end with a user role"},
		"a call first":            {contents(call + response), "immediately after a user turn"},
		"a call after the model":  {contents(user + `{"role":"model","parts":[{"text":"hi"}]},` + call + response), "immediately after a user turn"},
		"a call of the user":      {contents(user + strings.Replace(call, "model", "user", 1) + response), "in a model turn"},
		"no response":             {contents(user + call + strings.TrimSuffix(user, ",")), "the number of function response parts is equal to"},
		"a response too many":     {contents(user + response), "immediately after a function call turn"},
		"a response as a string":  {contents(user + call + strings.Replace(response, "{}", `"ok"`, 1)), "Invalid JSON payload received."},
		"no response object":      {contents(user + call + strings.Replace(response, `,"response":{}`, "", 1)), "function_response.response: required field"},
		"another name":            {contents(user + call + strings.Replace(response, `"f"`, `"g"`, 1)), "doesn't match function call f"},
		"another id":              {contents(user + call + strings.Replace(response, `"x"`, `"y"`, 1)), "doesn't match function call f"},
		"an id of its own":        {contents(user + strings.Replace(call, `"x"`, `"y"`, 1) + strings.Replace(response, `"x"`, `"y"`, 1)), `Function call id "y" is unknown`},
		"no signature":            {contents(user + strings.Replace(call, `,"thoughtSignature":"c2ln"`, "", 1) + response), "missing a thought_signature in functionCall parts"},
		"another signature":       {contents(user + strings.Replace(call, "c2ln", "bm8=", 1) + response), "Thought signature is not valid."},
		"no base64":               {contents(user + strings.Replace(call, "c2ln", "!", 1) + response), "Base64 decoding failed"},
		"a signature elsewhere":   {contents(`{"role":"user","parts":[{"text":"hi","thoughtSignature":"c2ln"}]}`), "Thought signature is not valid."},
		"a level":                 {`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HUGE"}},` + hi[1:], `, "HUGE"`},
		"a level and a budget":    {`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":1}},` + hi[1:], "only one of thinking budget and thinking level"},
		"a function's name":       {`{"tools":[{"functionDeclarations":[{"name":"1 f"}]}],` + hi[1:], "Invalid function name"},
		"a function twice":        {`{"tools":[{"functionDeclarations":[{"name":"f"},{"name":"f"}]}],` + hi[1:], "Duplicate function declaration found: f"},
		"a keyword":               {`{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"object","properties":{"a":{"anyOf":[{"items":{"const":1}}]}}}}]}],` + hi[1:], `Unknown name "const" at 'tools[0].function_declarations[0].parameters'`},
		"two schemas":             {`{"tools":[{"functionDeclarations":[{"name":"f","parameters":{},"parametersJsonSchema":{}}]}],` + hi[1:], "only one of parameters"},
	} {
		if why := rejection(t, c.body); !strings.Contains(why, c.want) {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// rejection is why a server whose model made the call f with a signature rejects a request; "": it doesn't.
func rejection(t *testing.T, body string) string {
	t.Helper()
	s, err := geminitest.Start(geminitest.Script{Key: "k", Answers: []geminitest.Answer{
		{Calls: []geminitest.Call{{ID: "x", Name: "f", Signature: "c2ln"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	status, got := post(t, s, path, body)
	if rejected := status == 400; rejected != (s.Err() != nil) {
		t.Errorf("%d %s, but %v", status, got, s.Err())
	}
	if status == 200 {
		return ""
	}
	return strings.ReplaceAll(got, `\"`, `"`)
}

func TestWrongKey(t *testing.T) {
	s, err := geminitest.Start(geminitest.Script{Key: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if status, got := post(t, s, path, hi); status != 400 || !strings.Contains(got, "API key not valid.") || !strings.Contains(got, `"API_KEY_INVALID"`) {
		t.Error(status, got)
	}
}

func TestParse(t *testing.T) {
	s, err := geminitest.Parse([]byte(`{"key":"k","answers":[{"text":"$A","faults":{"pause":"1ms"}}]}`), map[string]string{"$A": "b"})
	if err != nil || s.Answers[0].Text != "b" {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := geminitest.Parse([]byte(`{"answers":[{"txt":"a"}]}`), nil); err == nil || !strings.Contains(err.Error(), `"txt"`) {
		t.Errorf("a misspelt key: %v", err)
	}
}
