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

// A program's main begins with helper := adze.Main().
func Example() {
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
	batch := x.Batch(context.Background())
	batch.Add(tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"ls"}`)})
	batch.Add(tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"touch file"}`)})
	for _, o := range batch.Wait() {
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
		batch := x.Batch(t.Context())
		batch.Add(tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"ls"}`)})
		o := batch.Wait()[0]
		if text := o.Result.Text(); !strings.Contains(text, want) || (o.Error == nil) != (mode == "auto") {
			t.Errorf("%s: %v %v\n%s", mode, o.Status, o.Error, text)
		}
		set.Close()
	}
}
