package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/gemini"
	"github.com/adze-dev/adze/model/modeltest"
)

// refusal returns an error as the API sends it.
func refusal(code int, status, message string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q}}`, code, message, status)
}

func TestFailures(t *testing.T) {
	half := parts(`{"text":"half"}`, "")
	tests := []struct {
		name string
		a    answer
		kind model.Kind
		said string // emitted before
		want string // in the error's text
	}{
		{"400", answer{Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", "Unknown name \"x\"")}, model.ErrRejected, "", "status 400: Unknown name"},
		{"400 in a list", answer{Status: 400, Raw: "[" + refusal(400, "INVALID_ARGUMENT", "in a list") + "]"}, model.ErrRejected, "", "status 400: in a list"},
		{"wrong key", answer{Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")}, model.ErrCredentials, "", "API key not valid. Please pass a valid API key.\nCheck the API key in GEMINI_API_KEY."},
		{"no permission", answer{Status: 403, Raw: refusal(403, "PERMISSION_DENIED", "no")}, model.ErrCredentials, "", "status 403: no"},
		{"unknown model", answer{Status: 404, Raw: refusal(404, "NOT_FOUND", "models/gemini-3-scripted is not found for API version v1beta")}, model.ErrUnknownModel, "", "is not found for API version v1beta\nDid you mean gemini-3-script?"},
		{"too long", answer{Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", "The input token count (2) exceeds the maximum number of tokens allowed (1).")}, model.ErrContextLength, "", "context window"},
		{"a day's quota", answer{Status: 429, Raw: `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"34s"}]}}`}, model.ErrQuota, "", "current quota\nRetrying doesn't help."},
		{"a minute's quota", answer{Status: 429, Raw: `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]},{"retryDelay":"34s"}]}}`}, model.ErrRateLimit, "", "The server asks to wait 34s, longer than the limit of 100ms."},
		{"Retry-After", answer{Status: 429, Header: map[string]string{"Retry-After": "3600"}}, model.ErrRateLimit, "", "asks to wait 1h0m0s"},
		{"500", answer{Status: 500, Raw: refusal(500, "INTERNAL", "An internal error has occurred.")}, model.ErrServer, "", "status 500: An internal error has occurred."},
		{"a page with a status", answer{Status: 400, Raw: "<html>\n<title>Bad gate</title>"}, model.ErrRejected, "", "a web page (\"Bad gate\"), possibly from a proxy"},
		{"a page", answer{Raw: " <html>"}, model.ErrWire, "", "a web page\nCheck the base URL"},
		{"malformed JSON", answer{Raw: "data: {\"candidates\":[{]}\n\n"}, model.ErrWire, "", "an invalid chunk"},
		{"malformed JSON after text", answer{Raw: half + "data: {oops\n\n"}, model.ErrWire, "half", "oops"},
		{"a part that is not an object", answer{Raw: parts(`"text"`, "STOP")}, model.ErrWire, "", "an invalid part"},
		{"JSON that is no answer", answer{Raw: `{"hello":1}`}, model.ErrWire, "", "no candidates"},
		{"a list that is cut", answer{Raw: `[{"candidates":[`}, model.ErrWire, "", "not JSON"},
		{"an error instead of an answer", answer{Raw: "data: " + refusal(503, "UNAVAILABLE", "overloaded") + "\n\n"}, model.ErrServer, "", "stopped its answer: overloaded"},
		{"an error after text", answer{Text: "half", Error: "UNAVAILABLE"}, model.ErrServer, "half", "stopped its answer: The model is overloaded."},
		{"an error that is final, after text", answer{Raw: half + "data: " + refusal(400, "INVALID_ARGUMENT", "no") + "\n\n"}, model.ErrRejected, "half", "no"},
		{"no end", answer{Raw: half}, model.ErrCut, "half", "the stream ended too early after part of it arrived"},
		{"nothing", answer{Raw: "data: {}\n\n"}, model.ErrCut, "", "the stream ended too early"},
		{"blocked prompt", answer{Block: "PROHIBITED_CONTENT"}, model.ErrRejected, "", "the server blocked the prompt: PROHIBITED_CONTENT\nRephrase the prompt."},
		{"blocked prompt with a reason", answer{Block: "OTHER", Message: "not\nthis"}, model.ErrRejected, "", "the server blocked the prompt: OTHER (not this)\n"},
		{"malformed call", answer{Finish: "MALFORMED_FUNCTION_CALL", Message: "Malformed function call: print(f("}, model.ErrServer, "", "an invalid call or answer: MALFORMED_FUNCTION_CALL (Malformed function call: print(f()"},
		{"malformed call after text", answer{Text: "half", Finish: "MALFORMED_FUNCTION_CALL"}, model.ErrServer, "half", "MALFORMED_FUNCTION_CALL"},
		{"a call in pieces", answer{Raw: parts(`{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a"}],"willContinue":true}}`, "")}, model.ErrWire, "", "the call f in pieces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := open(t, script{Key: "sesame-1", Models: []string{"gemini-3-script"}, Repeat: true, Answers: []answer{tt.a}})
			got, err := play(t.Context(), m, request("hi"))
			for n := range 100 { // the notices of retries are not what this is about
				got = strings.TrimPrefix(got, fmt.Sprintf("retry %d\n", n+1))
			}
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) || got != tt.said {
				t.Errorf("said %q, then %v", got, err)
			}
		})
	}
}

