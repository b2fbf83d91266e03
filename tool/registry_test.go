package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/tool"
)

func named(name, origin string, aliases ...string) *fakeTool {
	f := fake(name, tool.Think, tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
		return tool.TextResult(name + " of " + origin), nil
	}})
	f.decl.Origin, f.decl.Aliases = origin, aliases
	return f
}

func found(r *tool.Registry, name string) string {
	t, err := r.Lookup(name)
	if err != nil {
		return err.Error()
	}
	d := t.Declaration()
	return d.Name + " of " + d.Origin
}

func TestRegistryNamesAndAliases(t *testing.T) {
	r := tool.NewRegistry(named("read_file", "", "ReadFile", "cat"), named("edit", ""))
	err := r.Set("mcp:x", []tool.Tool{
		named("read_file", "mcp:x"), named("cat", "mcp:x"), named("search", "mcp:x", "edit", "ReadFile", "find"),
		named("", "mcp:x"), named("stray", "mcp:y"), named("search", "mcp:x"),
	})
	wantSame(t, "left out", strings.Join([]string{
		"register tool read_file of mcp:x: the name is already used by the built-in tools",
		"register tool cat of mcp:x: the name is already used by the built-in tools",
		"register tool of mcp:x: missing name",
		"register tool stray of mcp:x: it declares the origin mcp:y",
		"register tool search of mcp:x: the name is already used by mcp:x",
	}, "\n"), fmt.Sprint(err))
	for name, want := range map[string]string{
		"read_file": "read_file of ", "ReadFile": "read_file of ", "cat": "read_file of ", "edit": "edit of ",
		"search": "search of mcp:x", "find": "search of mcp:x",
		"raed_file": "unknown tool \"raed_file\"\nDid you mean \"read_file\"?",
		"readfiles": "unknown tool \"readfiles\"\nDid you mean \"read_file\"?",
		"reader":    "unknown tool \"reader\"\nAvailable tools: edit, read_file, search",
		"":          "unknown tool \"\"\nAvailable tools: edit, read_file, search",
	} {
		wantSame(t, name, want, found(r, name))
	}
	err = r.Set("mcp:z", []tool.Tool{named("search", "mcp:z"), named("other", "mcp:z")})
	wantSame(t, "of another origin", "register tool search of mcp:z: the name is already used by mcp:x", fmt.Sprint(err))
	if err := r.Set("mcp:x", nil); err != nil {
		t.Fatal(err)
	}
	wantSame(t, "gone", "unknown tool \"search\"\nAvailable tools: edit, other, read_file", found(r, "search"))
	var none *tool.Registry
	wantSame(t, "nil registry", "unknown tool \"x\"\nNo tools are registered.", found(none, "x"))
	wantSame(t, "nil registry", 0, len(none.All()))
	if long := found(r, strings.Repeat("x", 9999)); len(long) > 300 {
		t.Errorf("the error of a long name has %d bytes", len(long))
	}
}

// External tools can't take names of built-in tools, not even if they were added first.
// A caller that waits for a tool learns of each change, and of none that was before.
func TestChanged(t *testing.T) {
	r := tool.NewRegistry(named("edit", ""))
	before := r.Changed()
	select {
	case <-before:
		t.Error("a change before the wait was reported")
	default:
	}
	if err := r.Set("mcp:x", []tool.Tool{named("search", "mcp:x")}); err != nil {
		t.Fatal(err)
	}
	<-before
	next := r.Changed()
	r.Hide(nil)
	<-next
}

func TestBuiltinComesFirst(t *testing.T) {
	r := &tool.Registry{}
	if err := r.Set("mcp:x", []tool.Tool{named("edit", "mcp:x"), named("old", "mcp:x"), named("mine", "mcp:x")}); err != nil {
		t.Fatal(err)
	}
	if err := r.Set("", []tool.Tool{named("edit", "", "old")}); err != nil {
		t.Error(err)
	}
	wantSame(t, "by name", "edit of ", found(r, "edit"))
	wantSame(t, "by alias", "edit of ", found(r, "old"))
	wantSame(t, "the rest", "mine of mcp:x", found(r, "mine"))
	var names []string
	for _, d := range r.All() {
		names = append(names, d.Name+" of "+d.Origin)
	}
	wantSame(t, "declared", []string{"edit of ", "mine of mcp:x"}, names)
}

// Rules also name a tool by its display name or by a class name: an external tool with such a name would be covered by a
// rule for the built-in one.
func TestNamesOfRulesCannotBeTaken(t *testing.T) {
	reader := named("read_file", "")
	reader.decl.DisplayName, reader.decl.RuleNames = "ReadFile", []string{"Reader"}
	outside := func() []tool.Tool {
		var ts []tool.Tool
		for _, name := range []string{"ReadFile", "ReadFileTool", "Reader", "readfile"} {
			ts = append(ts, named(name, "command"))
		}
		return ts
	}
	r := tool.NewRegistry(reader)
	err := r.Set("command", outside())
	wantSame(t, "left out", strings.Join([]string{
		"register tool ReadFile of command: rules use this name for the built-in read_file. Rename the tool.",
		"register tool ReadFileTool of command: rules use this name for the built-in read_file. Rename the tool.",
		"register tool Reader of command: rules use this name for the built-in read_file. Rename the tool.",
	}, "\n"), fmt.Sprint(err))
	wantSame(t, "the rest", "readfile of command", found(r, "readfile"))

	late := &tool.Registry{}
	if err := late.Set("command", outside()); err != nil {
		t.Fatal(err)
	}
	if err := late.Set("", []tool.Tool{reader}); err != nil {
		t.Fatal(err)
	}
	wantSame(t, "those that came first", 2, len(late.All()))
}

