package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/tool"
)

func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	_ = os.WriteFile(filepath.Join(dir, "poem.txt"), []byte("roses are red\nviolets are blue\n"), 0o666)

	set, err := builtin.New(builtin.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	x := &tool.Executor{
		Registry: tool.NewRegistry(set.Tools()...),
		Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
	}
	batch := x.Batch(context.Background())
	for _, c := range []struct {
		name string
		args map[string]any
	}{
		{"edit", map[string]any{"file_path": filepath.Join(dir, "poem.txt"), "old_string": "blue", "new_string": "violet"}},
		{"read_file", map[string]any{"absolute_path": filepath.Join(dir, "poem.txt"), "offset": 1, "limit": 1}},
	} {
		args, _ := json.Marshal(c.args)
		batch.Add(tool.Call{Name: c.name, Args: args})
	}
	for _, o := range batch.Wait() {
		fmt.Println(o.Result.Text())
	}
	// Output:
	// edit poem.txt: it was not read in this session; read it with read_file first (the lines in question are enough)
	// Showing lines 2-2 of 2 total lines.
	//
	// violets are blue
}

func ExampleSet_Attach() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	_ = os.WriteFile(filepath.Join(dir, "poem.txt"), []byte("roses are red\n"), 0o666)
	set, err := builtin.New(builtin.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()

	prompt := "go on with @poem.txt, please, and mail it to me@home"
	mentions := set.Mentions(prompt)
	for _, m := range mentions {
		fmt.Println(m.Text, m.Access.Verb, filepath.Base(m.Access.Target)) // a policy judges m.Access here
	}
	parts, _, err := set.Attach(context.Background(), mentions)
	fmt.Println(len(parts), err)
	// Output:
	// @poem.txt reads poem.txt
	// 1 <nil>
}
