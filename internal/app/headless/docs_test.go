package headless_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The example in docs/headless.md is what happens.
func TestDocumentedExample(t *testing.T) {
	page, err := os.ReadFile("../../../docs/headless.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)<!-- example -->\n```\n(.*)```\n<!-- /example -->").FindSubmatch(page)
	if example == nil {
		t.Fatal("there is no example")
	}
	dir := project.Canonical(t.TempDir())
	inJSON := strings.Trim(asJSON(dir), `"`)
	server := openaitest.Serve(t, says(
		openaitest.Answer{Calls: []openaitest.Call{{ID: "call_0", Name: "write_file", Args: json.RawMessage(`{"file_path":"` + inJSON + `/a.txt","content":"A pond."}`)}}},
		openaitest.Answer{Text: "Done.", Expect: []string{"An old pond."}},
		openaitest.Answer{Text: "First, a frog.", Expect: []string{"Plan mode is on"}}))
	p := start(t, setup{url: server.URL, dir: dir})
	ids := map[string]string{} // of Adze's requests
	for line := range strings.Lines(string(example[1])) {
		side, text := line[:1], strings.ReplaceAll(strings.TrimSpace(line[1:]), "/home/me/app", inJSON)
		if side == ">" {
			for documented, real := range ids {
				text = strings.ReplaceAll(text, `"request_id":"`+documented+`"`, `"request_id":"`+real+`"`)
			}
			p.send(text)
			continue
		}
		var want object
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := p.until("the next message", func(object) bool { return true })
		if want["type"] == "control_request" {
			ids[want["request_id"].(string)] = got["request_id"].(string)
			delete(want, "request_id")
		}
		if !within(want, got) {
			t.Errorf("documented %s\ngot        %s", text, asJSON(got))
		}
	}
	if p.file("a.txt") != "An old pond." {
		t.Errorf("a.txt: %q", p.file("a.txt"))
	}
}

// within reports whether everything in want is in got.
func within(want, got any) bool {
	w, isObject := want.(object)
	g, _ := got.(object)
	if !isObject {
		return reflect.DeepEqual(want, got)
	}
	for key, value := range w {
		if !within(value, g[key]) {
			return false
		}
	}
	return true
}
