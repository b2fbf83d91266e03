// Command intest is an agent that is tested: its test has a model that plays a script, real tools, and no key.
//
//	go run ./examples/intest README.md          the model is a recording
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/model/replay"
)

const recording = `{"call":{"id":"1","name":"read_file","args":{"absolute_path":"$FILE"}}}
{"end":"calls"}
{"text":"It has a title."}
{"end":"stop"}`

func main() {
	adze.Main() // before anything else; a test calls it in TestMain
	answer, err := describe(context.Background(), ".", strings.Join(os.Args[1:], " "), recording)
	if err != nil {
		fmt.Fprintln(os.Stderr, "intest:", err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

// describe describes a file of a directory.
func describe(ctx context.Context, dir, file, script string) (string, error) {
	m, err := replay.Read(strings.NewReader(script), "script", replay.Options{Vars: map[string]string{"$FILE": file}})
	if err != nil {
		return "", err
	}
	a, err := adze.New(adze.Dir(dir), adze.UseModel(m))
	if err != nil {
		return "", err
	}
	defer a.Close()
	for event, err := range a.Run(ctx, "Describe "+file) {
		if err != nil {
			return "", err
		}
		if end, ok := event.(adze.End); ok {
			if left := m.Left(); left > 0 {
				return "", fmt.Errorf("the script has %d more turns", left)
			}
			return end.Text, nil
		}
	}
	return "", fmt.Errorf("no answer")
}
