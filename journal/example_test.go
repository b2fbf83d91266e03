package journal_test

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// What happens is written as entries; the state of the session follows from them, wherever they are read.
func Example() {
	log, blobs := &journal.Memory{}, &journal.MemoryBlobs{}
	w := journal.NewWriter(log, blobs, journal.State{})
	w.Mask = func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	for _, data := range []journal.Data{
		journal.Opened{ID: "s1", CWD: "/src/greeting", Model: "qwen3-coder", Mode: "default"},
		journal.Message{Message: model.Prompt("Why is the password hunter2 rejected?")},
		journal.Mode{Mode: "plan"},
	} {
		if _, err := w.Write("", data); err != nil {
			fmt.Println(err)
			return
		}
	}

	state, err := journal.Fold(log.Read(1), blobs)
	if err != nil {
		fmt.Println(err)
		return
	}
	first := state.Agent("") // the agent that the user talks to
	fmt.Println(state.Opened.ID, state.Seq, first.Mode)
	fmt.Println(first.History[0].Text())
	// Output:
	// s1 3 plan
	// Why is the password *** rejected?
}

// A session is titled by the first line of its first prompt.
func ExampleTitle() {
	fmt.Println(journal.Title("Fix the test\n\nIt fails on Tuesdays."))
	// Output: Fix the test
}
