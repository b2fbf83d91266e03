package builtin

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

// planner is a session with modes and a user who always gives the same answer.
type planner struct {
	*Set
	policy *permission.Policy
	exec   *tool.Executor
	fails  bool // SetMode does

	mu     sync.Mutex
	asked  []tool.Request
	answer tool.Decision
}

func newPlanner(t *testing.T, dir string, m permission.Mode, answer tool.Decision) *planner {
	t.Helper()
	p := &planner{answer: answer}
	s, err := New(Options{
		Dir: dir, State: filepath.Join(t.TempDir(), "state"), HasUser: true, Session: true,
		Mode: func() string { return string(p.policy.Mode()) },
		SetMode: func(m string) error {
			if p.fails {
				return errors.New("no")
			}
			p.policy.SetMode(permission.Mode(m))
			if p.exec != nil {
				p.exec.Rejudge()
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p.Set = s
	p.policy = permission.New(permission.World{Roots: s.Roots()}, m)
	p.exec = &tool.Executor{Registry: tool.NewRegistry(s.Tools()...), Policy: p.policy.Judge, Ask: p.ask}
	return p
}

func (p *planner) ask(_ ctx, r tool.Request, _ tool.Decision) (tool.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	if r.Form == nil {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	return p.answer, nil
}

func chose(answer string) tool.Decision {
	return tool.Decision{Verdict: tool.Allow, Answer: json.RawMessage(answer)}
}

func TestExitPlanMode(t *testing.T) {
	build := func(dir string) tool.Tool {
		for _, tl := range newPlanner(t, dir, permission.Plan, tool.Decision{}).Tools() {
			if tl.Declaration().Name == "exit_plan_mode" {
				return tl
			}
		}
		return nil
	}
	tooltest.Check(t, build, tooltest.Try{Args: `{"plan":"1. Do it."}`}, tooltest.Try{Args: `{"plan":""}`, Fails: true})
}

func TestEnterPlanMode(t *testing.T) {
	build := func(dir string) tool.Tool {
		for _, tl := range newPlanner(t, dir, permission.Default, tool.Decision{}).Tools() {
			if tl.Declaration().Name == "enter_plan_mode" {
				return tl
			}
		}
		return nil
	}
	tooltest.Check(t, build, tooltest.Try{Args: `{}`})
}

// The user's choices, and their results.
func TestPlanChoices(t *testing.T) {
	for name, tt := range map[string]struct {
		answer tool.Decision
		fails  bool
		status tool.Status
		mode   permission.Mode
		said   string
	}{
		"go on asking":    {chose(`{"choice":"default"}`), false, "success", permission.Default, "The user approved the plan. Plan mode is off; implement it now."},
		"go on editing":   {chose(`{"choice":"auto-edit","choice_other":"but not x"}`), false, "success", permission.AutoEdit, "auto-approved. The user adds: but not x"},
		"a mere yes":      {tool.Decision{Verdict: tool.Allow}, false, "success", permission.Default, "approved"},
		"stay":            {chose(`{"choice":"stay","choice_other":"tests first"}`), false, "denied", permission.Plan, "the plan needs a change: tests first. Plan mode stays on"},
		"stay, no word":   {chose(`{"choice":"stay"}`), false, "denied", permission.Plan, "no reason given"},
		"words alone":     {chose(`{"choice_other":"tests first"}`), false, "denied", permission.Plan, "the plan needs a change: tests first. Plan mode stays on"},
		"an empty answer": {chose(`{}`), false, "denied", permission.Plan, "no reason given"}, // it used to approve the plan
		"no":              {tool.Decision{Reason: "tests first"}, false, "denied", permission.Plan, "denied by the user: tests first"},
		"yolo by answer":  {chose(`{"choice":"yolo"}`), false, "error", permission.Plan, "one of the choices"},
		"not JSON":        {chose(`{`), false, "error", permission.Plan, "cannot be read"},
		"the mode stays":  {chose(`{"choice":"default"}`), true, "error", permission.Plan, "could not be changed"},
		"arguments count": {chose(`["default"]`), false, "error", permission.Plan, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanner(t, t.TempDir(), permission.Plan, tt.answer)
			p.fails = tt.fails
			o := call(t, p.exec, "exit_plan_mode", args{"plan": "1. Do it."})
			if o.Status != tt.status || p.policy.Mode() != tt.mode || !strings.Contains(o.Result.Text(), tt.said) {
				t.Errorf("%s in mode %s: %s", o.Status, p.policy.Mode(), o.Result.Text())
			}
			if d := cmp.Diff(tool.Plan{Message: "Implement this plan?", Text: "1. Do it."}, p.asked[0].Confirm); d != "" || !p.asked[0].MustAsk {
				t.Errorf("asked with %s", d)
			}
			want := ""
			if tt.status == "success" {
				want = "1. Do it."
			}
			if p.Plan() != want {
				t.Errorf("the plan kept is %q", p.Plan())
			}
		})
	}
}

func TestPlanForm(t *testing.T) {
	want := `{"type":"object","properties":{"choice":{"type":"string","title":"Next step","oneOf":[` +
		`{"const":"default","title":"Yes, and ask before each change"},{"const":"auto-edit","title":"Yes, and edit files without asking"},` +
		`{"const":"stay","title":"No, stay in plan mode"}]},"choice_other":{"type":"string","title":"What to change in the plan"}}}`
	if d := cmp.Diff(want, string(planForm())); d != "" {
		t.Error(d)
	}
}

// In one answer: enter, a write that is denied, leave, a write without approval, leave again.
func TestPlanModeInOneBatch(t *testing.T) {
	dir := t.TempDir()
	p := newPlanner(t, dir, permission.Default, chose(`{"choice":"auto-edit"}`))
	b := p.exec.Batch(t.Context())
	write := func(name string) {
		b.Add(jsonCall("write_file", args{"file_path": filepath.Join(dir, name), "content": "x"}))
	}
	b.Add(jsonCall("enter_plan_mode", args{}))
	write("a")
	b.Add(jsonCall("exit_plan_mode", args{"plan": "p"}))
	write("b")
	b.Add(jsonCall("exit_plan_mode", args{"plan": "p"}))
	var got []string
	for _, o := range b.Wait() {
		got = append(got, o.Name+" "+string(o.Status))
	}
	want := []string{"enter_plan_mode success", "write_file denied", "exit_plan_mode success", "write_file success", "exit_plan_mode denied"}
	if d := cmp.Diff(want, got); d != "" || len(p.asked) != 1 {
		t.Errorf("%s, asked %d times", d, len(p.asked))
	}
}

func jsonCall(name string, a args) tool.Call {
	raw, _ := json.Marshal(a) // of strings
	return tool.Call{Name: name, Args: raw}
}

// Without a user a plan can't be approved, not even by yolo or a policy that allows everything: plan mode isn't entered.
func TestPlanModeHeadless(t *testing.T) {
	p := newPlanner(t, t.TempDir(), permission.Plan, tool.Decision{})
	p.exec.Ask = nil
	o := call(t, p.exec, "exit_plan_mode", args{"plan": "p"})
	if o.Status != tool.StatusDenied || o.Error.Type != tool.ExecutionDenied || p.policy.Mode() != permission.Plan {
		t.Errorf("%s: %s", o.Status, o.Result.Text())
	}
	allowing := &tool.Executor{Registry: p.exec.Registry, Policy: allowAll}
	if o := call(t, allowing, "exit_plan_mode", args{"plan": "p"}); o.Status != tool.StatusDenied || !strings.Contains(o.Error.Message, "Only the user can approve this") {
		t.Errorf("%s: %s", o.Status, o.Result.Text())
	}
	mode := "yolo"
	s, err := New(Options{Dir: t.TempDir(), Mode: func() string { return mode }, SetMode: func(m string) error { mode = m; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if o := call(t, executor(s), "enter_plan_mode", args{}); o.Status != tool.StatusDenied || mode != "yolo" {
		t.Errorf("%s: %s", o.Status, o.Result.Text())
	}
}

// A subagent doesn't change the mode, even with approval.
func TestPlanModeIsNotForSubagents(t *testing.T) {
	p := newPlanner(t, t.TempDir(), permission.Plan, chose(`{"choice":"auto-edit"}`))
	child := p.exec.Child(nil, "explore-1", nil)
	for _, name := range []string{"exit_plan_mode", "enter_plan_mode"} {
		a := args{}
		if name == "exit_plan_mode" {
			a["plan"] = "p"
		}
		if o := call(t, child, name, a); o.Status != tool.StatusDenied || p.policy.Mode() != permission.Plan {
			t.Errorf("%s: %s: %s", name, o.Status, o.Result.Text())
		}
		d, err := p.exec.Registry.Lookup(name)
		if err != nil || !d.Declaration().Personal {
			t.Errorf("%s is given to sub-agents (%v)", name, err)
		}
	}
}

// A plan that is too long to read is an error before the user is asked.
func TestPlanInBounds(t *testing.T) {
	p := newPlanner(t, t.TempDir(), permission.Plan, chose(`{"choice":"default"}`))
	o := call(t, p.exec, "exit_plan_mode", args{"plan": strings.Repeat("x", 1<<20)})
	if o.Error == nil || o.Error.Type != tool.InvalidParams || len(o.Result.Text()) > 500 || len(p.asked) != 0 {
		t.Errorf("%s, asked %d times", o.Result.Text(), len(p.asked))
	}
	if o := call(t, p.exec, "exit_plan_mode", args{"plan": strings.Repeat("ä", maxPlan)}); o.Status != tool.StatusSuccess {
		t.Error(o.Result.Text())
	}
}
