package stdio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/adze-dev/adze/internal/engine/lines"
)

func TestExitReason(t *testing.T) {
	for want, lines := range map[string][]string{
		"":                   {"", "  "},
		"; stderr: bye":      {"hello", "bye", ""},
		"; stderr: Error: x": {"node:internal:1", "  throw err;", "Error: x", "    at y", "Node.js v20"},
	} {
		var w exitReason
		for _, line := range lines {
			w.add(line)
		}
		if got := w.said(); got != want {
			t.Errorf("%q: %q", lines, got)
		}
	}
	var w exitReason
	for _, line := range append([]string{"node:internal:1", "  throw err;", "", "Error: x"}, append(slices.Repeat([]string{"    at y (z.js:1:2)"}, 20), "Node.js v20\n")...) {
		w.add(line)
	}
	if got := w.lines(); got != "; stderr:\n    node:internal:1\n      throw err;\n    Error: x\n    Node.js v20" {
		t.Errorf("%q", got)
	}
}

// One unreadable tool used to drop all tools of its server, and content of an unknown type the whole response.
func TestUnreadableAnswers(t *testing.T) {
	p := &Process{log: NewLog("")}
	in := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}},{"name":5},"x"],"nextCursor":"c"}}`
	want := `{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"c","tools":[{"name":"a","inputSchema":{}},null,null]}}`
	if got := string(p.readable([]byte(in))); got != want {
		t.Error(got)
	}
	if got := strings.Join(p.log.Lines(), "\n"); !strings.Contains(got, "ignored tool 2, which can't be read: name must be a string, got a JSON number") {
		t.Error(got)
	}
	odd := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"hologram"},{"type":"text","text":"x"},{"type":"image","data":"!"},7]}}`
	want = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"[part 1 of the response can't be read: its type is \"hologram\"]"},` +
		`{"type":"text","text":"x"},{"type":"text","text":"[part 3 of the response can't be read: its type is \"image\"]"},` +
		`{"type":"text","text":"[part 4 of the response can't be read: it has no type]"}]}}`
	if got := string(p.readable([]byte(odd))); got != want {
		t.Error(got)
	}
	if got := string(p.readable([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":"x\n"}}`))); got != `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x\n"}]}}` {
		t.Error(got)
	}
	for _, same := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}}]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"tools\" \"name\""}]}}`,
		`{"jsonrpc":"2.0","method":"x","params":{"tools":[1],"name":"y"}}`,
	} {
		if got := string(p.readable([]byte(same))); got != same {
			t.Error(got)
		}
	}
}

// A response that is cut or of another version of JSON-RPC fails its request. Its caller used to wait until the timeout.
func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	in := `{"level":"info","id":1,"message":"not a response"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"cont` + "\n" +
		`{"jsonrpc":"1.0","id":2,"result":{}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"x","params":{"cut` + "\n"
	p := &Process{log: NewLog(""), lines: lines.New(strings.NewReader(in), MaxMessage), stray: strayOutput{log: NewLog("")}}
	for _, id := range []int64{1, 2} {
		m, err := p.Read(t.Context())
		r, ok := m.(*jsonrpc.Response)
		if err != nil || !ok || r.ID.Raw() != id || r.Error == nil || !strings.Contains(r.Error.Error(), "not a JSON-RPC 2.0 message") {
			t.Fatalf("request %d: %v, %v", id, m, err)
		}
	}
}

// A log is bounded on disk and in memory.
func TestLog(t *testing.T) {
	l := NewLog(filepath.Join(t.TempDir(), "x.log"))
	defer l.Close()
	for range 5000 {
		l.Add("stderr", strings.Repeat("x", 400))
	}
	if info, _ := os.Stat(l.path); info.Size() > logFileMax+1000 || len(l.Lines()) > LogLines {
		t.Errorf("a log of %d bytes on disk and %d lines in memory", info.Size(), len(l.Lines()))
	}
}

// A server that prints without end is stopped: earlier if it never sent a message, later if it did.
func TestStrayOutputEnds(t *testing.T) {
	for _, c := range []struct {
		line  string
		spoke bool
		limit int
	}{{"y", false, 1000}, {strings.Repeat("y", 1<<16), false, 16}, {"y", true, 100_000}, {strings.Repeat("y", 1<<16), true, 1024}} {
		n := strayOutput{log: NewLog(""), spoke: c.spoke}
		lines := 0
		for lines <= c.limit+1 && n.add(c.line) == nil {
			lines++
		}
		if lines != c.limit {
			t.Errorf("%d lines of %d bytes, after a message: %v; want %d", lines, len(c.line), c.spoke, c.limit)
		}
		if n.end(); n.add(c.line) != nil {
			t.Error("a message doesn't end the count")
		}
	}
}

func FuzzMarked(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"tools":[{"execution":{"taskSupport":"required"}}]}}`))
	f.Fuzz(func(t *testing.T, in []byte) { marked(in) })
}
