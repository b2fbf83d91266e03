package goal

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// shell is a tool whose command runs until it is stopped, or fails at once.
type shell struct {
	hangs bool
	runs  int
}

func (*shell) Declaration() tool.Declaration {
	return tool.Declaration{Name: "run_shell_command", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (s *shell) Prepare(context.Context, json.RawMessage) (*tool.Invocation, error) {
	return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
		if s.runs++; s.hangs {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}
		r := tool.TextResult("failed")
		r.Exit, r.Output = 1, strings.Repeat("ä line of output\n", 1000)+"the end"
		return r, nil
	}}, nil
}

// start starts a goal whose command is that of a shell, with a clock of the test's own.
func start(t *testing.T, sh *shell, g Goal) (*Pursuit, *[]string) {
	t.Helper()
	var told []string
	p, err := Start(t.Context(), &Session{
		Models: models.New(project.Env{}, t.TempDir(), &settings.Settings{}, nil), Notice: func(text string) { told = append(told, text) },
		Executor: &tool.Executor{Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }},
		Shell:    func() (tool.Tool, error) { return sh, nil },
	}, g)
	if err != nil {
		t.Fatal(err)
	}
	return p, &told
}

// A command that hangs is stopped when the time of the goal is over.
func TestCommandThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{hangs: true}
		p, told := start(t, sh, Goal{Command: "sleep 1000000", Time: time.Minute})
		asked := 0
		ended, err := p.Pursue(t.Context(), func(context.Context, string) error { asked++; return nil })
		if !ended || !errors.Is(err, agent.ErrWallTime) || asked != 1 || sh.runs != 1 {
			t.Errorf("ended %v, %v; %d prompts, %d runs", ended, err, asked, sh.runs)
		}
		if got := strings.Join(*told, "\n"); got != "goal not reached: sleep 1000000 (0 failures, 1 min 0 s)" {
			t.Errorf("told: %s", got)
		}
	})
}

// The model gets the start and the end of a long output.
func TestLongOutput(t *testing.T) {
	p, _ := start(t, &shell{}, Goal{Command: "go test", Turns: 2})
	var got []string
	_, err := p.Pursue(t.Context(), func(_ context.Context, more string) error { got = append(got, more); return nil })
	if !errors.Is(err, agent.ErrTurnLimit) || len(got) != 2 || len([]rune(got[1])) > goalOutput+300 ||
		!strings.HasPrefix(got[1], "The goal is not reached: go test\nexited with code 1 (1 failure so far). Its output:\nä line") ||
		!strings.Contains(got[1], "the end\nContinue.") {
		t.Errorf("%v: %q", err, got)
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]Goal{
		"go  test ./...":                    {"go  test ./...", 20, time.Hour, 0},
		"--turns 3 --time 90s --cost 0.5 x": {"x", 3, 90 * time.Second, 0.5},
		" --turns=3  sh -c 'a  b' --time 1": {"sh -c 'a  b' --time 1", 3, time.Hour, 0},
	} {
		if got, err := Parse(in); err != nil || *got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", " ", "--turns 3", "--turns 0 x", "--turns x y", "--time 3 x", "--time -1s x",
		"--cost -1 x", "--cost NaN x", "--other 1 x"} {
		if got, err := Parse(in); err == nil || !strings.Contains(err.Error(), "expected ["+Words[1:]) {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
}

func TestTestFiles(t *testing.T) {
	for path, want := range map[string]bool{
		"a_test.go": true, "src/test_x.py": true, "x.test.ts": true, "x.spec.js": true, "src/FooTest.java": true,
		"tests/data.txt": true, "a/__tests__/b.js": true, "Makefile": true, "package.json": true, "conftest.py": true,
		"testdata/golden.txt": true, "jest.config.mjs": true, "FooTests.cs": true,
		"a.go": false, "latest.js": false, "contest/a.go": false, "attest.go": false, "testing.go": false, "protest.md": false,
	} {
		if got := testFile().MatchString(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// A model's failure ends a goal with its report if there is no user who can retry: without it, changed tests were hidden.
func TestFailureOfAModel(t *testing.T) {
	down := model.Errorf(model.ErrServer, "status 500")
	for _, hasUser := range []bool{true, false} {
		p, told := start(t, &shell{}, Goal{Command: "go test"})
		p.session.HasUser = hasUser
		p.Observe(agent.Changed{Changes: tool.Changes{List: []tool.Change{{Path: "a_test.go"}}}})
		ended, err := p.Pursue(t.Context(), func(context.Context, string) error { return down })
		said := strings.Join(*told, "\n")
		reported := strings.HasPrefix(said, "goal not reached: go test ") && strings.HasSuffix(said, "\nChanged test files: a_test.go")
		if !errors.Is(err, model.ErrServer) || ended == hasUser || reported == hasUser {
			t.Errorf("with a user %v: ended %v, %v, told %q", hasUser, ended, err, *told)
		}
	}
}

// A fallback whose price is unknown stops a goal with a limited cost: its answers cost nothing once.
func TestFallbackWithoutPrice(t *testing.T) {
	p, _ := start(t, &shell{}, Goal{Command: "go test"})
	p.Cost, p.session.Pricing = 1, map[string]settings.Price{"main": {Input: 1}}
	asked := 0
	_, err := p.Pursue(t.Context(), func(ctx context.Context, _ string) error {
		for _, name := range []string{"main", "other"} {
			if asked++; ctx.Err() == nil {
				p.Observe(agent.Answered{Model: name})
			}
		}
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "the price of other is unknown") || asked != 2 {
		t.Errorf("%v after %d answers", err, asked)
	}
}
