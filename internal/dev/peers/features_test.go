package peers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// features returns the fixture server on the TypeScript SDK. marks is where it notes which calls ran.
func features(t *testing.T, marks string) discover.Server {
	t.Helper()
	path, err := filepath.Abs("fixture/features.mjs")
	if err != nil {
		t.Fatal(err)
	}
	return discover.Server{Command: node(t), Args: []string{path}, Env: map[string]string{"MARKS": marks, "WHO": "peer"}}
}

// ran returns how often the fixture ran a call that it notes.
func ran(t *testing.T, marks, name string) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(marks, name))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return len(raw)
}

// Tools, prompts, resources and templates each come in pages of three.
func TestPages(t *testing.T) {
	d := open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{}, nil)
	if n := len(d.List()[0].Tools); n != 21 {
		t.Errorf("%d tools: %v", n, d.List()[0].Tools)
	}
	var prompts, resources, templates []string
	for _, p := range d.Prompts() {
		prompts = append(prompts, p.Name)
	}
	for _, r := range d.Resources() {
		if r.Template {
			templates = append(templates, r.URI)
		} else {
			resources = append(resources, r.URI)
		}
	}
	for _, c := range []struct{ got, want []string }{
		{prompts, []string{"one", "two", "three", "four", "five", "six", "seven"}},
		{resources, []string{"mem://r1", "mem://r2", "mem://r3", "mem://r4", "mem://r5", "mem://r6", "mem://r7"}},
		{templates, []string{"mem://t1/{id}", "mem://t2/{id}", "mem://t3/{id}", "mem://t4/{id}"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
	if p := d.Prompts()[0]; len(p.Arguments) != 2 || !p.Arguments[0].Required || p.Arguments[1].Required {
		t.Errorf("%+v", p)
	}
	messages, err := d.Prompt(t.Context(), "f", "one", map[string]string{"what": "the sky"})
	if err != nil || len(messages) != 3 || messages[0].Content[0] != tool.Text("Look at the sky closely.") || messages[1].Role != "assistant" {
		t.Errorf("%v %v", messages, err)
	}
}

// Each of the three lists changes, with four notifications at once; Adze requests all of it again once, not four times.
func TestListsChange(t *testing.T) {
	var mu sync.Mutex
	changes := 0
	d := open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{Changed: func(string) {
		mu.Lock()
		defer mu.Unlock()
		changes++
	}}, nil)
	lists := func() int {
		n, err := strconv.Atoi(d.want(t, "f__lists", `{}`, "").Result.Text())
		if err != nil {
			t.Error(err)
		}
		return n
	}
	d.want(t, "f__add_tool", `{}`, "added")
	waittest.Until(t, "the new tool is there", func() bool { _, err := d.registry.Lookup("f__added_tool"); return err == nil })
	d.want(t, "f__added_tool", `{}`, "I was added")
	if n := lists(); n > 3 { // twice, unless the machine is so busy that the four come apart
		t.Errorf("the tools were listed %d times", n)
	}
	d.want(t, "f__add_prompt", `{}`, "added")
	waittest.Until(t, "the new prompt is there", func() bool {
		all := d.Prompts()
		return all[len(all)-1].Name == "added_prompt"
	})
	d.want(t, "f__add_resource", `{}`, "added")
	waittest.Until(t, "the new resource is there", func() bool {
		for _, r := range d.Resources() {
			if r.URI == "mem://added" {
				return true
			}
		}
		return false
	})
	if n := lists(); n > 7 {
		t.Errorf("the lists were read %d times", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if changes < 4 || changes > 7 {
		t.Errorf("told of %d changes", changes)
	}
}

// Every kind of content reaches the model as the kind that it is.
func TestContentKinds(t *testing.T) {
	d := open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{}, nil)
	var got []string
	for _, p := range d.want(t, "f__kinds", `{}`, "all kinds").Result.Content {
		switch p := p.(type) {
		case tool.Text:
			got = append(got, string(p))
		case tool.Media:
			got = append(got, fmt.Sprintf("%s, %d bytes", p.MIMEType, len(p.Data)))
		}
	}
	want := []string{
		"all kinds", "image/png, 70 bytes", "audio/wav, 16 bytes", "Resource mem://text:\nembedded text",
		"Resource mem://blob: 4 bytes of application/zip (binary, not shown)",
		"Resource link: A linked thing at mem://linked (text/plain): read it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if parts, err := d.Read(t.Context(), "f", "mem://picture"); err != nil || len(parts) != 2 || parts[1].(tool.Media).MIMEType != "image/png" {
		t.Errorf("%v %v", parts, err)
	}
	if _, err := d.Read(t.Context(), "f", "mem://nowhere"); err == nil || !strings.Contains(err.Error(), "there is no resource mem://nowhere") {
		t.Error(err)
	}
}

// A structured result is checked against the schema that the server declares; an error of the tool is one of the call.
func TestStructured(t *testing.T) {
	d := open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{}, nil)
	if o := d.want(t, "f__structured", `{}`, `{"n":7}`); strings.Contains(o.Result.Text(), "doesn't match") {
		t.Error(o.Result.Text())
	}
	d.want(t, "f__unfit", `{}`, "doesn't match the server's schema")
	if o := d.call(t.Context(), "f__failing", `{}`); o.Status != tool.StatusError || o.Error.Type != discover.FailedMCP || !strings.Contains(o.Error.Message, "the disk is full") {
		t.Errorf("%+v", o)
	}
	// A schema of draft-07 with definitions, an unsupported pattern and an unknown keyword.
	d.want(t, "f__draft", `{"a":2,"b":3,"code":"anything"}`, "area 6")
	if o := d.call(t.Context(), "f__draft", `{"a":0}`); o.Error == nil || o.Error.Type != tool.InvalidParams {
		t.Errorf("%+v", o)
	}
}

// Sixteen steps of 200 ms take longer than the 2.5 s that a call may take without progress. On a slow machine, where the
// server or Adze misses that, the steps and the limit are longer.
func TestProgressOfFixture(t *testing.T) {
	for step := int64(200); ; step *= 2 {
		err := progressWith(t, step)
		if err == nil {
			return
		}
		if step > 10_000 {
			t.Fatal(err)
		}
	}
}

// progressWith runs sixteen steps of so many milliseconds, with a limit of 12.5 steps.
func progressWith(t *testing.T, step int64) error {
	conf := features(t, "")
	conf.Timeout = step * 25 / 2
	conf.Env["STEP"] = strconv.FormatInt(step, 10)
	d := open(t, map[string]discover.Server{"f": conf}, discover.Options{}, nil)
	var mu sync.Mutex
	var shown []discover.Progress
	d.x.Observe = func(ev tool.Event) {
		mu.Lock()
		defer mu.Unlock()
		if p, ok := ev.Display.(discover.Progress); ok && ev.Stage == tool.Showing {
			shown = append(shown, p)
		}
	}
	o := d.call(t.Context(), "f__progress", `{}`)
	mu.Lock()
	defer mu.Unlock()
	if o.Status != tool.StatusSuccess || o.Result.Text() != "sixteen steps" || len(shown) < 6 || shown[1] != (discover.Progress{Progress: 2, Total: 16, Message: "step 2"}) {
		return fmt.Errorf("%s %+v: %s, shown %+v", o.Status, o.Error, o.Result.Text(), shown)
	}
	return nil
}

func TestCancelReachesTheServer(t *testing.T) {
	marks := t.TempDir()
	d := open(t, map[string]discover.Server{"f": features(t, marks)}, discover.Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		waittest.Until(t, "the server has the call", func() bool { return ran(t, marks, "waiting") == 1 })
	}()
	if o := d.call(ctx, "f__wait", `{}`); o.Status != tool.StatusCancelled {
		t.Errorf("%+v", o)
	}
	waittest.Until(t, "the server stops", func() bool { return ran(t, marks, "cancelled") == 1 })
	// A call that times out is canceled too.
	conf := features(t, marks)
	conf.Timeout = 400
	d = open(t, map[string]discover.Server{"f": conf}, discover.Options{}, nil)
	if o := d.call(t.Context(), "f__wait", `{}`); o.Error == nil || o.Error.Type != tool.ExecutionTimeout || !strings.Contains(o.Error.Message, "may still have taken effect") {
		t.Errorf("%+v", o)
	}
	waittest.Until(t, "the server stops again", func() bool { return ran(t, marks, "cancelled") == 2 })
}

// The log contains the server's messages and its stderr.
func TestServerLog(t *testing.T) {
	state := t.TempDir()
	d := open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{State: state}, nil)
	d.want(t, "f__log", `{}`, "logged")
	for _, want := range []string{"info: a line of info", "warning: a line of warning", `error: {"code":5}`, "stderr: features is here"} {
		waittest.Until(t, want+" is in the log", func() bool {
			lines, err := discover.LogFile(state, "f")
			return err == nil && strings.Contains(strings.Join(lines, "\n"), want)
		})
	}
}

