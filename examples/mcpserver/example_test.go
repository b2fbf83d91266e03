package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) {
	adze.Main()
	if len(os.Args) == 3 && os.Args[1] == "serve" { // the test is the server, too
		if err := run(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	os.Exit(m.Run())
}

// An agent uses the server. Its questions come from the server, because the client trusts that; no user answers them here.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	a, err := adze.New(adze.Dir(dir), adze.MCP("words", discover.Server{Command: os.Args[0], Args: []string{"serve", dir}, Trust: true}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	log := filepath.Join(dir, "log")
	for _, log := range []string{"", log} {
		args, _ := json.Marshal(map[string]string{"text": "one two three", "log": log})
		o := a.Call(context.Background(), tool.Call{Name: "words__count_words", Args: args})
		fmt.Println(o.Status, o.Status == tool.StatusSuccess && o.Result.Text() == "3 words")
	}
	_, err = os.Stat(log)
	fmt.Println("written:", err == nil)
	// Output:
	// success true
	// error false
	// written: false
}
