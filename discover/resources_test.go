package discover

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// The model reads resources with a tool of their server, which only servers with resources have.
func TestReadResources(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	ready(t, "resources", Options{State: state}).Close()
	d := open(t, map[string]Server{"fake": self(t, "resources")}, Options{State: state}) // declared before it starts
	i := slices.Index(d.declared(), "fake__read_mcp_resource")
	if i < 0 || d.List()[0].State != Cached {
		t.Fatalf("%q, %+v", d.declared(), d.List()[0])
	}
	decl := d.All()[i]
	if decl.Origin != "mcp:fake" || decl.Kind != tool.Other || len(decl.Description) > maxResourceList+500 {
		t.Errorf("%+v", decl)
	}
	for _, want := range []string{"\n- data://picture picture\n", "\n- text://0 Text number 0.\n", " more: call the tool without uri"} {
		if !strings.Contains(decl.Description, want) {
			t.Errorf("no %q in %s", want, decl.Description)
		}
	}
	for _, c := range []struct{ name, args, want string }{
		{"fake__read_mcp_resource", `{"uri":"text://7"}`, "Resource text://7:\nthe text of it\n[removed 1 invisible characters]"},
		{"mcp__fake__read_mcp_resource", `{"uri":"data://archive"}`, "Resource data://archive: 4 bytes of application/zip (binary, not shown)"},
		{"read_mcp_resource", `{"uri":"data://picture"}`, "Resource data://picture:\n[image/png, 8 bytes]"},
	} {
		o := d.call(t.Context(), c.name, c.args)
		if o.Status != tool.StatusSuccess || o.Result.Text() != c.want {
			t.Errorf("%s %s: %s %q", c.name, c.args, o.Status, o.Result.Text())
		}
		if _, isMedia := o.Result.Content[len(o.Result.Content)-1].(tool.Media); isMedia != strings.Contains(c.args, "picture") {
			t.Errorf("%s: %+v", c.args, o.Result.Content)
		}
	}
	o := d.call(t.Context(), "read_mcp_resource", `{}`)
	if text := o.Result.Text(); strings.Count(text, "\n") != 102 || !strings.HasSuffix(text, "\n- text://{number} (template) any text") {
		t.Errorf("%s", text)
	}
	o = d.call(t.Context(), "read_mcp_resource", `{"uri":"text://none"}`)
	if o.Error == nil || o.Error.Type != FailedMCP || !strings.Contains(o.Error.Message, "no such text") {
		t.Errorf("%+v", o.Error)
	}
}

// A server without resources has no such tool, nor has one whose configuration excludes it.
func TestNoResources(t *testing.T) {
	t.Parallel()
	if d := ready(t, "plain", Options{}); slices.Contains(d.declared(), "fake__read_mcp_resource") {
		t.Error("declared without resources")
	}
	conf := self(t, "resources")
	conf.ExcludeTools = []string{"read_mcp_resource"}
	d := open(t, map[string]Server{"fake": conf}, Options{})
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(d.declared(), "fake__read_mcp_resource") || len(d.List()[0].Warnings) > 0 {
		t.Errorf("%q %+v", d.declared(), d.List()[0].Warnings)
	}
}
