package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// toldError counts how often the model was told.
type toldError struct {
	error
	n *int
}

func (e toldError) Told() { *e.n++ }

// failing is a tool whose Prepare fails.
type failing struct{ err error }

func (failing) Declaration() tool.Declaration { return tool.Declaration{Name: "fails"} }

func (f failing) Prepare(context.Context, json.RawMessage) (*tool.Invocation, error) {
	return &tool.Invocation{Access: []tool.Access{{Verb: tool.Writes, Target: "/f"}}}, f.err
}

// An error of Prepare learns that the model sees it, unless the model may not read what it is about.
func TestErrorLearnsThatItWasTold(t *testing.T) {
	for verdict, want := range map[tool.Verdict]int{tool.Allow: 1, tool.Deny: 0} {
		n := 0
		x := &tool.Executor{
			Registry: tool.NewRegistry(failing{toldError{errors.New("what changed"), &n}}),
			Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: verdict} },
		}
		b := x.Batch(t.Context())
		b.Add(tool.Call{ID: "1", Name: "fails"})
		o := b.Wait()
		if n != want {
			t.Errorf("verdict %v: told %d times, want %d: %v", verdict, n, want, o)
		}
	}
}
