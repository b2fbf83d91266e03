package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
)

func TestChecklist(t *testing.T) {
	list := builtin.TodoList{{ID: "1", Content: "Look", Status: "completed"}, {ID: "2", Content: "Change\n- [x] it", Status: "in_progress"}, {ID: "3", Content: "Check", Status: "pending"}}
	if got, want := checklist(list, "  "), "  [x] Look\n  [-] Change - [x] it\n  [ ] Check"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := checklist(nil, "  "); got != "  The list is empty." {
		t.Errorf("got %q", got)
	}
}

// A long list begins with what is to be done.
func TestLongChecklist(t *testing.T) {
	var list builtin.TodoList
	for i := range 100 {
		status := "completed"
		if i >= 40 {
			status = "pending"
		}
		list = append(list, builtin.Todo{ID: fmt.Sprint(i), Content: fmt.Sprintf("step %d %s", i, strings.Repeat("x", 300)), Status: status})
	}
	lines := strings.Split(checklist(list, ""), "\n")
	if len(lines) != mostSteps+1 || lines[0] != "[x] (40 of 100 steps done)" || !strings.HasPrefix(lines[1], "[ ] step 40 xxx") || len(lines[1]) > 110 || lines[mostSteps] != "… and 41 more" {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}
