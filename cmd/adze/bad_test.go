package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// badServers are servers that each do one thing wrong, with the expected line of adze mcp list, and the expected end of a
// call.
var badServers = []struct {
	name, command, args string
	says                string // why it does not start; empty: it does
	warns               string
	call                string // part of what a call says
}{
	{"good", "badserver", `[]`, "", "", "called do"},
	{"yes", "yes", `[]`, `it printed 1001 lines in a row that are not MCP messages, starting with "y"`, "", ""},
	{"line", "badserver", `["line"]`, "MB without a line break", "", ""},
	{"garbage", "badserver", `["garbage"]`, "", "", "called do"},
	{"silent", "badserver", `["silent"]`, "no response within 3 s", "", ""},
	{"twice", "badserver", `["twice"]`, "", "", "called do"},
	{"crash", "badserver", `["crash"]`, "", "", ". The call may still have taken effect"},
	{"stdin", "badserver", `["stdin"]`, "", "", "do on stdin was not called: connection lost: the server doesn't read its input"},
	{"duplicates", "badserver", `["duplicates"]`, "", "do is listed more than once; using the first", "called do"},
	{"many", "badserver", `["many"]`, "", "it lists more than 1000 tools", "called do"},
	{"loop", "badserver", `["loop"]`, "", "", "called do"},
	{"names", "badserver", `["names"]`, "", "", "called do"},
	{"missing", "no-such-command", `[]`, `command "no-such-command" not found in PATH`, "", ""},
	{"exit", "false", `[]`, "the server exited with code 1", "", ""},
}

// Every bad server has a clear error, and none of them blocks the others.
//
// This test used to fail on a busy machine: fourteen servers had ten seconds to start at once. Now each has an hour, and
// a command for one server waits only for that server.
func TestBadServers(t *testing.T) {
	t.Parallel()
	h := house{t.TempDir()}
	var servers []string
	for _, s := range badServers {
		start := time.Hour
		if s.name == "silent" {
			start = 3 * time.Second
		}
		servers = append(servers, fmt.Sprintf(`%q:{"command":%q,"args":%s,"startTimeout":%d}`, s.name, s.command, s.args, start.Milliseconds()))
	}
	servers = append(servers, `"nowhere":{"httpUrl":"http://127.0.0.1:1/mcp"}`, `"sse":{"url":"http://127.0.0.1:1/sse"}`)
	settings := `{"mcpServers":{` + strings.Join(servers, ",") + `},"tools":{"toolDiscoveryCommand":"sleep 3600","toolCallCommand":"true"}}`
	h.settings(t, settings)
	// A working server's tool doesn't wait for servers that don't answer, nor for the discovery: commands that wait for
	// those report their failures.
	out, err := h.run("tool", "call", "good__do", "{}", "--yolo")
	if err != nil || !strings.Contains(out, "called do") || strings.Contains(out, "MCP server ") || strings.Contains(out, "discover") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = h.run("tool", "call", "list_directory", fmt.Sprintf(`{"path":%q}`, h.home), "--yolo")
	if err != nil || !strings.Contains(out, "mcp") || strings.Contains(out, "MCP server ") {
		t.Errorf("%v: %s", err, out)
	}
	for _, s := range badServers {
		out, err := h.run("mcp", "tools", s.name)
		if (err == nil) != (s.says == "") || !strings.Contains(out, s.says) {
			t.Errorf("%s: %v: %s, want %s", s.name, err, out, s.says)
		}
		if s.call == "" {
			continue
		}
		if out, _ := h.run("tool", "call", s.name+"__do", "{}", "--yolo"); !strings.Contains(out, s.call) {
			t.Errorf("%s: a call says %s, want %q", s.name, out, s.call)
		}
	}
	if out, _ := h.run("tool", "list"); !strings.Contains(out, "discover tools with sleep 3600: timed out after 10s") || !strings.Contains(out, "good__do") {
		t.Error(out)
	}
	all := listBad(t, h)
	for _, s := range badServers {
		l := all[s.name]
		switch {
		case s.says == "" && (l.State != "cached" || !strings.Contains(strings.Join(l.Warnings, "\n"), s.warns)):
			t.Errorf("%s: %+v, want %s", s.name, l, s.warns)
		case s.says != "" && l.State != "failed" && l.State != "starting": // on a busy machine
			t.Errorf("%s: %+v", s.name, l)
		}
	}
	for _, name := range []string{"nowhere", "sse"} {
		if out, err := h.run("mcp", "tools", name); err == nil || !strings.Contains(out, "connection refused") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	seen := map[string]bool{}
	for _, name := range all["names"].Tools {
		if len(name) > 64 || seen[name] || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("the name %q", name)
		}
		seen[name] = true
	}
	if len(seen) != 6 {
		t.Errorf("%v", all["names"].Tools)
	}
}

