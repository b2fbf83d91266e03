package tui

import (
	"fmt"
	"slices"

	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/tool"
)

// todoList is the model's to-do list, pinned above the prompt while something in it is open.
type todoList struct {
	list todo.List
	open bool // with a line for each item
}

// take takes the list from a call that has changed it. Subagents have their own.
func (t *todoList) take(e tool.Event) {
	if list, ok := e.Outcome.Result.Display.(todo.List); ok && e.Outcome.Error == nil &&
		e.Request.Call.By == "" {
		t.list = list
	}
}

// foldTodos shows the list with a line for each item, or in one line.
func (s *Screen) foldTodos() { s.todos.open = !s.todos.open }

// live is the list in one line, or in one for each item; nothing if all items are done.
func (t *todoList) live(width, rows int) []cell.Line {
	done := 0
	for _, item := range t.list {
		if item.Status == "completed" {
			done++
		}
	}
	if done == len(t.list) {
		return nil
	}
	head := cell.Line{{Text: fmt.Sprintf("todo %d/%d", done, len(t.list)), Style: cell.Cyan}}
	if t.open {
		return t.unfolded(head, width, rows)
	}
	all, left := head, slices.Clip(head)
	for _, item := range t.list {
		part := append(cell.Line{{Text: "  "}}, todoItem(item)...)
		if all = append(all, part...); item.Status != "completed" {
			left = append(left, part...)
		}
	}
	if all.Width() > width { // what is done makes room for what is not
		all = left
	}
	return []cell.Line{all.Cut(width)}
}

// unfolded is a line for each item, as far as there is space: those from the first open one on.
func (t *todoList) unfolded(head cell.Line, width, rows int) []cell.Line {
	out := []cell.Line{head}
	from := 0
	for from < len(t.list) && len(t.list)-from > rows && t.list[from].Status == "completed" {
		from++
	}
	for i, item := range t.list[from:] {
		if i == rows {
			out = append(out, cell.Styled(fmt.Sprintf("  … %d more", len(t.list)-from-i), cell.Dim))
			break
		}
		out = append(out, append(cell.Line{{Text: "  "}}, todoItem(item)...).Cut(width))
	}
	return out
}

func todoItem(item todo.Item) cell.Line {
	text := visible(item.Content)
	switch item.Status {
	case "completed":
		return cell.Styled("✓ "+text, cell.Dim)
	case "in_progress":
		return cell.Styled("▸ "+text, cell.Bold)
	}
	return cell.Text("· " + text)
}
