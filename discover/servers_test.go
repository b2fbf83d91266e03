package discover

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/discover/internal/clean"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// self returns this test binary as a server.
func self(t testing.TB, mode string) Server {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Command: path, Env: map[string]string{"ADZE_FAKE_SERVER": mode}}
}

// desk is a session with servers, as a front end sets it up.
type desk struct {
	*Servers
	*tool.Registry
	x *tool.Executor
}

func open(t testing.TB, servers map[string]Server, opt Options) *desk {
	t.Helper()
	d := &desk{Registry: tool.NewRegistry()}
	opt.Registry = d.Registry
	d.Servers = Open(servers, opt)
	t.Cleanup(d.Servers.Close)
	d.x = &tool.Executor{Registry: d.Registry, Policy: func(r tool.Request) tool.Decision {
		if r.MustAsk {
			return tool.Decision{Verdict: tool.Ask}
		}
		return tool.Decision{Verdict: tool.Allow}
	}}
	return d
}

func ready(t testing.TB, mode string, opt Options) *desk {
	t.Helper()
	d := open(t, map[string]Server{"fake": self(t, mode)}, opt)
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) call(ctx context.Context, name, args string) tool.Outcome {
	b := d.x.Batch(ctx)
	b.Add(tool.Call{Name: name, Args: json.RawMessage(args)})
	return b.Wait()[0]
}

func (d *desk) fingerprint(t *testing.T, name string) string {
	t.Helper()
	found, err := d.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return found.Declaration().Fingerprint
}

func (d *desk) declared() []string {
	var names []string
	for _, decl := range d.All() {
		names = append(names, decl.Name)
	}
	return names
}

func TestCallByEveryName(t *testing.T) {
	t.Parallel()
	d := ready(t, "plain", Options{})
	for _, name := range []string{"fake__echo", "mcp__fake__echo", "echo"} {
		if o := d.call(t.Context(), name, `{"text":"hi"}`); o.Result.Text() != "echo hi" {
			t.Errorf("%s: %s %s", name, o.Status, o.Result.Text())
		}
	}
	decl := d.All()[slices.Index(d.declared(), "fake__echo")]
	if decl.Origin != "mcp:fake" || decl.DisplayName != "echo (fake)" || decl.Kind != tool.Other {
		t.Errorf("%+v", decl)
	}
	if st := d.List()[0]; st.State != Ready || st.Instructions != "Be nice." || len(st.Tools) != 13 || st.Starts != 1 {
		t.Errorf("%+v", st)
	}
}

// The second session reads the tools from disk and starts the server at the first call.
func TestManifestCache(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	ready(t, "plain", Options{State: state}).Close()
	d := open(t, map[string]Server{"fake": self(t, "plain")}, Options{State: state})
	if st := d.List()[0]; st.State != Cached || st.Starts != 0 || len(d.All()) != 13 {
		t.Fatalf("%+v", st)
	}
	if o := d.call(t.Context(), "fake__echo", `{"text":"hi"}`); o.Result.Text() != "echo hi" {
		t.Error(o.Result.Text())
	}
	if st := d.List()[0]; st.State != Ready || st.Starts != 1 {
		t.Errorf("%+v", st)
	}
	changed := self(t, "plain")
	changed.Args = []string{"another"}
	if m := loadManifest(state, "fake", changed.Hash()); m != nil {
		t.Error("a manifest of another configuration was loaded")
	}
}

// A tool that changed after it was declared is not called: an approval may be for the old one.
func TestChangedToolIsNotCalled(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	ready(t, "plain", Options{State: state}).Close()
	conf := self(t, "rewritten")
	m := loadManifest(state, "fake", self(t, "plain").Hash())
	m.Hash = conf.Hash()
	if err := m.save(state, "fake"); err != nil {
		t.Fatal(err)
	}
	d := open(t, map[string]Server{"fake": conf}, Options{State: state})
	before := d.fingerprint(t, "fake__echo")
	o := d.call(t.Context(), "fake__echo", `{}`)
	if o.Error == nil || !strings.Contains(o.Error.Message, "changed its tool echo") {
		t.Errorf("%+v", o)
	}
	if o := d.call(t.Context(), "fake__slow", `{}`); o.Error == nil || o.Error.Type != tool.NotRegistered {
		t.Errorf("%+v", o)
	}
	if o := d.call(t.Context(), "fake__echo", `{}`); o.Status != tool.StatusSuccess {
		t.Errorf("%+v", o)
	}
	if after := d.fingerprint(t, "fake__echo"); before == after || before == "" {
		t.Errorf("fingerprints %q and %q", before, after)
	}
}

