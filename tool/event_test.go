package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// recorder records events as lines.
type recorder struct {
	mu    sync.Mutex
	lines []string
	pause time.Duration
}

func (r *recorder) observe(ev tool.Event) {
	time.Sleep(r.pause) // not synchronization: a slow screen, on the clock of a synctest bubble
	r.mu.Lock()
	defer r.mu.Unlock()
	line := string(ev.Stage) + " " + ev.Request.Call.Name
	if ev.Display != nil {
		line += " " + ev.Display.Markdown()
	}
	if ev.Outcome != nil {
		line += " " + string(ev.Outcome.Status)
	}
	if ev.Request.Run != nil {
		line += " WITH RUN"
	}
	r.lines = append(r.lines, line)
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d, r := newWorld(map[string]string{"a": "0"}), &desk{}, &recorder{}
		x := w.executor()
		x.Ask, x.Policy, x.Observe = d.ask, askAbout, r.observe
		b := begin(t.Context(), x, "edit a 0 1")
		synctest.Wait()
		d.yes(t, "edit a")
		b.Wait()
		wantSame(t, "events", []string{"prepared edit", "asking edit", "running edit", "done edit success"}, r.seen())

		ctx, cancel := context.WithCancel(t.Context())
		b = begin(ctx, x, "edit a 1 2")
		synctest.Wait()
		cancel()
		b.Wait()
		wantSame(t, "events of a cancelled call", []string{"prepared edit", "asking edit", "withdrawn edit", "done edit cancelled"}, r.seen()[4:])
		begin(t.Context(), x, "nothing").Wait()
		wantSame(t, "events of an unknown one", []string{"done nothing error"}, r.seen()[8:])
	})
}

// shower shows n displays as fast as it can.
func shower(n int) *fakeTool {
	return fake("show", tool.Think, tool.Invocation{
		Access: []tool.Access{tool.Nothing},
		Run: func(_ context.Context, l *tool.Live) (tool.Result, error) {
			for i := range n {
				l.Show(tool.Markdown(fmt.Sprint(i + 1)))
			}
			return tool.TextResult("shown"), nil
		},
	})
}

// A slow screen doesn't delay calls. It gets the last display of each call and few of the others.
func TestHundredsOfLiveDisplays(t *testing.T) {
	calls, shows := 300, soak.Count(200, 2000)
	synctest.Test(t, func(t *testing.T) {
		var events, last atomic.Int32
		x := &tool.Executor{Registry: tool.NewRegistry(shower(shows)), Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
		x.Limit = calls
		x.Observe = func(ev tool.Event) {
			if ev.Stage != tool.Showing {
				return
			}
			time.Sleep(time.Millisecond)
			events.Add(1)
			if ev.Display.Markdown() == fmt.Sprint(shows) {
				last.Add(1)
			}
		}
		b := x.Batch(t.Context())
		for range calls {
			b.Add(call("show"))
		}
		b.Wait()
		wantSame(t, "last displays", calls, int(last.Load()))
		if n := int(events.Load()); n > 3*calls {
			t.Errorf("%d events for %d calls", n, calls)
		}
		t.Logf("%d shows became %d events", calls*shows, events.Load())
	})
}

// Displays of one call are at least 20 ms apart, and the newest is the one that comes.
func TestMinimumTimeBetweenDisplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		f := shower(0)
		x := &tool.Executor{Registry: tool.NewRegistry(f), Observe: r.observe, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
		f.prepare = func(context.Context, json.RawMessage) (*tool.Invocation, error) {
			return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(_ context.Context, l *tool.Live) (tool.Result, error) {
				for i := range 10 {
					l.Show(tool.Markdown(fmt.Sprint(i * 7)))
					time.Sleep(7 * time.Millisecond)
				}
				l.Show(nil)
				return tool.TextResult("shown"), nil
			}}, nil
		}
		begin(t.Context(), x, "show").Wait()
		wantSame(t, "events", []string{
			"prepared show", "running show", "showing show 0", "showing show 14", "showing show 35", "showing show 56", "showing show 63", "done show success",
		}, r.seen())
	})
}

func TestShowAfterReturnIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		var live *tool.Live
		x := &tool.Executor{Observe: r.observe, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
		x.Registry = tool.NewRegistry(fake("show", tool.Think, tool.Invocation{
			Access: []tool.Access{tool.Nothing},
			Run: func(_ context.Context, l *tool.Live) (tool.Result, error) {
				live = l
				l.Show(tool.Markdown("in time"))
				return tool.TextResult("shown"), nil
			},
		}))
		begin(t.Context(), x, "show").Wait()
		live.Show(tool.Markdown("too late"))
		time.Sleep(time.Second)
		wantSame(t, "events", []string{"prepared show", "running show", "showing show in time", "done show success"}, r.seen())
	})
}

// Wait waits for the events of its own calls, not for a screen that other calls keep busy.
func TestBusyObserverDelaysNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWorld(map[string]string{"a": "0"}), &recorder{pause: 30 * time.Millisecond}
		x := w.executor(fake("busy", tool.Think, tool.Invocation{
			Access: []tool.Access{tool.Nothing},
			Run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
				for ctx.Err() == nil {
					l.Show(tool.Markdown("…"))
					time.Sleep(time.Millisecond)
				}
				return tool.Result{}, ctx.Err()
			},
		}))
		x.Observe = r.observe
		ctx, cancel := context.WithCancel(t.Context())
		busy := begin(ctx, x, "busy", "busy")
		time.Sleep(time.Second)
		quick := begin(t.Context(), x, "read a")
		waited := make(chan struct{})
		go func() { quick.Wait(); close(waited) }()
		select {
		case <-waited:
		case <-time.After(time.Minute):
			t.Error("Wait waits for displays of other calls")
		}
		cancel()
		busy.Wait()
		<-waited
	})
}
