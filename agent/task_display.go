package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// TaskDisplay shows a subagent and its result: "task_execution" in the documentation.
type TaskDisplay struct {
	Type        string      `json:"type"` // task_execution
	Name        string      `json:"subagentName"`
	Path        string      `json:"by"` // as in the By of its calls
	Description string      `json:"taskDescription"`
	Prompt      string      `json:"taskPrompt"` // its beginning
	Status      string      `json:"status"`     // running, completed, failed, cancelled, background
	Result      string      `json:"result,omitempty"`
	Summary     TaskSummary `json:"executionSummary"`
	Tokens      int         `json:"tokenCount"`
	Calls       []TaskCall  `json:"toolCalls"` // the last ones
}

// TaskSummary counts what a subagent did.
type TaskSummary struct {
	Turns int      `json:"turns"`
	Calls int      `json:"toolCalls"`
	Files []string `json:"filesChanged"`
}

// TaskCall is one call of a subagent.
type TaskCall struct {
	CallID string `json:"callId"`
	Name   string `json:"name"`
	Status string `json:"status"` // executing, success, error, denied, cancelled
	Error  string `json:"error,omitempty"`
}

const (
	statusRunning    = "running"
	statusCompleted  = "completed"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
	statusBackground = "background"

	maxShownCalls  = 20
	maxShownPrompt = 500
	maxShownResult = 4000
)

// display returns the current state of the subagent for the user. It is immutable.
func (m *member) display(status, result string) TaskDisplay {
	return TaskDisplay{
		Type: "task_execution", Name: m.role.Name, Path: m.path,
		Description: m.task.Description, Prompt: short(m.task.Prompt, maxShownPrompt),
		Status: status, Result: tool.Cut(result, maxShownResult),
		Summary: TaskSummary{m.answer.Turns, m.count, append([]string{}, m.changed...)},
		Tokens:  m.answer.Usage.Total(), Calls: append([]TaskCall{}, m.calls...),
	}
}

// MarshalJSON writes the documented task_execution object.
func (d TaskDisplay) MarshalJSON() ([]byte, error) {
	type plain TaskDisplay
	return json.Marshal(plain(d))
}

// Markdown shows the task, its last calls and its report.
func (d TaskDisplay) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s; %s, %s)", tool.Visible(d.Path), tool.Visible(short(d.Description, maxShownPrompt)),
		d.Status,
		humanize.Count(d.Summary.Turns, "turn"), humanize.Count(d.Summary.Calls, "call"))
	for _, c := range d.Calls {
		fmt.Fprintf(&b, "\n- %s: %s", tool.Visible(short(c.Name, 60)), c.Status)
		if c.Error != "" {
			fmt.Fprintf(&b, ": %s", tool.Visible(c.Error))
		}
	}
	if d.Result != "" {
		b.WriteString("\n\n" + tool.Visible(d.Result))
	}
	return b.String()
}
