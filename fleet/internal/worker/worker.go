// Package worker runs tasks of the queue, each in a child process, as many at a time as it has slots.
//
//	w, err := worker.New(worker.Options{Queue: q, Dir: dir, Slots: 4, …})
//	…
//	defer w.Close()
//	err = w.Run(ctx)
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/fleet/internal/gateway"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/fleet/internal/workspace"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/engine/otlp"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
)

// Options configure a worker.
type Options struct {
	Queue   *queue.Queue
	Name    string
	Dir     string   // of mirrors and clones
	Slots   int      // 0: one for each CPU
	Program []string // command line of a child process
	Version string
	Helper  builtin.Helper
	Models  *models.Models // the worker's own
	Limits  gateway.Limits
	Mode    string   // approval mode of sessions; "": as in the settings
	Sandbox string   // "": as in the settings
	Secrets []string // variables that tasks may use
	Environ []string // of the worker
	// Container starts containers: docker, podman or a command with {name}, {image}, {dir} and {program}; "": docker or
	// podman, if installed.
	Container string
	// UntilDone ends the worker when the queue is empty.
	UntilDone bool
	Traces    *otlp.Exporter // nil: none
	Log       *slog.Logger
}

// Worker runs tasks.
type Worker struct {
	o       Options
	gateway *gateway.Gateway
	dirs    *workspace.Dirs
	runner  *proc.Runner
	values  *secretvalues.List
	retry   time.Duration // before a broken task is tried again

	mu        sync.Mutex
	upstreams map[string]models.Upstream

	sends sync.WaitGroup // of traces
	busy  atomic.Int64
	ended map[result.State]int // by mu
}

// New makes a worker. It removes the clones that killed workers left behind.
func New(o Options) (*Worker, error) {
	if o.Slots < 1 {
		o.Slots = max(runtime.NumCPU(), 1)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	state := filepath.Join(o.Dir, "processes")
	if n, err := proc.Reap(state); err != nil {
		o.Log.Warn("processes of killed workers", "error", err)
	} else if n > 0 {
		o.Log.Info("ended processes of killed workers", "count", n)
	}
	dirs, err := workspace.Open(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("use the directory %s: %w", o.Dir, err)
	}
	g, err := gateway.Listen(o.Queue, o.Limits)
	if err != nil {
		return nil, errors.Join(err, dirs.Close())
	}
	values := secretvalues.New(secretvalues.Options{Environ: o.Environ})
	return &Worker{
		o: o, gateway: g, dirs: dirs, retry: time.Second, upstreams: map[string]models.Upstream{}, ended: map[result.State]int{},
		runner: proc.Open(proc.Options{Helper: proc.Helper(o.Helper), State: state, Mask: values.Mask}), values: values,
	}, nil
}

// Close stops everything that the worker started.
func (w *Worker) Close() error {
	w.sends.Wait()
	return errors.Join(w.gateway.Close(), w.runner.Close(), w.dirs.Close())
}

// takeTime is how long a slot waits for a task before it asks again.
const takeTime = 5 * time.Second

// Run takes tasks until ctx ends, or with UntilDone until there are none. A running task is then stopped after its current
// call, and returned.
func (w *Worker) Run(ctx context.Context) error {
	var slots sync.WaitGroup
	var other atomic.Pointer[queue.FormatError]
	for range w.o.Slots {
		slots.Go(func() {
			if err := w.slot(ctx); err != nil {
				var e *queue.FormatError
				if errors.As(err, &e) {
					other.Store(e)
				}
			}
		})
	}
	slots.Wait()
	if e := other.Load(); e != nil {
		return e
	}
	return nil
}

// slot runs one task after the other.
func (w *Worker) slot(ctx context.Context) error {
	for ctx.Err() == nil {
		item, err := w.take(ctx)
		var other *queue.FormatError
		switch {
		case ctx.Err() != nil:
			if item != nil {
				_ = item.Return(0)
			}
			return nil
		case errors.As(err, &other):
			w.o.Log.Error("a task can't be read", "error", err)
			return err
		case err != nil:
			w.o.Log.Debug("take a task", "error", err)
			if !sleep(ctx, 200*time.Millisecond) {
				return nil
			}
		case item != nil:
			w.busy.Add(1)
			w.run(ctx, item)
			w.busy.Add(-1)
		case w.o.UntilDone:
			if empty, err := w.o.Queue.Empty(ctx); err == nil && empty {
				return nil
			}
		}
	}
	return nil
}

func (w *Worker) take(ctx context.Context) (*queue.Item, error) {
	wait := takeTime
	if w.o.UntilDone {
		wait = time.Second
	}
	return w.o.Queue.Take(ctx, wait)
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Busy returns the number of tasks that the worker has.
func (w *Worker) Busy() int { return int(w.busy.Load()) }

// Ended counts the tasks that the worker has finished, by state.
func (w *Worker) Ended() map[result.State]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.ended)
}

// Spent returns the usage of the model requests of the worker's tasks.
func (w *Worker) Spent() gateway.Totals { return w.gateway.Totals() }

// Check returns an error if the worker can't use one of the models; "" is the configured one. Those with true need a price.
// A worker without a key would break one task after the other.
func (w *Worker) Check(ctx context.Context, models map[string]bool) error {
	for name, priced := range models {
		up, err := w.upstream(ctx, name)
		if err != nil {
			return err
		}
		if priced && !up.Priced {
			return errPrice(up)
		}
	}
	return nil
}

func errPrice(up models.Upstream) error {
	return fmt.Errorf("the model %s has no price, so its cost can't be limited\nAdd it to the setting modelPricing on the worker.", up.Options.Model)
}

// upstream returns the server of a model. It is determined once.
func (w *Worker) upstream(ctx context.Context, model string) (models.Upstream, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if up, ok := w.upstreams[model]; ok {
		return up, nil
	}
	up, err := w.o.Models.Upstream(ctx, model)
	if err == nil {
		w.upstreams[model] = up
	}
	return up, err
}