// A call that is lost with the process is only retried if it is read-only or idempotent.
func TestReplay(t *testing.T) {
	marks := t.TempDir()
	d := open(t, map[string]discover.Server{"f": features(t, marks)}, discover.Options{}, nil)
	d.want(t, "f__die_read", `{}`, "read at last")
	d.want(t, "f__die_idempotent", `{}`, "set at last")
	o := d.call(t.Context(), "f__die_write", `{}`)
	if o.Error == nil || !strings.Contains(o.Error.Message, "code 3") || !strings.Contains(o.Error.Message, "may still have taken effect") {
		t.Errorf("%+v", o)
	}
	for name, want := range map[string]int{"die_read": 2, "die_idempotent": 2, "die_write": 1} {
		if n := ran(t, marks, name); n != want {
			t.Errorf("%s ran %d times", name, n)
		}
	}
	// After a server has exited between two calls, the second call goes to the new process.
	d.want(t, "f__leave", `{}`, "good bye")
	waittest.Until(t, "the server starts again", func() bool { return d.List()[0].Starts == 5 })
	d.want(t, "f__log", `{}`, "logged")
	if st := d.List()[0]; st.State != discover.Ready || st.Starts != 5 {
		t.Errorf("%+v", st)
	}
}

// A server that keeps crashing restarts after increasing delays.
func TestCrashAgainAndAgain(t *testing.T) {
	d := open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{}, nil)
	began := time.Now()
	for range 4 {
		if o := d.call(t.Context(), "f__die_write", `{}`); o.Error == nil || !strings.Contains(o.Error.Message, "may still have taken effect") {
			t.Errorf("%+v", o)
		}
	}
	d.want(t, "f__kinds", `{}`, "all kinds")
	if took := time.Since(began); took < 1750*time.Millisecond { // 0 + 250 ms + 500 ms + 1 s
		t.Errorf("four restarts in %s", took)
	}
	if st := d.List()[0]; st.Starts != 5 || st.Err == nil {
		t.Errorf("%+v", st)
	}
}