// Three of twelve servers never answer. The first prompt waits ten seconds for them and continues with the others; the next
// one doesn't wait.
func TestHangingServersAndAPrompt(t *testing.T) {
	t.Parallel()
	h := house{t.TempDir()}
	var servers, tools []string
	for i := range 12 {
		name, what := fmt.Sprintf("s%02d", i), `["silent"]`
		if i%4 != 0 {
			what, tools = "[]", append(tools, name+"__do")
		}
		servers = append(servers, fmt.Sprintf(`%q:{"command":"badserver","args":%s}`, name, what))
	}
	h.settings(t, `{"mcpServers":{`+strings.Join(servers, ",")+`}}`)
	for _, tool := range tools { // known, whatever else the machine does; see TestHangingServersHoldNobodyUp in discover
		if out, err := h.run("tool", "call", tool, "{}", "--yolo"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Calls: []openaitest.Call{{ID: "1", Name: tools[8], Args: json.RawMessage("{}")}}},
		{Expect: []string{"called do"}, Text: "here I am"}, {Text: "and again"},
	}})
	for _, turn := range []struct{ says, text string }{
		{"still starting after ", "here I am"},
		{"not waiting for it, because it failed last time: no response within ", "and again"},
	} {
		cmd := h.command("-p", "hello", "--yolo")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+model.URL)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), turn.text) {
			t.Errorf("%v: %s", err, out)
		}
		for _, name := range []string{"s00", "s04", "s08"} {
			if !strings.Contains(string(out), "MCP server "+name+": "+turn.says) {
				t.Errorf("not %q of %s: %s", turn.says, name, out)
			}
		}
	}
}

// settings writes the settings of a house.
func (h house) settings(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.home, "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

type badListed struct {
	Name, State, Error string
	Tools, Warnings    []string
}

func listBad(t *testing.T, h house) map[string]badListed {
	t.Helper()
	out, err := h.command("mcp", "list", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []badListed
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]badListed{}
	for _, l := range list {
		all[l.Name] = l
	}
	return all
}

// hugeServer answers every call with a line of so many megabytes. It is bash, so that the memory measured is ours.
const hugeServer = `while read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] || continue
  id=${BASH_REMATCH[1]}
  case $line in
  *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"huge","version":"1"}}}' ;;
  *tools/list*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}}' ;;
  *tools/call*) printf '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"'
    head -c "$MEGABYTES"M /dev/zero | tr '\0' x
    echo '"}]}}' ;;
  esac
done`

// A response of a gigabyte takes little memory, and the error describes it.
func TestHugeLine(t *testing.T) {
	size := strconv.Itoa(soak.Count(100, 1024))
	h := house{t.TempDir()}
	settings, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"huge": map[string]any{"command": "bash", "args": []string{"-c", hugeServer}, "env": map[string]string{"MEGABYTES": size}}}})
	if err != nil {
		t.Fatal(err)
	}
	h.settings(t, string(settings))
	out, peak, err := measured(h.command("tool", "call", "huge__do", "{}", "--yolo"))
	if err == nil || !strings.Contains(string(out), "MB (limit: 10 MB). Request less data") {
		t.Errorf("%v: %.1000s", err, out)
	}
	t.Logf("%s MB in a line: %d MB of memory at most", size, peak>>20)
	if peak > 64<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
}
