package discover

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/tool"
)

// No text is reported twice, whichever way a server says the same thing in both places, and nothing is lost.
func TestStructuredContentIsNotRepeated(t *testing.T) {
	long := "This is a sentence that is long enough to be told by a server twice."
	for _, c := range []struct {
		name       string
		text       []string
		structured string
		want       string // what is added; "" nothing
	}{
		{"the same", []string{`{"a":1,"b":["x"]}`}, `{"b":["x"],"a":1}`, ""},
		{"laid out", []string{"{\n  \"a\": 1\n}\n"}, `{"a":1}`, ""},
		{"wrapped, as FastMCP does", []string{"42"}, `{"result":42}`, ""},
		{"a wrapped text", []string{"ok"}, `{"result":"ok"}`, ""},
		{"a wrapped list, an element a block", []string{`{"id":1}`, `{"id":2}`}, `{"result":[{"id":1},{"id":2}]}`, ""},
		{"no text", nil, `{"a":1}`, `{"a":1}`},
		{"other text", []string{"Found 3."}, `{"count":3}`, `{"count":3}`},
		{"more than the text", []string{`{"a":1}`}, `{"a":1,"b":2}`, `{"b":2}`},
		{"another value", []string{`{"a":1}`}, `{"a":2}`, `{"a":2}`},
		{"a text within", []string{"It says:\n" + long}, `{"text":"` + long + `","lines":1}`, `{"lines":1}`},
		{"in a list, places stay", []string{"It says:\n" + long}, `{"texts":["` + long + `","short"]}`, `{"texts":[null,"short"]}`},
		{"a short word is no quotation", []string{"look here"}, `{"state":"ok"}`, `{"state":"ok"}`},
		{"our own, of a file", []string{"read x: there is no such file"}, `{"status":"error","error":{"type":"file_not_found","message":"read x: there is no such file"},"returnDisplay":""}`,
			`{"error":{"type":"file_not_found"},"status":"error"}`},
		{"our own, of a command", []string{"Command: seq 3\nOutput: one\ntwo\nthree and four\nExit Code: 0"}, `{"status":"success","returnDisplay":"` + "```\\none\\ntwo\\nthree and four\\n```" + `"}`,
			`{"status":"success"}`},
		{"nothing", []string{"x"}, `{"a":null,"b":{},"c":[]}`, ""},
		{"text that only looks like JSON", []string{"{not json"}, `{"a":1}`, `{"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := &mcp.CallToolResult{}
			if err := json.Unmarshal([]byte(c.structured), &res.StructuredContent); err != nil {
				t.Fatal(err)
			}
			for _, text := range c.text {
				res.Content = append(res.Content, &mcp.TextContent{Text: text})
			}
			got := result(res).Content
			added := ""
			if len(got) > len(c.text) {
				added = string(got[len(got)-1].(tool.Text))
			}
			if added != c.want {
				t.Errorf("added %s, want %s", added, c.want)
			}
		})
	}
}

// Every text of a structured result is in the model's result at least once and, if it is long, at most once.
func TestStructuredContentLosesNothing(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{1,4}|[a-z ]{20,30}[a-z]`)
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(word, 0, 4).Draw(t, "texts")
		leaves := rapid.MapOfN(word, rapid.OneOf(word, rapid.SampledFrom(append(texts, "x"))), 0, 5).Draw(t, "leaves")
		res := &mcp.CallToolResult{StructuredContent: map[string]any{"a": leaves, "b": []any{leaves}}}
		for _, text := range texts {
			res.Content = append(res.Content, &mcp.TextContent{Text: text})
		}
		all := result(res).Text()
		for _, leaf := range leaves {
			if trimmed := strings.TrimSpace(leaf); !strings.Contains(all, trimmed) {
				t.Fatalf("%q is lost in\n%s", leaf, all)
			}
		}
	})
}

// Many values next to a long text are handled in bounded time.
func TestStructuredContentIsBounded(t *testing.T) {
	list := make([]any, 30_000)
	for i := range list {
		list[i] = strings.Repeat("x", 16+i%50)
	}
	res := &mcp.CallToolResult{StructuredContent: map[string]any{"list": list}, Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("y", 1<<20)}}}
	for range 500 {
		res.Content = append(res.Content, &mcp.TextContent{Text: "[1]"})
	}
	began := time.Now()
	result(res)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

// A server may list other tools to a client that offers its model, so that client has its own cached manifest. Until it
// exists, the other one is used, and the server is started in the background.
func TestManifestsWithAndWithoutAModel(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	ready(t, "plain", Options{State: state}).Close()
	with := Options{State: state, Sample: func(context.Context, Sampling) (Sampled, error) { return Sampled{}, nil }}
	d := open(t, map[string]Server{"fake": self(t, "plain")}, with)
	if len(d.declared()) == 0 {
		t.Error("nothing is known at first")
	}
	if err := d.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := d.links["fake"].acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Servers.Close()
	for name, opt := range map[string]Options{"with a model": with, "without": {State: state}} {
		d := open(t, map[string]Server{"fake": self(t, "plain")}, opt)
		if st := d.List()[0]; st.State != Cached || len(st.Tools) == 0 {
			t.Errorf("%s: %s with %d tools", name, st.State, len(st.Tools))
		}
	}
}
