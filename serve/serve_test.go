package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

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
			for i := 0; ; i++ {
				l.Show(tool.Markdown(fmt.Sprintf("step %d", i)))
				select {
				case <-ctx.Done():
					return tool.Result{}, ctx.Err()
				case <-time.After(30 * time.Millisecond):
				}
			}
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

// client connects the SDK's client to a server through pipes, with a protocol version that has sessions. The returned
// function closes the server's stdin and waits for the server.
func client(t *testing.T, s *Server, opt *mcp.ClientOptions) (*mcp.ClientSession, func() time.Duration) {
	t.Helper()
	return clientOf(t, "2025-11-25", s, opt)
}

func clientOf(t *testing.T, version string, s *Server, opt *mcp.ClientOptions) (*mcp.ClientSession, func() time.Duration) {
	t.Helper()
	in, toServer, _ := os.Pipe()
	fromServer, out, _ := os.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.Stdio(context.Background(), in, out)
		out.Close()
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test"}, opt)
	cs, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: version})
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
	res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"})
	if err != nil || !res.IsError || res.Content[0].(*mcp.TextContent).Text != "there is no such file" {
		t.Errorf("%+v %v", res, err)
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

// A tool that models see only if they need it, such as apply_patch, was callable and not listed if it was selected.
func TestSelectedDeferredTool(t *testing.T) {
	later := tool.Define(tool.Def[textArgs]{Name: "later", Description: "Waits.", Kind: tool.Think, Deferred: true,
		Prepare: func(context.Context, textArgs) (*tool.Invocation, error) { return &tool.Invocation{}, nil }})
	for _, c := range []struct {
		tools []string
		want  int
	}{{[]string{"later", "echo"}, 2}, {[]string{"echo"}, 1}, {nil, len(fixture())}} {
		cs, leave := client(t, New(Options{Tools: c.tools, Session: func(Client) (*tool.Executor, func(), error) {
			return &tool.Executor{Registry: tool.NewRegistry(append(fixture(), later)...)}, nil, nil
		}}), nil)
		if list, err := cs.ListTools(t.Context(), nil); err != nil || len(list.Tools) != c.want {
			t.Errorf("%v: %d tools, want %d (%v)", c.tools, len(list.Tools), c.want, err)
		}
		leave()
	}
}

// web_search was annotated as not using the network.
func TestAnnotationsOfASearch(t *testing.T) {
	for _, abroad := range []bool{false, true} {
		a := annotations(tool.Declaration{Name: "x", Kind: tool.Search}, abroad)
		if !a.ReadOnlyHint || *a.OpenWorldHint != abroad {
			t.Errorf("%+v, open world %v", a, *a.OpenWorldHint)
		}
	}
}

// Claude Code and Codex send the model only structuredContent if it is present: it used to have a status and a summary, and
// the model saw no file, match, output or image.
func TestResultsAreContentAlone(t *testing.T) {
	cs, leave := client(t, New(Options{Session: testSession}), &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": "blue"}}, nil
	}})
	defer leave()
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(fixture()) {
		t.Fatalf("%+v %v", list, err)
	}
	for _, tl := range list.Tools {
		if tl.OutputSchema != nil {
			t.Errorf("%s declares an outputSchema: %v", tl.Name, tl.OutputSchema)
		}
		if tl.Name == "slow" {
			continue
		}
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tl.Name, Arguments: map[string]any{"text": "all of it"}})
		if err != nil || len(res.Content) == 0 || res.StructuredContent != nil {
			t.Errorf("%s: %v, content %v, structured %v", tl.Name, err, res.Content, res.StructuredContent)
		}
	}
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "print", Arguments: map[string]any{"text": "all of it"}})
	if err != nil || len(res.Content) != 1 || res.Content[0].(*mcp.TextContent).Text != "Output: all of it" {
		t.Errorf("%+v %v", res, err)
	}
}

