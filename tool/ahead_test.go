package tool_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/adze-dev/adze/tool"
)

// A read after a call that is tried runs at the same time. If the trial keeps what was read, it runs again, and its outcome
// is that of the calls one by one. It waited for the end of the trial.
func TestReadsAheadOfTrial(t *testing.T) {
	for name, tt := range map[string]struct {
		first, read string
		runs        int
		want        string
	}{
		"no effects":    {"try cat a", "read b", 1, "success: <0>"},
		"other effects": {"try append 1 a", "read b", 1, "success: <0>"},
		"same file":     {"try append 1 b", "read b", 2, "success: <01>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(map[string]string{"a": "0", "b": "0"})
				trial := w.gate("copied " + tt.first)
				x := w.trying()
				var around atomic.Int32
				x.Around = func(ctx context.Context, r tool.Request, _ tool.Decision, run func(context.Context) tool.Outcome) tool.Outcome {
					if r.Call.Name == "read" {
						around.Add(1)
					}
					return run(ctx)
				}
				b := begin(t.Context(), x, tt.first, tt.read)
				synctest.Wait()
				if !w.did("end " + tt.read) {
					t.Errorf("the read waits for the trial: %q", w.log)
				}
				if around.Load() != 0 {
					t.Error("the read has an outcome before the trial has effects")
				}
				trial()
				wantSame(t, "outcome", tt.want, says(b.Wait())[1])
				wantSame(t, "runs", tt.runs, w.count("run "+tt.read))
				wantSame(t, "calls of Around", 1, int(around.Load()))
			})
		})
	}
}

// A read that still runs when a trial keeps what it reads is stopped: keeping doesn't wait for it.
func TestReadAheadIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0"})
		trial, read := w.gate("copied try append 1 a"), w.gate("run read a")
		b := begin(t.Context(), w.trying(), "try append 1 a", "read a")
		synctest.Wait()
		trial()
		synctest.Wait()
		if !w.did("keep try append 1 a") {
			t.Errorf("keeping waits for the read: %q", w.log)
		}
		read()
		wantSame(t, "outcome", "success: <01>", says(b.Wait())[1])
	})
}

// Calls that write, ask or aren't allowed wait for the trial, and a turn that is cancelled ends.
func TestOthersWaitForTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(map[string]string{"a": "0", "b": "0"})
		trial := w.gate("copied try cat a")
		x := w.trying()
		policy := x.Policy
		x.Policy = func(r tool.Request) tool.Decision {
			if r.Call.Name == "read" {
				return tool.Decision{Verdict: tool.Ask}
			}
			return policy(r)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b := begin(ctx, x, "try cat a", "read b", "write b 1")
		synctest.Wait()
		if w.did("run read b") || w.did("run write b 1") {
			t.Errorf("they don't wait: %q", w.log)
		}
		cancel()
		synctest.Wait()
		trial()
		for _, o := range b.Wait() {
			wantSame(t, o.Name, tool.StatusCancelled, o.Status)
		}
	})
}
