package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// A program that embeds the tools calls Main first, so that Adze can sandbox the commands it runs and stop their process trees.
func Example() {
	helper := builtin.Main()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	set, err := builtin.New(builtin.Options{Dir: dir, Helper: helper})
	if err != nil {
		panic(err)
	}
	defer set.Close()
	policy := permission.New(permission.World{Roots: set.Roots(), Disk: ondisk.New(set.Roots())}, permission.AutoEdit)
	x := &tool.Executor{Registry: tool.NewRegistry(set.Tools()...), Policy: policy.Judge, Mask: set.Mask}

	path, _ := json.Marshal(filepath.Join(set.Roots()[0], "hello.txt"))
	batch := x.Batch(context.Background())
	batch.Add(tool.Call{Name: "write_file", Args: json.RawMessage(`{"file_path":` + string(path) + `,"content":"hello\n"}`)})
	batch.Add(tool.Call{Name: "read_file", Args: json.RawMessage(`{"absolute_path":` + string(path) + `}`)})
	batch.Add(tool.Call{Name: "run_shell_command", Args: json.RawMessage(`{"command":"rm hello.txt"}`)})
	for _, o := range batch.Wait() {
		fmt.Println(o.Name, o.Status)
	}
	// Output:
	// write_file success
	// read_file success
	// run_shell_command denied
}

// A tool is offered if its needs are met: without a crew there is no task.
func ExampleSet_Tools() {
	run := func(context.Context, builtin.TaskRequest) (tool.Result, error) {
		return tool.TextResult("a report"), nil
	}
	for _, o := range []builtin.Options{{Dir: os.TempDir()}, {Dir: os.TempDir(), Task: run}} {
		set, err := builtin.New(o)
		if err != nil {
			panic(err)
		}
		defer set.Close()
		_, err = tool.NewRegistry(set.Tools()...).Lookup("task")
		fmt.Println(err == nil)
	}
	// Output:
	// false
	// true
}
