// Package todo has todo_write, and the to-do lists that agents write with it.
package todo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

//go:embed todo_write.md
var description string

type args struct {
	Todos []Item `json:"todos" description:"Complete list in order, including completed items; an empty list clears it."`
}

// Item is one step of a task.
type Item struct {
	ID      string `json:"id" description:"Unique ID of the item." lenient:"true"`
	Content string `json:"content" description:"What to do, as an imperative." alias:"description" ignored:"activeForm"`
	Status  string `json:"status" description:"pending (not started), in_progress (being done now) or completed." enum:"pending,in_progress,completed"`
}

// The statuses of a step.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Completed  = "completed"
)

const (
	maxItems   = 500
	maxID      = 500  // characters
	maxContent = 2000 // characters
	maxFaults  = 10   // reported at once
)

// Lists are the to-do lists of a session: each agent has its own. The zero value is ready to use.
type Lists struct {
	mu    sync.Mutex
	lists map[string]List // by the agent's path; "" is the first agent
	stale int             // turns of the first agent since it last wrote its list, or was reminded of it
}

// Write returns todo_write.
func (s *Lists) Write() tool.Tool {
	return tool.Define(tool.Def[args]{
		Name: "todo_write", DisplayName: "TodoWrite",
		Summary:     "Keep a to-do list of the current task",
		Description: strings.TrimSpace(description), RuleNames: []string{"TodoList"},
		Aliases: []string{"write_todos"}, Kind: tool.Think, Needs: tool.NeedsSession,
		Prepare: func(_ context.Context, a args) (*tool.Invocation, error) {
			number(a.Todos)
			if err := check(a.Todos); err != nil {
				return nil, err
			}
			list := List(slices.Clone(a.Todos))
			return &tool.Invocation{
				Description: list.summary(),
				Access:      []tool.Access{{Verb: tool.Locks, Target: "todos"}},
				Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					if err := ctx.Err(); err != nil {
						return tool.Result{}, err
					}
					s.set(l.Call.By, list)
					return tool.Result{Content: []tool.Part{tool.Text(list.Reminder())}, Display: list}, nil
				},
			}, nil
		},
	})
}

func (s *Lists) set(by string, list List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.lists = map[string]List{}
	}
	s.lists[by] = list
	if by == "" {
		s.stale = 0
	}
	if len(list) == 0 {
		delete(s.lists, by)
	}
}

// Of returns the list of an agent, by its path as in [tool.Call].By: "" is the first agent. It must not be modified.
func (s *Lists) Of(by string) List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[by]
}

// staleTurns is the number of turns without a change after which the first agent is reminded of open steps.
const staleTurns = 10

// News reminds the first agent of steps that it may have forgotten. It is called before each of its turns.
func (s *Lists) News() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.lists[""]
	if len(list.Open()) == 0 {
		return nil
	}
	if s.stale++; s.stale <= staleTurns {
		return nil
	}
	s.stale = 0
	return []string{"Reminder: the to-do list hasn't been updated recently. " + list.Reminder() +
		"\nIf it's out of date, update it with todo_write. Don't mention this reminder to the user."}
}

// Set restores the list of an agent, as of an earlier session. With an invalid item it sets nothing and returns an
// error.
func (s *Lists) Set(by string, list List) error {
	if err := check(list); err != nil {
		return fmt.Errorf("restore the to-do list: %w", err)
	}
	s.set(by, slices.Clone(list))
	return nil
}

// check checks what the schema can't express: the IDs, and the limits.
func check(list []Item) error {
	if len(list) > maxItems {
		return tool.BadParam("todos", "at most %d steps, got %d; keep the next ones and sum up the rest", maxItems,
			len(list))
	}
	var bad []tool.Violation
	first := map[string]int{}
	for i, t := range list {
		at := fmt.Sprintf("todos[%d].", i)
		switch earlier, twice := first[t.ID]; {
		case strings.TrimSpace(t.ID) == "" || len([]rune(t.ID)) > maxID:
			bad = append(bad, tool.Violation{Param: at + "id", Reason: fmt.Sprintf("must have 1 to %d characters",
				maxID)})
		case twice:
			bad = append(bad, tool.Violation{
				Param: at + "id", Reason: fmt.Sprintf("is that of todos[%d]; each id may occur once", earlier),
			})
		default:
			first[t.ID] = i
		}
		if strings.TrimSpace(t.Content) == "" || len([]rune(t.Content)) > maxContent {
			bad = append(bad, tool.Violation{Param: at + "content", Reason: fmt.Sprintf("must have 1 to %d characters",
				maxContent)})
		}
	}
	if more := len(bad) - maxFaults; more > 0 {
		bad = append(bad[:maxFaults], tool.Violation{Param: "todos", Reason: fmt.Sprintf("%d more faults of this sort",
			more)})
	}
	if len(bad) > 0 {
		return &tool.ParamError{Violations: bad}
	}
	return nil
}

// number gives every step without an ID its position as ID, or the next unused number.
func number(list []Item) {
	taken := map[string]bool{}
	for _, t := range list {
		taken[t.ID] = true
	}
	for i := range list {
		for n := i + 1; list[i].ID == ""; n++ {
			if id := strconv.Itoa(n); !taken[id] {
				list[i].ID, taken[id] = id, true
			}
		}
	}
}

// List is a list of steps, and its display: "todo_list" in the documentation.
type List []Item

// Markdown returns a checklist.
func (l List) Markdown() string {
	if len(l) == 0 {
		return "The list is empty."
	}
	var b strings.Builder
	for _, t := range l {
		box := map[string]string{Completed: "[x]", InProgress: "[-]"}[t.Status]
		if box == "" {
			box = "[ ]"
		}
		fmt.Fprintf(&b, "- %s %s\n", box, tool.Visible(humanize.Line(t.Content, maxContent)))
	}
	return strings.TrimRight(b.String(), "\n")
}

// MarshalJSON writes the documented todo_list object.
func (l List) MarshalJSON() ([]byte, error) {
	items := []Item(l)
	if items == nil {
		items = []Item{}
	}
	return json.Marshal(struct {
		Type  string `json:"type"`
		Todos []Item `json:"todos"`
	}{"todo_list", items})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *List) UnmarshalJSON(b []byte) error {
	var in struct {
		Todos []Item `json:"todos"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*l = in.Todos
	return nil
}

// Open returns the steps that are not completed, the one in progress first.
func (l List) Open() List {
	var now, later List
	for _, t := range l {
		switch t.Status {
		case Completed:
		case InProgress:
			now = append(now, t)
		default:
			later = append(later, t)
		}
	}
	return append(now, later...)
}

func (l List) summary() string {
	if len(l) == 0 {
		return "clear the list of steps"
	}
	return fmt.Sprintf("%d of %s done", len(l)-len(l.Open()), humanize.Count(len(l), "step"))
}

// maxReminded is the maximum number of open steps in a reminder.
const maxReminded = 5

// Reminder returns a short text for the model about the open steps.
func (l List) Reminder() string {
	if len(l) == 0 {
		return "The list of steps is empty now."
	}
	open := l.Open()
	if len(open) == 0 {
		return fmt.Sprintf("All steps are done (%d).", len(l))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Open:", l.summary())
	for i, t := range open {
		if i == maxReminded {
			fmt.Fprintf(&b, "\n… and %d more", len(open)-i)
			break
		}
		word := ""
		if t.Status == InProgress {
			word = " (in progress)"
		}
		fmt.Fprintf(&b, "\n- %s%s", tool.Visible(humanize.Line(t.Content, 100)), word)
	}
	return b.String()
}