// Whatever a server has started ends with it.
func TestGroupEnds(t *testing.T) {
	d := open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{}, nil)
	text := d.want(t, "f__breed", `{}`, "child ").Result.Text()
	pid, err := strconv.Atoi(strings.TrimPrefix(text, "child "))
	if err != nil || gone(pid) {
		t.Fatalf("%q: %v", text, err)
	}
	d.Close()
	waittest.Until(t, "the child is gone", func() bool { return gone(pid) })
}

// gone reports whether a process has ended, including one that wasn't reaped yet.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// Questions of a server: to the user, to the model, and where one works.
func TestQuestionsOfFixture(t *testing.T) {
	conf := features(t, "")
	conf.Roots = []string{"/home/me/app"}
	asked := 0
	ask := func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		asked++
		d := tool.Decision{Verdict: tool.Allow}
		if r.Form != nil {
			d.Answer = []byte(`{"colour":"blue"}`)
		}
		return d, nil
	}
	d := open(t, map[string]discover.Server{"f": conf}, discover.Options{Sample: sample}, ask)
	d.want(t, "f__ask", `{}`, `{"action":"accept","content":{"colour":"blue"}}`)
	d.want(t, "f__roots", `{}`, `["file:///home/me/app"]`)
	d.want(t, "f__sample", `{}`, "the model said: sampled by Adze")
	if asked != 2 {
		t.Errorf("the person was asked %d times", asked)
	}
	d = open(t, map[string]discover.Server{"f": features(t, "")}, discover.Options{}, nil)
	d.want(t, "f__ask", `{}`, "requires approval")
	if o := d.call(t.Context(), "f__sample", `{}`); o.Error == nil {
		t.Errorf("sampling that nobody offered: %+v", o)
	}
	d.want(t, "f__roots", `{}`, `[]`) // no roots are configured
}

// Declarations of a server's tools are bounded and have no invisible characters; a tool that has changed since it was known
// is not called before the model has seen what it is now.
func TestDescriptions(t *testing.T) {
	marks, state := t.TempDir(), t.TempDir()
	servers := map[string]discover.Server{"f": features(t, marks)}
	d := open(t, servers, discover.Options{State: state}, nil)
	found, err := d.registry.Lookup("f__says")
	if err != nil {
		t.Fatal(err)
	}
	if text := found.Declaration().Description; !strings.HasPrefix(text, "Add. xxx") || !strings.HasSuffix(text, "more characters)") || len(text) > 4100 {
		t.Errorf("%d bytes: %.40q … %q", len(text), text, text[len(text)-30:])
	}
	if all := strings.Join(d.List()[0].Warnings, "\n"); !strings.Contains(all, "says: removed 2 invisible characters") {
		t.Error(all)
	}
	before := found.Declaration().Fingerprint
	d.Close()
	if err := os.WriteFile(filepath.Join(marks, "said"), []byte("Sends it all to us. "), 0o600); err != nil {
		t.Fatal(err)
	}
	d = open(t, servers, discover.Options{State: state}, nil)
	if o := d.call(t.Context(), "f__says", `{}`); o.Error == nil || !strings.Contains(o.Error.Message, "changed its tool says, so it was not called") {
		t.Errorf("%+v", o)
	}
	d.want(t, "f__says", `{}`, "said")
	if found, err = d.registry.Lookup("f__says"); err != nil || found.Declaration().Fingerprint == before || before == "" {
		t.Errorf("%v: a yes to the old one would count for the new one", err)
	}
}
