package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/serial"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"VERSION","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"

// An invalid line used to end the connection, without answers to running calls. So did one of 16 to 64 MB, which was passed
// to a transport with a lower limit; a request with the ID 1.5 was answered as request 1.
func TestOddLinesAreAnswered(t *testing.T) {
	answered(t, []oddLine{
		{"no JSON", "2025-06-18", `{"jsonrpc":`, `null -32700`},
		{"no object", "2025-06-18", `42`, `null -32600`},
		{"another version", "2025-06-18", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, `7 -32600`},
		{"an id that is none", "2025-06-18", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null -32600`},
		{"a method that is none", "2025-06-18", `{"jsonrpc":"2.0","id":"x","method":5}`, `"x" -32600`},
		{"an array", "2025-06-18", `[{"jsonrpc":"2.0","id":3,"method":"ping"}]`, `null -32600`},
		{"an array, of old", "2025-03-26", `[{"jsonrpc":"2.0","id":3,"method":"ping"}]`, `[3]`},
		{"an id with a fraction", "2025-06-18", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `1.5 -32600`},
		{"empty", "2025-06-18", ` `, ``},
		{"an answer to nothing", "2025-06-18", `{"jsonrpc":"2.0","id":99,"result":{}}`, ``},
	})
}

// Messages without a handshake, each with the version and the client's capabilities in it.
func TestOddModernLinesAreAnswered(t *testing.T) {
	const capabilities = `"io.modelcontextprotocol/clientCapabilities":{}`
	line := func(id int, method, version, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,%s}}}`, id, method, more, version, capabilities)
	}
	slow := line(7, "tools/call", modernVersion, `"name":"slow",`)
	long := `"name":"echo","arguments":{"text":"` + strings.Repeat("x", 10<<20) + `"},`
	for name, c := range map[string]struct {
		lines string
		want  []string
	}{
		"all right":          {line(1, "server/discover", modernVersion, ""), []string{"1"}},
		"cut":                {line(1, "tools/list", modernVersion, "")[:60] + "\n" + line(2, "tools/list", modernVersion, ""), []string{"null -32700", "2"}},
		"an ID in use":       {slow + "\n" + slow, []string{"null -32600"}},
		"10 MB":              {line(1, "tools/call", modernVersion, long), []string{"1"}},
		"a later version":    {line(1, "tools/list", "2099-01-01", ""), []string{"1 -32022"}},
		"no version":         {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"1 0"}},
		"no capabilities":    {strings.Replace(line(1, "tools/list", modernVersion, ""), ","+capabilities, "", 1), []string{"1 -32602"}},
		"a handshake":        {line(1, "initialize", modernVersion, `"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"t","version":"1"},`), []string{"1 -32601"}},
		"a method of old":    {line(1, "ping", modernVersion, ""), []string{"1 -32601"}},
		"a missing feature":  {line(1, "prompts/list", modernVersion, ""), []string{"1 -32601"}},
		"an unknown tool":    {line(1, "tools/call", modernVersion, `"name":"none",`), []string{"1 -32602"}},
		"an unknown state":   {line(1, "tools/call", modernVersion, `"name":"echo","requestState":"x",`), []string{"1 -32602"}},
		"an answer of sorts": {line(1, "tools/call", modernVersion, `"name":"echo","inputResponses":{"approval":12345},`), []string{"1 -32602"}},
	} {
		if diff := cmp.Diff(c.want, talk(t, len(c.want), c.lines+"\n")); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestLongLinesAreAnswered(t *testing.T) {
	serial.Test(t)
	answered(t, []oddLine{
		{"too long", "2025-06-18", `"` + strings.Repeat("x", maxMessage) + `"`, `null -32600`},
		{"too long, its id at the beginning", "2025-06-18", `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("x", maxMessage) + `"}`, `7 -32600`},
		{"too long, its id at the end", "2025-06-18", `{"method":"` + strings.Repeat("x", maxMessage) + `","jsonrpc":"2.0","id":"a"}`, `"a" -32600`},
		{"too long, the id of something else", "2025-06-18", `{"method":"x","jsonrpc":"2.0","params":{"x":"` + strings.Repeat("x", maxMessage) + `","id":5}}`, `null -32600`},
		{"long, but not too long", "2025-06-18", `{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":"` + strings.Repeat("x", maxMessage-100) + `"}}`, `8`},
	})
}

type oddLine struct{ name, version, line, want string }

// answered sends each line to a server, and a ping.
func answered(t *testing.T, lines []oddLine) {
	t.Helper()
	for _, c := range lines {
		want := []string{"0", "1"}
		if c.want != "" {
			want = append(want, c.want)
		}
		got := talk(t, len(want), strings.Replace(hello, "VERSION", c.version, 1)+
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
			c.line+"\n"+
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		if diff := cmp.Diff(asSet(want), asSet(got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// The error for an unknown tool lists the offered ones.
func TestUnknownToolNamesTheOffered(t *testing.T) {
	s := &session{server: New(Options{Tools: []string{"echo", "fail"}, Session: testSession})}
	s.x, _, _ = testSession(Client{})
	if got, want := s.unknown("x", caller{}), "unknown tool \"x\"\nAvailable tools: echo, fail"; got != want {
		t.Errorf("got %s", got)
	}
}

func asSet(list []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
}

// talk sends lines to a server and returns the IDs of the first responses, with error codes.
func talk(t *testing.T, answers int, lines string) []string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- New(Options{Session: testSession}).Stdio(context.Background(), in, out) }()
	go io.WriteString(toServer, lines)
	var got []string
	decode := json.NewDecoder(fromServer)
	for range answers {
		var raw json.RawMessage
		if err := decode.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		got = append(got, answer(raw))
	}
	go io.Copy(io.Discard, fromServer)
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	out.Close()
	return got
}

func answer(raw json.RawMessage) string {
	var m struct {
		ID    json.RawMessage
		Error *struct{ Code json.Number }
	}
	var batch []struct{ ID json.RawMessage }
	if json.Unmarshal(raw, &batch) == nil {
		return "[" + string(batch[0].ID) + "]"
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err.Error()
	}
	if m.Error != nil {
		return string(m.ID) + " " + string(m.Error.Code)
	}
	return string(m.ID)
}