// A hidden tool is never shown, not even in a suggestion; its names stay taken, and later tools are hidden too.
func TestHide(t *testing.T) {
	r := tool.NewRegistry(named("read_file", "", "cat"), named("edit", ""))
	r.Hide(func(d tool.Declaration) bool { return d.Name == "read_file" || d.Name == "x__secret" })
	err := r.Set("mcp:x", []tool.Tool{named("read_file", "mcp:x"), named("cat", "mcp:x"), named("x__secret", "mcp:x"), named("x__open", "mcp:x")})
	wantSame(t, "left out", "register tool read_file of mcp:x: the name is already used by the built-in tools\n"+
		"register tool cat of mcp:x: the name is already used by the built-in tools", fmt.Sprint(err))
	for name, want := range map[string]string{
		"edit":      "edit of ",
		"read_file": "unknown tool \"read_file\"\nAvailable tools: edit, x__open",
		"cat":       "unknown tool \"cat\"\nAvailable tools: edit, x__open",
		"x__secret": "unknown tool \"x__secret\"\nAvailable tools: edit, x__open",
	} {
		wantSame(t, name, want, found(r, name))
	}
	for _, ds := range [][]tool.Declaration{r.All(), r.Declarations(nil)} {
		if len(ds) != 2 || ds[0].Name != "edit" || ds[1].Name != "x__open" {
			t.Errorf("declared: %v", ds)
		}
	}
	r.Hide(nil)
	wantSame(t, "shown again", "read_file of ", found(r, "cat"))
}

// An excluded tool is hidden too, and a call of it by any of its names is denied.
func TestExclude(t *testing.T) {
	r := tool.NewRegistry(named("read_file", "", "cat"), named("edit", ""))
	r.Exclude(func(d tool.Declaration) bool { return d.Name == "read_file" })
	for _, name := range []string{"read_file", "cat", "functions.read_file:0"} {
		_, err := r.Lookup(name)
		if !errors.Is(err, tool.ErrDenied) || !strings.Contains(err.Error(), name+": the tool is excluded in this session") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.All()) != 1 || strings.Contains(found(r, "read_fil"), "Did you mean") {
		t.Errorf("%v, %s", r.All(), found(r, "read_fil"))
	}
	o := begin(t.Context(), &tool.Executor{Registry: r}, "cat x").Wait()[0]
	wantSame(t, "status", tool.StatusDenied, o.Status)
}

func TestNewRegistryPanicsOnTwoOfOneName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two tools of one name were taken")
		}
	}()
	tool.NewRegistry(named("a", ""), named("a", ""))
}

// The same tools give the same bytes, whatever the order they came in.
func TestDeclarationsAreStable(t *testing.T) {
	bytesOf := func(origins ...string) string {
		r := tool.NewRegistry(named("b", "", "x"), named("d", ""))
		for _, o := range origins {
			ts := []tool.Tool{named("a"+o, o), named("c"+o, o)}
			if o == "mcp:2" {
				slices.Reverse(ts)
			}
			if err := r.Set(o, ts); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := json.Marshal(r.Declarations(nil))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	want := bytesOf("mcp:1", "mcp:2", "command")
	for range 20 {
		wantSame(t, "bytes", want, bytesOf("command", "mcp:2", "mcp:1", "mcp:2"))
	}
	wantSame(t, "one declaration", `[{"name":"acommand","displayName":"acommand","description":"A toy.","parametersJsonSchema":null,"kind":"think","aliases":[],"source":"command"}`,
		want[:strings.Index(want, "}")+1])
	wantSame(t, "aliases and source", true, strings.Contains(want, `"name":"b","displayName":"b","description":"A toy.","parametersJsonSchema":null,"kind":"think","aliases":["x"],"source":"builtin"`))
}

// Lists change while calls run and wait. A call keeps the tool it was looked up with; what is deferred can be called.
func TestListChangesMidSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := func(v string) *fakeTool {
			f := named("server", "mcp:x")
			f.decl.Deferred = true
			f.prepare = func(context.Context, json.RawMessage) (*tool.Invocation, error) {
				return &tool.Invocation{Description: "call " + v, Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult(v), nil }}, nil
			}
			return f
		}
		d := &desk{}
		x := &tool.Executor{Registry: tool.NewRegistry(named("plain", "")), Policy: askAbout, Ask: d.ask}
		set := func(ts ...tool.Tool) {
			if err := x.Registry.Set("mcp:x", ts); err != nil {
				t.Fatal(err)
			}
		}
		set(version("one"))
		b := begin(t.Context(), x, "server")
		synctest.Wait()
		set(version("two"))
		b.Add(call("server"))
		synctest.Wait()
		set()
		d.yes(t, "call one")
		synctest.Wait()
		d.yes(t, "call two")
		b.Add(call("server"))
		wantSame(t, "outcomes", []string{"success: one", "success: two", "error: unknown tool \"server\"\nAvailable tools: plain"}, says(b.Wait()))

		set(version("three"))
		names := func(revealed func(string) bool) (out []string) {
			for _, d := range x.Registry.Declarations(revealed) {
				out = append(out, d.Name)
			}
			return out
		}
		wantSame(t, "declared", []string{"plain"}, names(nil))
		wantSame(t, "revealed", []string{"plain", "server"}, names(func(n string) bool { return n == "server" }))
		wantSame(t, "all", 2, len(x.Registry.All()))
	})
}
