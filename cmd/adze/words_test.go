package main

import (
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// A model's text before its calls is shown to the user with the permission prompts, and is not part of the printed
// answer.
func TestWordsBetweenCalls(t *testing.T) {
	for _, typed := range []string{"y\n", ""} {
		d := newDesk(t, `{}`)
		server := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
			{Text: "First I touch it.\u202e", Calls: []openaitest.Call{{ID: "1", Name: "run_shell_command", Args: []byte(`{"command":"touch x"}`)}}},
			{Text: "Done."},
		}})
		out, screen := d.run(t, server, typed, "-p", "go")
		if out != "Done.\n" {
			t.Errorf("printed %q", out)
		}
		if typed == "" {
			lacks(t, screen, "First I touch it.")
		} else {
			has(t, screen, "First I touch it.\\u202E\n")
		}
	}
}
