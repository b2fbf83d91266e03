package adze_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// helper is the result of Main: the tests are a program too.
var helper adze.Helper

func TestMain(m *testing.M) {
	if os.Getenv("ADZE_TEST_WITHOUT_MAIN") != "" {
		os.Exit(m.Run())
	}
	helper = adze.Main() // in the processes that keep commands this does not return
	os.Exit(m.Run())
}

// The model reads what is in a directory, and isn't allowed to change it: no user answers. A program's main begins with
// adze.Main().
func Example() {
	dir, _ := os.MkdirTemp("", "example-")
	defer os.RemoveAll(dir)
	m, err := replay.Read(strings.NewReader(`
{"call":{"id":"1","name":"run_shell_command","args":{"command":"ls"}}}
{"end":"calls"}
{"call":{"id":"2","name":"run_shell_command","args":{"command":"touch file"}}}
{"end":"calls"}
{"text":"The directory is empty."}
{"end":"stop"}
`), "example", replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := adze.New(adze.Dir(dir), adze.UseModel(m))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	for event, err := range a.Run(context.Background(), "What is in this directory?") {
		if err != nil {
			fmt.Println(err)
		}
		switch e := event.(type) {
		case adze.Call:
			if e.Stage == tool.Done {
				fmt.Println(e.Outcome.Name, e.Outcome.Status)
			}
		case adze.End:
			fmt.Println(e.Text)
		}
	}
	// Output:
	// run_shell_command success
	// run_shell_command denied
	// The directory is empty.
}

// Package builtin has the tools without an agent.
func Example_tools() {
	dir, _ := os.MkdirTemp("", "example-")
	defer os.RemoveAll(dir)
	set, err := builtin.New(builtin.Options{Dir: dir, Helper: helper})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	policy := permission.New(permission.World{Roots: set.Roots(), Disk: ondisk.New(set.Roots())}, permission.Default)
	x := &tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge, Mask: set.Mask}
	for _, args := range []string{`{"command":"ls"}`, `{"command":"touch file"}`} {
		o := x.Run(context.Background(), tool.Call{Name: "run_shell_command", Args: json.RawMessage(args)})
		fmt.Println(o.Status)
	}
	// Output:
	// success
	// denied
}

// A program that doesn't call Main isn't executed again: an optional sandbox is omitted with a note, a required one is an
// error.
func TestWithoutMain(t *testing.T) {
	for mode, want := range map[string]string{
		"auto":      "ran without its read-only sandbox",
		"read-only": "doesn't call adze.Main first",
	} {
		set, err := builtin.New(builtin.Options{Dir: t.TempDir(), Sandbox: builtin.Sandbox{Mode: mode}})
		if err != nil {
			t.Fatal(err)
		}
		policy := permission.New(permission.World{Roots: set.Roots(), Disk: ondisk.New(set.Roots())}, permission.Default)
		x := &tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge, Mask: set.Mask}
		o := x.Run(t.Context(), tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"ls"}`)})
		if text := o.Result.Text(); !strings.Contains(text, want) || (o.Error == nil) != (mode == "auto") {
			t.Errorf("%s: %v %v\n%s", mode, o.Status, o.Error, text)
		}
		set.Close()
	}
}
