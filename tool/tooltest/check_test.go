package tooltest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

type noteArgs struct {
	Text string `json:"text" description:"What to write."`
}

// note writes a text to a file. The flaws are what Check must find.
type flaws struct {
	touchesInPrepare, undeclared, ignoresCancel, hangs bool
}

func note(dir string, f flaws) tool.Tool {
	return tool.Define(tool.Def[noteArgs]{
		Name: "note", Description: "Writes a note.", Kind: tool.Edit,
		Prepare: func(_ context.Context, a noteArgs) (*tool.Invocation, error) {
			path := filepath.Join(dir, "note")
			if f.touchesInPrepare {
				_ = os.WriteFile(path, nil, 0o666)
			}
			access := []tool.Access{{Verb: tool.Writes, Target: path}}
			if f.undeclared {
				access[0].Target += ".other"
			}
			return &tool.Invocation{
				Description: "write a note", Access: access,
				Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
					if f.hangs {
						select {
						case <-ctx.Done():
							waittest.Hang()
						case <-time.After(20 * time.Millisecond):
						}
					}
					if err := ctx.Err(); err != nil && !f.ignoresCancel {
						return tool.Result{}, err
					}
					return tool.TextResult("written"), os.WriteFile(path, []byte(a.Text), 0o666)
				},
			}, nil
		},
	})
}

func TestCheckPasses(t *testing.T) {
	tooltest.Check(t, func(dir string) tool.Tool { return note(dir, flaws{}) }, tooltest.Try{Args: `{"text":"x"}`})
}

// Check finds each of these flaws. Each runs in a child process.
func TestCheckFindsFlaws(t *testing.T) {
	cases := []struct {
		name, want string
		flaws      flaws
	}{
		{"prepare", "Prepare changed [note]", flaws{touchesInPrepare: true}},
		{"access", "Run changed note, which its access does not declare", flaws{undeclared: true}},
		{"cancel", "cancelled before it started changed [note]", flaws{ignoresCancel: true}},
		{"hang", "did not end within", flaws{hangs: true}},
	}
	if name := os.Getenv("TOOLTEST_FLAW"); name != "" {
		for _, c := range cases {
			if c.name == name {
				tooltest.Check(t, func(dir string) tool.Tool { return note(dir, c.flaws) }, tooltest.Try{Args: `{"text":"x"}`}.Within(time.Second))
			}
		}
		return
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCheckFindsFlaws$", "-test.v")
			cmd.Env = append(os.Environ(), "TOOLTEST_FLAW="+c.name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("the flaw was not found (%v), want %q:\n%s", err, c.want, out)
			}
		})
	}
}

func TestStories(t *testing.T) {
	tooltest.Stories(t, "testdata/*.txtar", func(t *testing.T, dir string) *tool.Executor {
		return &tool.Executor{
			Registry: tool.NewRegistry(note(dir, flaws{})),
			Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		}
	})
}
