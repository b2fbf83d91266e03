package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/tidwall/jsonc"
)

// Whatever a file holds: no panic, an error has a place in the file, and every top-level key is taken or listed.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "{\"a\":1,}", "// x\n{}", "/*", "{\"tools\":{\"approvalMode\":\"auto\"}}", "\uFEFF{}", "{\"a\":\"\\ud800\"}",
		"{\"permissions\":{\"deny\":[\"a\",],},\"permissions\":null}", "{\"model\":\"x\",\"model\":{\"name\":\"y\"}}", "{\"a\":/*/1}", "\"", "{\"\xff\":1}",
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, qwen bool) {
		l := loader{settings: builtin(), keys: keys()}
		file, err := parse("f", b)
		if err == nil {
			err = l.file(file, layer{path: "f", qwen: qwen}, false)
		}
		if err != nil {
			var typed *Error
			if !errors.As(err, &typed) || typed.Reason == "" {
				t.Fatalf("%v is no *Error", err)
			}
			lines := bytes.Count(b, []byte("\n")) + 1
			if typed.From.Line < 1 || typed.From.Line > lines || typed.From.Column < 1 {
				t.Fatalf("%v: outside the file of %d lines", err, lines)
			}
			return
		}
		for _, u := range l.settings.Unknown() {
			if !json.Valid([]byte(u.JSON)) {
				t.Fatalf("unknown key %s is cut wrongly: %q", u.Key, u.JSON)
			}
		}
		var plain map[string]json.RawMessage
		if text := bytes.TrimPrefix(b, []byte("\uFEFF")); len(bytes.TrimSpace(jsonc.ToJSON(text))) > 0 {
			if err := json.Unmarshal(jsonc.ToJSON(text), &plain); err != nil {
				t.Fatalf("accepted what encoding/json refuses: %v", err)
			}
		}
		listed := map[string]bool{"$schema": true, "$version": true}
		for _, u := range l.settings.Unknown() {
			listed[u.Key] = true
		}
		for name := range plain {
			holds, known := l.meaning(name)
			if !holds && !known && !listed[name] {
				t.Fatalf("key %q was lost", name)
			}
		}
	})
}
