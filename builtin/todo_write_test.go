package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

type ctx = context.Context

func TestTodoWrite(t *testing.T) {
	tooltest.Check(t, one(t, "todo_write"),
		tooltest.Try{Args: `{"todos":[{"id":"1","content":"Look","status":"pending"}]}`},
		tooltest.Try{Args: `{"todos":[]}`},
		tooltest.Try{Args: `{"todos":[{"id":"1","content":"","status":"pending"}]}`, Fails: true},
	)
}

// Each agent has its own list, which a front end can read.
func TestTodosOfEachAgent(t *testing.T) {
	s := open(t, t.TempDir())
	x := executor(s)
	mine := args{"todos": []args{{"id": "1", "content": "Mine", "status": "pending"}}}
	theirs := args{"todos": []args{{"id": "1", "content": "Theirs", "status": "in_progress"}}}
	call(t, x, "todo_write", mine)
	call(t, x.Child(nil, "explore-1", nil), "todo_write", theirs)
	call(t, x, "todo_write", args{"todos": []args{{"id": "1", "content": "Mine", "status": "wrong"}}})
	if d := cmp.Diff(todo.List{{ID: "1", Content: "Mine", Status: "pending"}}, s.Todos("")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(todo.List{{ID: "1", Content: "Theirs", Status: "in_progress"}}, s.Todos("explore-1")); d != "" {
		t.Error(d)
	}
	call(t, x, "todo_write", args{"todos": []args{}})
	if got := s.Todos(""); got != nil {
		t.Errorf("%v is left", got)
	}
}

// The second of two lists in one turn counts.
func TestTodosInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	b := executor(s).Batch(t.Context())
	for i := range 50 {
		b.Add(tool.Call{Name: "todo_write", Args: fmt.Appendf(nil, `{"todos":[{"id":"1","content":"%d","status":"pending"}]}`, i)})
	}
	b.Wait()
	if got := s.Todos("")[0].Content; got != "49" {
		t.Errorf("the last one is %s", got)
	}
}

func TestTodosInBounds(t *testing.T) {
	s := open(t, t.TempDir())
	x := executor(s)
	many := func(n int, content string) args {
		var list []args
		for i := range n {
			list = append(list, args{"id": fmt.Sprint(i), "content": content, "status": "pending"})
		}
		return args{"todos": list}
	}
	o := call(t, x, "todo_write", many(10_000, "Step"))
	if o.Error == nil || o.Error.Type != tool.InvalidParams || !strings.Contains(o.Error.Message, "at most 500 steps, got 10000") {
		t.Errorf("%+v", o.Error)
	}
	o = call(t, x, "todo_write", many(500, " "))
	if o.Error == nil || strings.Count(o.Error.Message, "\n") != 10+1 || !strings.Contains(o.Error.Message, "490 more faults of this sort") {
		t.Errorf("%+v", o.Error)
	}
	if s.Todos("") != nil {
		t.Error("a list that was refused is kept")
	}
	o = call(t, x, "todo_write", many(500, strings.Repeat("ä\n", 200)))
	if text := o.Result.Text(); o.Status != tool.StatusSuccess || len(text) > 2000 || !strings.HasSuffix(text, "… and 495 more") {
		t.Errorf("%s %d bytes: %s", o.Status, len(text), text)
	}
}

// The first agent is reminded now and then of open steps, not of completed ones or of other agents' lists.
func TestTodoReminder(t *testing.T) {
	s := open(t, t.TempDir())
	x := executor(s)
	const patience = 10 // turns
	turns := func(n int) (told []string) {
		for range n {
			told = append(told, s.News()...)
		}
		return told
	}
	if told := turns(3 * patience); told != nil {
		t.Errorf("without a list: %q", told)
	}
	if err := s.SetTodos("explore-1", todo.List{{ID: "1", Content: "Theirs", Status: "pending"}}); err != nil {
		t.Fatal(err)
	}
	if told := turns(3 * patience); told != nil {
		t.Errorf("of another's list: %q", told)
	}
	list := args{"todos": []args{{"id": "1", "content": "Look", "status": "completed"}, {"id": "2", "content": "Change", "status": "in_progress"}}}
	call(t, x, "todo_write", list)
	if told := turns(patience); told != nil {
		t.Errorf("too early: %q", told)
	}
	call(t, x, "todo_write", list)
	told := turns(2*patience + 2)
	if len(told) != 2 || !strings.HasPrefix(told[0], "Reminder: ") || !strings.Contains(told[0], "1 of 2 steps done. Open:\n- Change (in progress)\n") || len(told[0]) > 800 {
		t.Errorf("told %q", told)
	}
	call(t, x, "todo_write", args{"todos": []args{{"id": "1", "content": "Look", "status": "completed"}}})
	if told := turns(3 * patience); told != nil {
		t.Errorf("of what is done: %q", told)
	}
}

// The display can't contain other Markdown than a list.
func TestTodoListAsMarkdown(t *testing.T) {
	got := todo.List{{ID: "1", Content: "a\n- [x] b", Status: "completed"}, {ID: "2", Content: "c\u202e", Status: "in_progress"}, {ID: "3", Content: "d", Status: "pending"}}.Markdown()
	if d := cmp.Diff("- [x] a - [x] b\n- [-] c\\u202E\n- [ ] d", got); d != "" {
		t.Error(d)
	}
}

// A list can be stored as JSON and restored in another session. Invalid items are not restored.
func TestTodosAreRestored(t *testing.T) {
	list := todo.List{{ID: "1", Content: "look", Status: todo.Completed}, {ID: "2", Content: "fix", Status: todo.Pending}}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var again todo.List
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	s := &Set{}
	if err := s.SetTodos("", again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, s.Todos("")); diff != "" {
		t.Error(diff)
	}
	if err := s.SetTodos("", todo.List{{ID: "1", Content: "a"}, {ID: "1", Content: "b"}}); err == nil || len(s.Todos("")) != 2 {
		t.Errorf("a list with one id twice: %v, %v", err, s.Todos(""))
	}
}
