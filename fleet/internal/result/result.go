// Package result defines how a task ended, and prints results.
package result

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/fleet/internal/task"
	"github.com/adze-dev/adze/tool"
)

// State is how a task ended.
type State string

// The states.
const (
	Passed     State = "passed"
	Failed     State = "failed"    // a check failed
	Unchanged  State = "unchanged" // no file changed
	OverBudget State = "over_budget"
	TimedOut   State = "timed_out"
	Denied     State = "denied" // nothing changed, and calls were denied
	Broken     State = "broken" // the machine, the model or the repository failed
	NotStarted State = "not_started"
)

// Result is the result of one task.
type Result struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	Patch string `json:"patch"`
	// Changes are the files of the patch, relative to the workspace; nil: none.
	Changes *tool.Changes `json:"changes,omitempty"`

	Cost  float64 `json:"cost"` // US dollars
	Turns int     `json:"turns"`
	MS    int64   `json:"ms"`
	Error string  `json:"error"`
}

// Done is a result in a journal. A long patch is in a file of the store.
type Done struct {
	Result
	PatchFile string `json:"patchFile,omitempty"`
	Text      string `json:"text,omitempty"` // the model's last message
	Model     string `json:"model,omitempty"`
	Worker    string `json:"worker,omitempty"`
	Checks    string `json:"checks,omitempty"` // output of the check that failed
}

// Write prints results as JSON Lines, or as predictions for SWE-bench.
func Write(w io.Writer, format string, all []Done) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, d := range all {
		var v any = d.Result
		if format == "swebench" {
			v = struct {
				ID    string `json:"instance_id"`
				Model string `json:"model_name_or_path"`
				Patch string `json:"model_patch"`
			}{d.ID, d.Model, d.Patch}
		}
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// WriteDir writes a directory: results.jsonl, and a directory for each task.
func WriteDir(dir string, all []Done, transcripts map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		return err
	}
	if err := Write(f, "jsonl", all); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, d := range all {
		sub := filepath.Join(dir, task.Token(d.ID))
		files := map[string]string{"patch.diff": d.Patch, "transcript.md": transcripts[d.ID], "answer.md": d.Text, "checks.txt": d.Checks}
		for name, text := range files {
			if text == "" {
				continue
			}
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(sub, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// Count counts the states, for one line of text.
func Count(all []Done) string {
	n := map[State]int{}
	for _, d := range all {
		n[d.State]++
	}
	text := ""
	for _, s := range []State{Passed, Failed, Unchanged, OverBudget, TimedOut, Denied, Broken, NotStarted} {
		if n[s] > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%d %s", n[s], s)
		}
	}
	return text
}
