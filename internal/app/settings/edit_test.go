package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const echoServer = `{"command":"echo","args":["a b"]}`

func TestSetServer(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"no file", "", "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"echo\",\n      \"args\": [\n        \"a b\"\n      ]\n    }\n  }\n}\n"},
		{"one line", `{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": {}, "x": {"command":"echo","args":["a b"]}}}`},
		{"comments", `{
  // the mode
  "tools": {"approvalMode": "plan"}, // strict
  "mcpServers": {
    "a": {"command": "a"} // the first
    /* nothing after it */
  },
}
`, `{
  // the mode
  "tools": {"approvalMode": "plan"}, // strict
  "mcpServers": {
    "a": {"command": "a"}, // the first
    /* nothing after it */
    "x": {
      "command": "echo",
      "args": [
        "a b"
      ]
    }
  },
}
`},
		{"no servers yet", "{\n\t\"model\": \"m\" // mine\n}", "{\n\t\"model\": \"m\", // mine\n\t\"mcpServers\": {\n\t  \"x\": {\n\t    \"command\": \"echo\",\n\t    \"args\": [\n\t      \"a b\"\n\t    ]\n\t  }\n\t}\n}"},
		{"trailing comma", "{\n  \"mcpServers\": {\n    \"a\": {},\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"x\": {\n      \"command\": \"echo\",\n      \"args\": [\n        \"a b\"\n      ]\n    }\n  }\n}\n"},
		{"in place of another", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"old\"}, // keep\n    \"b\": {}\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"echo\",\n      \"args\": [\n        \"a b\"\n      ]\n    }, // keep\n    \"b\": {}\n  }\n}\n"},
		{"windows lines", "{\r\n  \"mcpServers\": {}\r\n}\r\n", "{\r\n  \"mcpServers\": {\r\n    \"x\": {\r\n      \"command\": \"echo\",\r\n      \"args\": [\r\n        \"a b\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n"},
	} {
		got, err := SetServer("s.json", []byte(c.before), "x", json.RawMessage(echoServer))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.after, string(got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

func TestRemoveServer(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"only one", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"}\n  }\n}\n", "{\n  \"mcpServers\": {\n  }\n}\n"},
		{"first", "{\"mcpServers\": {\"x\": {}, \"b\": {}}}", "{\"mcpServers\": {\"b\": {}}}"},
		{"last", "{\n  \"mcpServers\": {\n    \"a\": {}, // one\n    \"x\": {}\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {} // one\n  }\n}\n"},
		{"twice", "{\"mcpServers\": {\"x\": {}, \"a\": {}, \"x\": {}}}", "{\"mcpServers\": {\"a\": {} }}"},
		{"none", "{ /* nothing */ }", "{ /* nothing */ }"},
	} {
		got, found, err := RemoveServer("s.json", []byte(c.before), "x")
		if err != nil || found != (c.name != "none") {
			t.Errorf("%s: %v, found %v", c.name, err, found)
		}
		if diff := cmp.Diff(c.after, string(got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// An invalid file is not overwritten.
func TestEditsLeaveBrokenFilesAlone(t *testing.T) {
	for _, text := range []string{"{", "[]", `{"mcpServers": 3}`, "{\"a\": \xff}", `{"mcpServers": {"x": {}}`} {
		if _, err := SetServer("s.json", []byte(text), "x", json.RawMessage(echoServer)); err == nil {
			t.Errorf("%q was changed", text)
		}
	}
}

// Whatever a file looks like, a server that is set is there, one that is removed is not, and nothing else has changed.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{
		"", "{}", "// only this", "{\"a\":1,}", "{\"mcpServers\":{\"x\":null,},\"mcpServers\":{ //c\n}}", "\uFEFF{ \"mcpServers\" : null /* c */ }",
		"{/* { */\"mcpServers\":{\"y\":{\"a\":\"//\"}}}//}", "{\"mcpServers\":{\"x\":{},\n\"x\":{}\r\n}}", "{\"mcpServers\": null}\n// {}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := rest(text)
		if err != nil {
			return
		}
		set, err := SetServer("s.json", []byte(text), "x", json.RawMessage(echoServer))
		if err != nil {
			if strings.Contains(err.Error(), "would break") || strings.Contains(err.Error(), "by hand") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		after, err := rest(string(set))
		if err != nil || cmp.Diff(before, after) != "" {
			t.Fatalf("%q became %q: %v", text, set, err)
		}
		removed, found, err := RemoveServer("s.json", set, "x")
		if err != nil || !found {
			t.Fatalf("%q: %v, %v", set, found, err)
		}
		if after, err := rest(string(removed)); err != nil || cmp.Diff(before, after) != "" || strings.Contains(string(removed), `"a b"`) != strings.Contains(text, `"a b"`) {
			t.Fatalf("%q became %q: %v", set, removed, err)
		}
	})
}

// rest returns all that a text says beside the server x, and its comments' slashes.
func rest(text string) ([]string, error) {
	f, err := parse("s.json", []byte(text))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range f.root().members() {
		if m.name != serversKey {
			out = append(out, m.name+" "+compact(m.json()))
			continue
		}
		if m.kind() != "an object" {
			continue
		}
		for _, s := range m.members() {
			if s.name != "x" {
				out = append(out, "server "+s.name+" "+compact(s.json()))
			}
		}
	}
	return out, nil
}