// The files that a call changed are in _meta, which clients don't send to the model.
func TestChangesAreMeta(t *testing.T) {
	o := tool.Outcome{Status: tool.StatusSuccess, Result: tool.TextResult("done"),
		Changes: tool.Changes{List: []tool.Change{{Path: "/w/a", Kind: tool.Created}}}}
	b, err := json.Marshal(result(o))
	want := `"_meta":{"adze.dev/changes":{"list":[{"path":"/w/a","kind":"created"}]}}`
	if err != nil || !strings.Contains(string(b), want) || strings.Contains(string(b), "structuredContent") {
		t.Errorf("%s %v", b, err)
	}
	o.Changes = tool.Changes{}
	if b, _ := json.Marshal(result(o)); strings.Contains(string(b), "_meta") {
		t.Errorf("%s", b)
	}
}

// A tool whose needs a connection doesn't meet used to be offered, and failed at every call.
func TestUnmetNeeds(t *testing.T) {
	need := func(name string, n tool.Need) tool.Tool {
		return tool.Define(tool.Def[textArgs]{Name: name, Description: "Needs " + string(n) + ".", Kind: tool.Think, Needs: n,
			Prepare: func(context.Context, textArgs) (*tool.Invocation, error) {
				return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
					return tool.TextResult(name), nil
				}}, nil
			}})
	}
	session := func(c Client) (*tool.Executor, func(), error) {
		x, done, err := testSession(c)
		x.Registry = tool.NewRegistry(need("person", tool.NeedsUser), need("model", tool.NeedsModel), need("session", tool.NeedsSession), need("none", ""))
		return x, done, err
	}
	asking := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept"}, nil
	}}
	for _, c := range []struct {
		name   string
		opt    Options
		client *mcp.ClientOptions
		want   []string
	}{
		{"by default", Options{}, asking, []string{"none"}},
		{"named", Options{Tools: []string{"none", "model", "person"}}, asking, []string{"none"}},
		{"met", Options{Meets: []tool.Need{tool.NeedsModel, tool.NeedsUser}}, asking, []string{"model", "none", "person"}},
		{"a client that cannot ask", Options{Meets: []tool.Need{tool.NeedsUser, tool.NeedsSession}}, nil, []string{"none", "session"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Session = session
			cs, leave := client(t, New(c.opt), c.client)
			defer leave()
			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tl := range list.Tools {
				names = append(names, tl.Name)
			}
			if diff := cmp.Diff(c.want, names); diff != "" {
				t.Error(diff)
			}
			for _, name := range []string{"person", "model", "session", "none"} {
				_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
				if offered := slices.Contains(c.want, name); (err == nil) != offered {
					t.Errorf("%s is offered: %v; a call: %v", name, offered, err)
				}
			}
		})
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
	go cs.CallTool(t.Context(), p)
	for len(progress) > 0 { // of the canceled call
		<-progress
	}
	<-progress // the second call runs
	if took := leave(); took > time.Minute {
		t.Errorf("it took %s to exit after stdin was closed", took)
	}
}

// The output of a command without approval may have to be held back, so that progress doesn't contain it.
func TestProgressOfUnapprovedCommands(t *testing.T) {
	progress := make(chan *mcp.ProgressNotificationParams, 1000)
	granted := func(c Client) (*tool.Executor, func(), error) {
		x, leave, err := testSession(c)
		x.Policy = func(tool.Request) tool.Decision {
			return tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{{Verb: tool.Reads, Target: "*"}}}
		}
		return x, leave, err
	}
	cs, leave := client(t, New(Options{Session: granted}), &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		progress <- r.Params
	}})
	p := &mcp.CallToolParams{Name: "slow", Meta: mcp.Meta{}}
	p.SetProgressToken("tok")
	go cs.CallTool(t.Context(), p)
	for range 3 {
		if got := <-progress; got.Message != "" {
			t.Errorf("%+v", got)
		}
	}
	leave()
}

// Only protocol messages are written, one per line.
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
