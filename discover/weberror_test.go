package discover

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What came back from an address that is no server was told in the SDK's words: connection closed: calling "initialize":
// client is closing: sending "server/discover": unsupported content type "text/html".
func TestAddressesOfNoServer(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>hello</html>")
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"hello":1}`)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: ping\ndata: {}\n\n")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer web.Close()
	servers := map[string]Server{}
	want := map[string]string{
		"html":   "URL/html is not an MCP server (got content type text/html)",
		"json":   "URL/json is not an MCP server (got JSON that is not a message)",
		"broken": "URL/broken returned 500 Internal Server Error",
		"gone":   "URL/gone returned 404 Not Found. Is that the address of an MCP server?",
		"events": "URL/events closed the first request without a response",
	}
	for name := range want {
		servers[name] = Server{HTTPURL: web.URL + "/" + name}
	}
	servers["sse"] = Server{URL: web.URL + "/html"}
	want["sse"] = "URL/html is not an MCP server with SSE transport. For streamable HTTP, use httpUrl"
	d := open(t, servers, Options{})
	d.Wait(t.Context())
	for _, st := range d.List() {
		if w := strings.ReplaceAll(want[st.Alias], "URL", web.URL); st.Err == nil || st.Err.Error() != w {
			t.Errorf("%s: %v, want %s", st.Alias, st.Err, w)
		}
	}
}

// A key that a variable holds, or a password in an address, was shown by adze mcp list.
func TestTargetHoldsNoSecret(t *testing.T) {
	known := func(string) (string, bool) { return "secret", true }
	for want, s := range map[string]Server{
		"srv --key '$KEY' 'a b'":           {Command: "srv", Args: []string{"--key", "$KEY", "a b"}},
		"https://x.example/mcp?key=${KEY}": {HTTPURL: "https://x.example/mcp?key=${KEY}"},
		"https://me:xxxxx@x.example/mcp":   {URL: "https://me:secret@x.example/mcp"},
	} {
		if got := s.Expand(known).Target(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
