package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
)

// Sampling parameters and extra members are in the request beside the conversation, and extra members win.
func TestSamplingAndExtraMembers(t *testing.T) {
	m, err := Open(t.Context(), Options{
		BaseURL: "http://127.0.0.1:1/v1", Model: "m", Sampling: map[string]json.RawMessage{"temperature": json.RawMessage("0.1"), "top_p": json.RawMessage("1")},
		Extra: map[string]json.RawMessage{"temperature": json.RawMessage("0.2"), "enable_thinking": json.RawMessage("true")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	body, err := m.encode(model.Request{Messages: []model.Message{model.Prompt("hello")}})
	if err != nil || !json.Valid(body) {
		t.Fatalf("%s, %v", body, err)
	}
	for _, want := range []string{`"temperature":0.2`, `"top_p":1`, `"enable_thinking":true`, "hello"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("lacks %s: %s", want, body)
		}
	}
}
