package session

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/model"
)

// silent is a model that answers nothing until its request is canceled.
type silent struct{ asked int }

func (*silent) Name() string { return "silent" }

func (m *silent) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		m.asked++
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// The time of a goal ends also while the model answers: the clock of the test moves to that time, as nothing else happens.
func TestGoalTimeEndsDuringAnAnswer(t *testing.T) {
	skipWindows(t)
	d := newDesk(t)
	s, err := d.try(&recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &silent{}
	c := s.Converse(t.Context(), ConversationOptions{Model: m})
	synctest.Test(t, func(t *testing.T) {
		if err := c.SetGoal(t.Context(), &goal.Goal{Command: "false"}); err != nil {
			t.Fatal(err)
		}
		_, err := c.Run(t.Context(), model.Text("go"))
		if !errors.Is(err, agent.ErrWallTime) || m.asked != 1 || c.goal.Load() != nil {
			t.Errorf("%v after %d requests", err, m.asked)
		}
		const want = "the goal was not reached in 1h0m0s: time limit reached"
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		if err := s.Close(); err != nil { // here: what waits for goroutines of this clock belongs to it
			t.Error(err)
		}
	})
}
