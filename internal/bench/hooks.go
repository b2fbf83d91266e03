package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/proc"
)

// printHooks measures a hook that does nothing: what it adds to a call.
func printHooks(w io.Writer, helper proc.Helper) error {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := hook.Open(hook.Options{Hooks: []hook.Hook{{Event: hook.PreToolUse, Command: "true"}}, Dir: dir, Helper: helper})
	defer r.Close()
	var took []time.Duration
	for range 40 {
		time.Sleep(50 * time.Millisecond) // a model takes longer from call to call
		began := time.Now()
		result := r.Run(context.Background(), hook.Input{Event: hook.PreToolUse, ToolInput: []byte(`{}`)}, "x")
		took = append(took, time.Since(began))
		if result.Verdict != hook.None {
			return fmt.Errorf("hook: %s", result.Reason)
		}
	}
	slices.Sort(took)
	fmt.Fprintf(w, "a hook that does nothing\t%v\tunder 5 ms\n", took[len(took)/2].Round(10*time.Microsecond))
	return nil
}