// A wrong key: the error names the variable and the endpoint, and not the key, even if the server repeats it.
func TestWrongKey(t *testing.T) {
	m, srv := open(t, script{Key: "right"}, func(o *gemini.Options) { o.Key = "AIza-wrong" })
	_, err := play(t.Context(), m, request("hi"))
	want := "POST " + srv.URL + "/v1beta/models/gemini-3-scripted:streamGenerateContent: status 400: " +
		"API key not valid. Please pass a valid API key.\nCheck the API key in GEMINI_API_KEY."
	if !errors.Is(err, model.ErrCredentials) || err.Error() != want || len(srv.Requests()) != 1 {
		t.Errorf("%v", err)
	}
	m, _ = open(t, script{Key: "AIza-secret", Answers: []answer{{Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", "API key not valid: AIza-secret")}}})
	if _, err := play(t.Context(), m, request("hi")); err == nil || strings.Contains(err.Error(), "AIza-secret") {
		t.Errorf("%v", err)
	}
}

// What may succeed later is sent again while nothing was emitted.
func TestRetries(t *testing.T) {
	for name, a := range map[string]answer{
		"busy":             {Status: 503, Raw: refusal(503, "UNAVAILABLE", "The model is overloaded.")},
		"a minute's quota": {Status: 429, Raw: `{"error":{"code":429,"message":"quota","details":[{"retryDelay":"0.001s"}]}}`},
		"500":              {Status: 500},
		"an error event":   {Raw: "data: " + refusal(503, "UNAVAILABLE", "x") + "\n\n"},
		"malformed call":   {Finish: "MALFORMED_FUNCTION_CALL"},
		"cut":              {Text: "long enough", Faults: faults{Cut: 20}},
		"empty":            {Raw: "\n"},
	} {
		m, _ := open(t, script{Answers: []answer{a, {Text: "done"}}})
		got, err := play(t.Context(), m, request("hi"))
		if got != "retry 1\ndone\nusage 0 0 0 0\nend stop" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A call that was emitted may have run: the request is never sent again, whatever happens next.
func TestNoCallTwice(t *testing.T) {
	c := []call{{ID: "a", Name: "f", Args: json.RawMessage(`{}`)}}
	for name, a := range map[string]answer{
		"cut":            {Calls: append(c, call{ID: "b", Name: "f"}), Faults: faults{Cut: 300}},
		"an error event": {Calls: c, Error: "UNAVAILABLE"},
		"malformed call": {Calls: c, Finish: "MALFORMED_FUNCTION_CALL"},
		"a page":         {Raw: parts(`{"functionCall":{"id":"a","name":"f"}}`, "") + "data: <html>\n\n"},
	} {
		m, srv := open(t, script{Answers: []answer{a, {Text: "again"}}})
		got, err := play(t.Context(), m, request("hi"))
		if err == nil || strings.Count(got, "a f {}") != 1 || strings.Contains(got, "again") || len(srv.Requests()) != 1 {
			t.Errorf("%s: %q, %v, %d requests", name, got, err, len(srv.Requests()))
		}
		_, _ = play(t.Context(), m, request("hi")) // the script wants to be played to its end
	}
}

// A server that sends nothing is a separate error.
func TestSilence(t *testing.T) {
	m, _ := open(t, script{Answers: []answer{{Text: "a", Faults: faults{Pause: modeltest.Duration(time.Hour)}}}},
		func(o *gemini.Options) { o.FirstByte = 20 * time.Millisecond })
	if got, err := play(t.Context(), m, request("hi")); got != "" || !errors.Is(err, model.ErrTimeout) {
		t.Errorf("%q, %v", got, err)
	}
}
