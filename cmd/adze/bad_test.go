package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// badServers are servers that each do one thing wrong, what adze mcp list must say of each, and how a call of its tool
// must end.
var badServers = []struct {
	name, command, args string
	state, says         string
	call                string // part of what a call says
}{
	{"good", "badserver", `[]`, "ready", "", "called do"},
	{"yes", "yes", `[]`, "failed", `it printed 1001 lines in a row that are no MCP messages, the first "y"`, ""},
	{"line", "badserver", `["line"]`, "failed", "MB without the end of a line", ""},
	{"garbage", "badserver", `["garbage"]`, "ready", "", "called do"},
	{"silent", "badserver", `["silent"]`, "", "within 10", ""},
	{"twice", "badserver", `["twice"]`, "ready", "", "called do"},
	{"crash", "badserver", `["crash"]`, "ready", "", "; the call may have happened"},
	{"stdin", "badserver", `["stdin"]`, "", "", "do of stdin was not called: the connection was lost: it does not read what it is sent"},
	{"duplicates", "badserver", `["duplicates"]`, "ready", "do is listed more than once; the first one counts", "called do"},
	{"many", "badserver", `["many"]`, "ready", "it lists more than 1000 tools", "called do"},
	{"loop", "badserver", `["loop"]`, "ready", "", "called do"},
	{"names", "badserver", `["names"]`, "ready", "", "called do"},
	{"missing", "no-such-command", `[]`, "failed", "start no-such-command: there is no such command in PATH (", ""},
	{"exit", "false", `[]`, "failed", "it ended with exit code 1", ""},
}

// Every bad server has its clear line, in bounded time, and none of them keeps the others from working.
func TestBadServers(t *testing.T) {
	t.Parallel()
	h := house{t.TempDir()}
	var servers []string
	for _, s := range badServers {
		servers = append(servers, fmt.Sprintf(`%q:{"command":%q,"args":%s}`, s.name, s.command, s.args))
	}
	servers = append(servers, `"nowhere":{"httpUrl":"http://127.0.0.1:1/mcp"}`, `"sse":{"url":"http://127.0.0.1:1/sse"}`)
	settings := `{"mcpServers":{` + strings.Join(servers, ",") + `},"tools":{"toolDiscoveryCommand":"sleep 60","toolCallCommand":"true"}}`
	if err := os.WriteFile(filepath.Join(h.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	// A tool of a server that works is not held up by those that do not answer, nor by the discovery.
	began := time.Now()
	out, err := h.run("tool", "call", "good__do", "{}", "--yolo")
	if took := time.Since(began); err != nil || !strings.Contains(out, "called do") || took > 8*time.Second {
		t.Errorf("%v after %s: %s", err, took, out)
	}
	out, err = h.run("tool", "call", "list_directory", fmt.Sprintf(`{"path":%q}`, h.home), "--yolo")
	if err != nil || !strings.Contains(out, "mcp") {
		t.Errorf("%v: %s", err, out)
	}
	listed := make(chan string)
	go func() { // at the same time: both wait for ten seconds
		out, err := h.run("tool", "list")
		listed <- fmt.Sprint(err, out)
	}()
	all := listBad(t, h)
	if out := <-listed; !strings.Contains(out, "discover tools with sleep 60: it did not end within 10s") || !strings.Contains(out, "good__do") {
		t.Error(out)
	}
	for _, s := range badServers {
		l := all[s.name]
		if s.state != "" && l.State != s.state && (s.state != "ready" || l.State != "cached") || !strings.Contains(l.Error+"\n"+strings.Join(l.Warnings, "\n"), s.says) {
			t.Errorf("%s: %+v, want %s: %s", s.name, l, s.state, s.says)
		}
		if s.call == "" {
			continue
		}
		out, _ := h.run("tool", "call", s.name+"__do", "{}", "--yolo")
		if !strings.Contains(out, s.call) {
			t.Errorf("%s: a call says %s, want %q", s.name, out, s.call)
		}
	}
	for _, name := range []string{"nowhere", "sse"} {
		if l := all[name]; l.State != "failed" || !strings.Contains(l.Error, "connection refused") {
			t.Errorf("%s: %+v", name, l)
		}
	}
	notWaitedForAgain(t, h)
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

// notWaitedForAgain sees that a prompt does not wait a second time for the server that is silent.
func notWaitedForAgain(t *testing.T, h house) {
	t.Helper()
	model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{{Text: "here I am"}}})
	settings := `{"mcpServers":{"silent":{"command":"badserver","args":["silent"]}}}`
	if err := os.WriteFile(filepath.Join(h.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := h.command("-p", "hello")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+model.URL)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil || took > 8*time.Second || !strings.Contains(string(out), "here I am") || !strings.Contains(string(out), "MCP server silent: it failed the last time (it did not answer within 10s), so it is not waited for") {
		t.Errorf("%v after %s: %s", err, took, out)
	}
}

type badListed struct {
	Name, State, Error string
	Tools, Warnings    []string
}

func listBad(t *testing.T, h house) map[string]badListed {
	t.Helper()
	began := time.Now()
	cmd := h.command("mcp", "list", "--json")
	out, err := cmd.Output()
	if took := time.Since(began); err != nil || took > 30*time.Second {
		t.Fatalf("%v after %s", err, took)
	}
	if cpu := cmd.ProcessState.UserTime(); cpu > 8*time.Second {
		t.Errorf("listing took %s of a processor", cpu)
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

// An answer of a gigabyte costs little memory, and the error says what it was.
func TestHugeLine(t *testing.T) {
	size := "100"
	if os.Getenv("ADZE_SOAK") != "" {
		size = "1024"
	}
	h := house{t.TempDir()}
	settings, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"huge": map[string]any{"command": "bash", "args": []string{"-c", hugeServer}, "env": map[string]string{"MEGABYTES": size}}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(h.home, "settings.json"), settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "adze") // the tests' own is larger
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := h.command("tool", "call", "huge__do", "{}", "--yolo")
	cmd.Path = binary
	out, peak, err := measured(cmd)
	if err == nil || !strings.Contains(string(out), "MB and was dropped: the limit is 10 MB; ask for less") {
		t.Errorf("%v: %.1000s", err, out)
	}
	t.Logf("%s MB in a line: %d MB of memory at most", size, peak>>20)
	if peak > 64<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
}
