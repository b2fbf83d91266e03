package builtin

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
var todoWriteText string

type todoWriteArgs struct {
	Todos []Todo `json:"todos" description:"Complete list in order, including completed items; an empty list clears it."`
}

// Todo is one step of a task.
type Todo struct {
	ID      string `json:"id" description:"Unique ID of the item." lenient:"true"`
	Content string `json:"content" description:"What to do, as an imperative." alias:"description" ignored:"activeForm"`
	Status  string `json:"status" description:"pending (not started), in_progress (being done now) or completed." enum:"pending,in_progress,completed"`
}

// The statuses of a step.
const (
	TodoPending    = "pending"
	TodoInProgress = "in_progress"
	TodoCompleted  = "completed"
)

const (
	maxTodos       = 500
	maxTodoID      = 500  // characters
	maxTodoContent = 2000 // characters
	maxFaults      = 10   // reported at once
)

// todos are the to-do lists of a session: each agent has its own.
type todos struct {
	mu    sync.Mutex
	lists map[string]TodoList // by the agent's path; "" is the first agent
	stale int                 // turns of the first agent since it last wrote its list, or was reminded of it
}

func todoWrite(s *todos) tool.Tool {
	return tool.Define(tool.Def[todoWriteArgs]{
		Name: "todo_write", DisplayName: "TodoWrite",
		Summary:     "Keep a to-do list of the current task",
		Description: strings.TrimSpace(todoWriteText), RuleNames: []string{"TodoList"},
		Aliases: []string{"write_todos"}, Kind: tool.Think, Needs: tool.NeedsSession,
		Prepare: func(_ context.Context, a todoWriteArgs) (*tool.Invocation, error) {
			number(a.Todos)
			if err := checkTodos(a.Todos); err != nil {
				return nil, err
			}
			list := TodoList(slices.Clone(a.Todos))
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

func (s *todos) set(by string, list TodoList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.lists = map[string]TodoList{}
	}
	s.lists[by] = list
	if by == "" {
		s.stale = 0
	}
	if len(list) == 0 {
		delete(s.lists, by)
	}
}

func (s *todos) list(by string) TodoList {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[by]
}

// staleTurns is the number of turns without a change after which the first agent is reminded of open steps.
const staleTurns = 10

// news reminds the first agent of steps that it may have forgotten. It is called before each of its turns.
func (s *todos) news() []string {
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

// Todos returns the to-do list of an agent, by its path as in [tool.Call].By: "" is the first agent. It must not be
// modified.
func (s *Set) Todos(by string) TodoList { return s.todos.list(by) }

// SetTodos restores the list of an agent, as of an earlier session. With an invalid item it sets nothing and returns an
// error.
func (s *Set) SetTodos(by string, list TodoList) error {
	if err := checkTodos(list); err != nil {
		return fmt.Errorf("restore the to-do list: %w", err)
	}
	s.todos.set(by, slices.Clone(list))
	return nil
}

// checkTodos checks what the schema can't express: the IDs, and the limits.
func checkTodos(list []Todo) error {
	if len(list) > maxTodos {
		return tool.BadParam("todos", "at most %d steps, got %d; keep the next ones and sum up the rest", maxTodos,
			len(list))
	}
	var bad []tool.Violation
	first := map[string]int{}
	for i, t := range list {
		at := fmt.Sprintf("todos[%d].", i)
		switch earlier, twice := first[t.ID]; {
		case strings.TrimSpace(t.ID) == "" || len([]rune(t.ID)) > maxTodoID:
			bad = append(bad, tool.Violation{Param: at + "id", Reason: fmt.Sprintf("must have 1 to %d characters",
				maxTodoID)})
		case twice:
			bad = append(bad, tool.Violation{
				Param: at + "id", Reason: fmt.Sprintf("is that of todos[%d]; each id may occur once", earlier),
			})
		default:
			first[t.ID] = i
		}
		if strings.TrimSpace(t.Content) == "" || len([]rune(t.Content)) > maxTodoContent {
			bad = append(bad, tool.Violation{Param: at + "content", Reason: fmt.Sprintf("must have 1 to %d characters",
				maxTodoContent)})
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
func number(list []Todo) {
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

// TodoList is a list of steps, and its display: "todo_list" in the documentation.
type TodoList []Todo

// Markdown returns a checklist.
func (l TodoList) Markdown() string {
	if len(l) == 0 {
		return "The list is empty."
	}
	var b strings.Builder
	for _, t := range l {
		box := map[string]string{TodoCompleted: "[x]", TodoInProgress: "[-]"}[t.Status]
		if box == "" {
			box = "[ ]"
		}
		fmt.Fprintf(&b, "- %s %s\n", box, oneLine(t.Content, maxTodoContent))
	}
	return strings.TrimRight(b.String(), "\n")
}

// MarshalJSON writes the documented todo_list object.
func (l TodoList) MarshalJSON() ([]byte, error) {
	items := []Todo(l)
	if items == nil {
		items = []Todo{}
	}
	return json.Marshal(struct {
		Type  string `json:"type"`
		Todos []Todo `json:"todos"`
	}{"todo_list", items})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *TodoList) UnmarshalJSON(b []byte) error {
	var in struct {
		Todos []Todo `json:"todos"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*l = in.Todos
	return nil
}

// Open returns the steps that are not completed, the one in progress first.
func (l TodoList) Open() TodoList {
	var now, later TodoList
	for _, t := range l {
		switch t.Status {
		case TodoCompleted:
		case TodoInProgress:
			now = append(now, t)
		default:
			later = append(later, t)
		}
	}
	return append(now, later...)
}

func (l TodoList) summary() string {
	if len(l) == 0 {
		return "clear the list of steps"
	}
	return fmt.Sprintf("%d of %s done", len(l)-len(l.Open()), humanize.Count(len(l), "step"))
}

// maxReminded is the maximum number of open steps in a reminder.
const maxReminded = 5

// Reminder returns a short text for the model about the open steps.
func (l TodoList) Reminder() string {
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
		if t.Status == TodoInProgress {
			word = " (in progress)"
		}
		fmt.Fprintf(&b, "\n- %s%s", oneLine(t.Content, 100), word)
	}
	return b.String()
}

// oneLine returns a text as one visible line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n]) + " …"
	}
	return tool.Visible(s)
}
