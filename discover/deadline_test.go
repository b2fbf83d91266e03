package discover

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// A progress notification restarts a call's time limit.
func TestProgressRestartsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{}
		ctx, limit := withDeadline(t.Context(), time.Minute)
		defer limit.end()
		run := s.begin(&running{ctx: ctx, limit: limit})
		for i := range 5 {
			time.Sleep(59 * time.Second)
			s.progress(ctx, &mcp.ProgressNotificationClientRequest{Params: &mcp.ProgressNotificationParams{ProgressToken: run.token}})
			if ctx.Err() != nil {
				t.Fatalf("stopped after %d notifications: %v", i, context.Cause(ctx))
			}
		}
		time.Sleep(59 * time.Second)
		s.progress(ctx, &mcp.ProgressNotificationClientRequest{Params: &mcp.ProgressNotificationParams{ProgressToken: "another call"}})
		time.Sleep(time.Second)
		synctest.Wait()
		if context.Cause(ctx) != errIdle {
			t.Errorf("after a minute without progress: %v", context.Cause(ctx))
		}
	})
}

// A call's time limit does not run while the user is asked.
func TestQuestionPausesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{}
		ctx, limit := withDeadline(t.Context(), time.Minute)
		defer limit.end()
		ask := func(context.Context, tool.Invocation) (tool.Decision, error) {
			time.Sleep(time.Hour)
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		s.begin(&running{ctx: ctx, limit: limit, live: &tool.Live{Ask: ask}})
		for range 2 {
			time.Sleep(59 * time.Second)
			if _, d, err := s.ask(t.Context(), tool.Invocation{}); err != nil || d.Verdict != tool.Allow || ctx.Err() != nil {
				t.Fatalf("%+v, %v, %v", d, err, context.Cause(ctx))
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if context.Cause(ctx) != errIdle {
			t.Errorf("a minute after the answer: %v", context.Cause(ctx))
		}
	})
}

// A server that reports several changes at once is asked for its tools once.
func TestChangesAreListedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "changing"}, &mcp.ServerOptions{HasTools: true})
		var lists atomic.Int32
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, r)
			}
		})
		here, there := mcp.NewInMemoryTransports()
		ss, err := server.Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		set := Open(nil, Options{})
		l := &link{set: set, life: t.Context(), opt: &set.opt, log: &serverLog{}}
		s := &session{link: l}
		s.client = mcp.NewClient(&mcp.Implementation{Name: "adze"}, s.options())
		if s.cs, err = s.client.Connect(t.Context(), here, nil); err != nil {
			t.Fatal(err)
		}
		l.session = s
		for want := range int32(3) {
			for range 4 {
				l.changed()
				time.Sleep(debounce - 1)
			}
			if got := lists.Load(); got != want {
				t.Errorf("listed %d times while changes were reported, want %d", got, want)
			}
			time.Sleep(debounce)
			synctest.Wait()
			if got := lists.Load(); got != want+1 {
				t.Errorf("listed %d times, want %d", got, want+1)
			}
		}
		s.cs.Close()
		ss.Wait()
		set.Close()
	})
}
