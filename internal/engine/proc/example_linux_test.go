package proc

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

func ExampleRunner_Run() {
	r := Open(Options{Helper: helper}) // what Main returned
	defer r.Close()
	o, err := r.Run(context.Background(), Command{
		Line:    `printf '10%%\r100%%\n'; echo "error: no such target" >&2; exit 2`,
		Timeout: time.Minute,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(o.Output)
	fmt.Println(o.Ended, o.Exit)
	// Output:
	// 100%
	// error: no such target
	// exited 2
}

func ExampleJobs() {
	r := Open(Options{Helper: helper})
	defer r.Close()
	jobs := NewJobs(r, nil)
	defer jobs.Close()
	id, _ := jobs.Start(Command{Line: "echo listening; sleep 60"}, "dev server")
	var piece Piece
	waittest.Holds(func() bool {
		piece, _, _ = jobs.Read(id, piece.Next, 0)
		return piece.Text != ""
	})
	job, _ := jobs.Stop(id)
	fmt.Print(id, ": ", piece.Text)
	fmt.Println(job.Outcome.Ended)
	// Output:
	// bg_1: listening
	// stopped
}

// Main comes first in a program's main; without it there are no sandboxes.
func ExampleCommand_sandbox() {
	r := Open(Options{Helper: helper})
	defer r.Close()
	dir, _ := os.MkdirTemp("", "example-")
	defer os.RemoveAll(dir)
	o, err := r.Run(context.Background(), Command{
		Line:    "echo reading is free; touch file 2>/dev/null || echo writing is not",
		Dir:     dir,
		Sandbox: &sandbox.Spec{Mode: sandbox.ReadOnly},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(o.Output)
	// Output:
	// reading is free
	// writing is not
}