func TestListChanged(t *testing.T) {
	t.Parallel()
	d := ready(t, "changing", Options{})
	if diff := cmp.Diff([]string{"fake__echo", "fake__version1"}, d.declared()); diff != "" {
		t.Fatal(diff)
	}
	d.call(t.Context(), "fake__echo", `{}`) // it sends four notifications at once
	waittest.Until(t, "the new tools are declared", func() bool {
		return !slices.Contains(d.declared(), "fake__version1") && len(d.declared()) == 2
	})
}

func TestOddTools(t *testing.T) {
	t.Parallel()
	d := open(t, map[string]Server{"fake": self(t, "odd")}, Options{})
	builtin := tool.Define(tool.Def[struct{}]{Name: "read_file", Description: "ours", Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
		return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ours"), nil }}, nil
	}})
	if err := d.Set("", []tool.Tool{builtin}); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range d.declared() {
		if len(name) > clean.MaxName || clean.Name("", name) != name {
			t.Errorf("the name %q", name)
		}
	}
	if n := len(d.All()); n != 8 { // seven of the server's
		t.Errorf("%d tools: %q", n, d.declared())
	}
	if o := d.call(t.Context(), "read_file", `{}`); o.Result.Text() != "ours" {
		t.Error(o.Result.Text())
	}
	for _, c := range [][2]string{{"fake__loop", `{"n":{"n":{"n":{}}}}`}, {"fake__bad", `{"p":"anything"}`}, {"🔧", `{}`}} {
		if o := d.call(t.Context(), c[0], c[1]); o.Status != tool.StatusSuccess {
			t.Errorf("%s: %+v", c[0], o.Error)
		}
	}
	warnings := strings.Join(d.List()[0].Warnings, "\n")
	for _, want := range []string{"echo is listed more than once", "loop: removed 1 invisible characters", "task is ignored: it can only be called as a task", "a tool that has no name"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning %q in\n%s", want, warnings)
		}
	}
}

func TestManyToolsAndCircles(t *testing.T) {
	began := time.Now()
	d := open(t, map[string]Server{"many": self(t, "many"), "circle": self(t, "circle")}, Options{Start: time.Hour})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Minute && !plainadze.RaceEnabled {
		t.Errorf("took %s", took)
	}
	if n := len(d.List()[1].Tools); n != maxItems {
		t.Errorf("%d tools of 5,000", n)
	}
	for _, st := range d.List() {
		if len(st.Warnings) == 0 {
			t.Errorf("no warning about %s", st.Alias)
		}
	}
	if best := Rank("tool42", d.All(), 1); len(best) != 1 || best[0].Name != "many__tool42" {
		t.Errorf("%v", best)
	}
}

func TestIncludeAndExclude(t *testing.T) {
	t.Parallel()
	conf := self(t, "plain")
	conf.IncludeTools, conf.ExcludeTools = []string{"echo", "slow(x)", "hang"}, []string{"hang"}
	d := open(t, map[string]Server{"fake": conf}, Options{})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"fake__echo", "fake__slow"}, d.declared()); diff != "" {
		t.Error(diff)
	}
}

// A server gets the variables it needs to run, and no secrets.
func TestServerEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret-secret")
	t.Setenv("SOME_SETTING", "value")
	conf := self(t, "plain")
	conf.Env["OWN"] = "mine"
	d := open(t, map[string]Server{"fake": conf}, Options{})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := d.call(t.Context(), "fake__env", `{}`).Result.Text()
	if strings.Contains(got, "secret") || strings.Contains(got, "SOME_SETTING") || !strings.Contains(got, "OWN=mine") || !strings.Contains(got, "PATH=") {
		t.Error(got)
	}
}

func TestLogFile(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	d := ready(t, "plain", Options{State: state})
	d.call(t.Context(), "fake__crash", `{}`)
	d.Servers.Close()
	lines, err := LogFile(state, "fake")
	if all := strings.Join(lines, "\n"); err != nil || !strings.Contains(all, "stderr: fatal: out of luck") || !strings.Contains(all, "stdout: Welcome") {
		t.Errorf("%v\n%s", err, all)
	}
	info, err := os.Stat(filepath.Join(state, "logs", "mcp-fake.log"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
