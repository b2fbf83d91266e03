package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type textArgs struct {
	Text string `json:"text,omitempty"`
}

// define makes a small tool.
func define(name string, kind tool.Kind, access tool.Access, run func(context.Context, *tool.Live, string) (tool.Result, error)) tool.Tool {
	return tool.Define(tool.Def[textArgs]{Name: name, Description: "Does " + name + ".", Kind: kind, Prepare: func(_ context.Context, a textArgs) (*tool.Invocation, error) {
		return &tool.Invocation{
			Description: name + " " + a.Text, Access: []tool.Access{access}, Confirm: tool.Literal("the whole of " + a.Text),
			Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) { return run(ctx, l, a.Text) },
		}, nil
	}})
}

func fixture() []tool.Tool {
	return []tool.Tool{
		define("echo", tool.Think, tool.Nothing, func(_ context.Context, _ *tool.Live, s string) (tool.Result, error) { return tool.TextResult(s), nil }),
		define("fail", tool.Think, tool.Nothing, func(context.Context, *tool.Live, string) (tool.Result, error) {
			return tool.Result{}, tool.Errorf("file_not_found", "there is no such file")
		}),
		define("edit", tool.Edit, tool.Access{Verb: tool.Writes, Target: "/x"}, func(context.Context, *tool.Live, string) (tool.Result, error) {
			old := "old"
			return tool.Result{Content: []tool.Part{tool.Text("edited")}, Display: tool.FileDiff{Diff: "-old\n+new", File: "x", Original: &old, New: "new"}}, nil
		}),
		define("media", tool.Read, tool.Nothing, func(context.Context, *tool.Live, string) (tool.Result, error) {
			return tool.Result{Content: []tool.Part{tool.Text("see"), tool.Media{MIMEType: "image/png", Data: []byte("p")},
				tool.Media{MIMEType: "audio/wav", Data: []byte("w")}, tool.Media{MIMEType: "application/pdf", Data: []byte("d")}}}, nil
		}),
		define("print", tool.Search, tool.Nothing, func(_ context.Context, _ *tool.Live, s string) (tool.Result, error) {
			return tool.Result{Content: []tool.Part{tool.Text("Output: " + s)}, Display: tool.Literal(s)}, nil
		}),
		define("slow", tool.Execute, tool.Nothing, func(ctx context.Context, l *tool.Live, _ string) (tool.Result, error) {
			for i := range 1000 {
				l.Show(tool.Markdown(fmt.Sprintf("step %d", i)))
				select {
				case <-ctx.Done():
					return tool.Result{}, ctx.Err()
				case <-time.After(30 * time.Millisecond):
				}
			}
			return tool.TextResult("done"), nil
		}),
		define("form", tool.Think, tool.Nothing, func(ctx context.Context, l *tool.Live, _ string) (tool.Result, error) {
			d, err := l.Ask(ctx, tool.Invocation{Description: "which colour?", Access: []tool.Access{tool.Nothing}, MustAsk: true,
				Form: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`)})
			return tool.TextResult(string(d.Answer)), err
		}),
	}
}

func testSession(c Client) (*tool.Executor, func(), error) {
	policy := func(r tool.Request) tool.Decision {
		if r.Access[0].Changes() {
			return tool.Decision{Verdict: tool.Ask, Reason: "it writes", Offer: []string{"Edit(/x)", "Edit"}}
		}
		return tool.Decision{Verdict: tool.Allow}
	}
	return &tool.Executor{Registry: tool.NewRegistry(fixture()...), Policy: policy}, nil, nil
}

// client connects the SDK's client to a server through pipes, and gives back the writing end of the server's stdin.
func client(t *testing.T, s *Server, opt *mcp.ClientOptions) (*mcp.ClientSession, func() time.Duration) {
	t.Helper()
	in, toServer, _ := os.Pipe()
	fromServer, out, _ := os.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.Stdio(context.Background(), in, out)
		out.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test"}, opt)
	cs, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	leave := func() time.Duration {
		began := time.Now()
		toServer.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	t.Cleanup(func() { cs.Close() })
	return cs, leave
}

func TestListAndCall(t *testing.T) {
	cs, leave := client(t, New(Options{Version: "1", Session: testSession, Tools: []string{"echo", "fail", "media"}}), nil)
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tl := range list.Tools {
		names = append(names, tl.Name)
	}
	if diff := cmp.Diff([]string{"echo", "fail", "media"}, names); diff != "" {
		t.Error(diff)
	}
	if a := list.Tools[0].Annotations; !a.ReadOnlyHint || *a.DestructiveHint {
		t.Errorf("%+v", a)
	}
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hi"}})
	if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != "hi" {
		t.Errorf("%+v %v", res, err)
	}
	if diff := cmp.Diff(map[string]any{"status": "success", "returnDisplay": ""}, res.StructuredContent); diff != "" {
		t.Error(diff)
	}
	res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"})
	want := map[string]any{"status": "error", "error": map[string]any{"type": "file_not_found", "message": "there is no such file"}, "returnDisplay": ""}
	if diff := cmp.Diff(want, res.StructuredContent); err != nil || !res.IsError || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "media"})
	if err != nil || len(res.Content) != 4 {
		t.Fatalf("%+v %v", res, err)
	}
	kinds := fmt.Sprintf("%T %T %T %T", res.Content[0], res.Content[1], res.Content[2], res.Content[3])
	if kinds != "*mcp.TextContent *mcp.ImageContent *mcp.AudioContent *mcp.EmbeddedResource" {
		t.Error(kinds)
	}
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit"}); err == nil {
		t.Error("a tool that is not offered was called")
	}
	leave()
}

// web_search was said to reach nothing but this machine.
func TestAnnotationsOfASearch(t *testing.T) {
	for _, abroad := range []bool{false, true} {
		a := annotations(tool.Declaration{Name: "x", Kind: tool.Search}, abroad)
		if !a.ReadOnlyHint || *a.OpenWorldHint != abroad {
			t.Errorf("%+v, open world %v", a, *a.OpenWorldHint)
		}
	}
}

// All that a command printed was told twice: in the content, and in what is for a person beside it.
func TestLongTextIsToldOnce(t *testing.T) {
	cs, leave := client(t, New(Options{Session: testSession}), nil)
	defer leave()
	display := func(text string) string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "print", Arguments: map[string]any{"text": text}})
		if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != "Output: "+text {
			t.Fatalf("%+v %v", res, err)
		}
		return res.StructuredContent.(map[string]any)["returnDisplay"].(string)
	}
	if got := display("short"); got != "```\nshort\n```" {
		t.Errorf("%q", got)
	}
	got := display(strings.Repeat("line\n", 4000))
	if len(got) > maxDisplay+100 || !strings.HasPrefix(got, "```\nline\n") || !strings.HasSuffix(got, "…\n```\nThe rest is in the content.") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestAsking(t *testing.T) {
	var asked *mcp.ElicitParams
	answer := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"remember": "Edit(/x)"}}
	cs, leave := client(t, New(Options{Session: testSession}), &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = r.Params
		return answer, nil
	}})
	defer leave()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit", Arguments: map[string]any{"text": "x"}})
	if err != nil || res.IsError {
		t.Fatalf("%+v %v", res, err)
	}
	if !strings.Contains(asked.Message, "edit x\n(it writes)") || !strings.Contains(asked.Message, "the whole of x") {
		t.Error(asked.Message)
	}
	want := map[string]any{"status": "success", "returnDisplay": map[string]any{"fileDiff": "-old\n+new", "fileName": "x"}}
	if diff := cmp.Diff(want, res.StructuredContent); diff != "" {
		t.Error(diff)
	}
	answer = &mcp.ElicitResult{Action: "decline"}
	res, _ = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit"})
	if text := res.Content[0].(*mcp.TextContent).Text; !res.IsError || !strings.Contains(text, "denied by the user") {
		t.Error(text)
	}
	answer = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": "blue"}}
	res, _ = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "form"})
	if text := res.Content[0].(*mcp.TextContent).Text; text != `{"colour":"blue"}` {
		t.Error(text)
	}
}

func TestRefusedWhereNobodyCanBeAsked(t *testing.T) {
	cs, leave := client(t, New(Options{Session: testSession}), nil)
	defer leave()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "edit"})
	if err != nil {
		t.Fatal(err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if !res.IsError || !strings.Contains(text, "requires approval, and the MCP client can't ask the user") || strings.Contains(text, "Edit(/x)") {
		t.Error(text)
	}
	told, err := json.Marshal(res.StructuredContent)
	if err != nil || !strings.Contains(string(told), `add to permissions.allow: \"Edit(/x)\"`) {
		t.Errorf("the user's text: %s, %v", told, err)
	}
}

func TestProgressAndCancel(t *testing.T) {
	progress := make(chan *mcp.ProgressNotificationParams, 1000)
	cs, leave := client(t, New(Options{Session: testSession}), &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		progress <- r.Params
	}})
	ctx, cancel := context.WithCancel(t.Context())
	p := &mcp.CallToolParams{Name: "slow", Meta: mcp.Meta{}}
	p.SetProgressToken("tok")
	done := make(chan error)
	go func() {
		_, err := cs.CallTool(ctx, p)
		done <- err
	}()
	for want := range 3 {
		got := <-progress
		if got.ProgressToken != "tok" || got.Progress != float64(want+1) || !strings.HasPrefix(got.Message, "step") {
			t.Errorf("%+v", got)
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the cancelled call succeeded")
	}
	go cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
	time.Sleep(100 * time.Millisecond)
	if took := leave(); took > time.Second {
		t.Errorf("it took %s to end after stdin was closed", took)
	}
}

// Nothing but the protocol is written, one message a line.
func TestOnlyMessages(t *testing.T) {
	in, toServer, _ := os.Pipe()
	fromServer, out, _ := os.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- New(Options{Session: testSession}).Stdio(t.Context(), in, out)
		out.Close()
	}()
	io.WriteString(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\nb"}}}
`)
	scan := bufio.NewScanner(fromServer)
	for range 2 {
		scan.Scan()
		var m struct {
			Version string `json:"jsonrpc"`
			ID      int
		}
		if err := json.Unmarshal(scan.Bytes(), &m); err != nil || m.Version != "2.0" {
			t.Errorf("%s: %v", scan.Text(), err)
		}
	}
	toServer.Close()
	if err := <-done; err != nil || scan.Scan() {
		t.Errorf("%v, and then %q", err, scan.Text())
	}
}
