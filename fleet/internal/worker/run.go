package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adze-dev/adze/fleet/internal/gateway"
	"github.com/adze-dev/adze/fleet/internal/pipe"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/fleet/internal/workspace"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/journal"
)

// TypeBroken is an entry about an attempt that failed for a reason outside the task.
const TypeBroken journal.Type = "broken"

// maxBroken is the maximum number of such attempts.
const maxBroken = 3

// errCanceled ends a task whose run the user canceled.
var errCanceled = errors.New("canceled by the user")

// attempt is the work of this worker on a task.
type attempt struct {
	w       *Worker
	item    *queue.Item
	log     *queue.Log
	stop    context.Context // ends when the worker stops
	up      models.Upstream
	token   string // at the gateway
	began   time.Time
	space   *workspace.Workspace
	secrets [][]byte
	env     []string

	wrote bool // a call of the running turn writes
}

// run works on a task until it is done, returned, or another worker has it.
func (w *Worker) run(stop context.Context, item *queue.Item) {
	// A task that has started ends in order: it isn't canceled by the worker's context.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(stop))
	defer cancel(nil)
	go w.beat(ctx, cancel, item)
	a := &attempt{w: w, item: item, stop: stop, token: random.Text(), began: time.Now()}
	log := w.o.Log.With("run", item.Run, "task", item.Task.ID)
	err := a.work(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errCanceled) && a.log != nil {
		err = a.done(context.WithoutCancel(ctx), result.Done{Result: result.Result{State: result.Broken, Error: errCanceled.Error()}})
	}
	if stop.Err() != nil && errors.Is(err, context.Canceled) {
		err = errReturn // it didn't wait for the queue
	}
	switch {
	case err == nil:
		if err := item.Done(ctx); err != nil {
			log.Debug("acknowledge", "error", err)
		}
	case errors.Is(err, queue.ErrLost):
		log.Warn("the task belongs to another worker now")
	case errors.Is(err, errReturn):
		_ = item.Return(0)
	case errors.Is(err, errParked):
		if _, err := w.o.Queue.Change(ctx, item.Run, func(r *queue.Run) { r.Parked = true }); err != nil {
			log.Error("park the run", "error", err)
		}
		_ = item.Return(max(w.retry, w.o.Queue.Lease/3))
	default:
		log.Error("the attempt failed; the task is in the queue again", "error", err)
		_ = item.Return(w.retry)
	}
}

// errReturn returns a task to the queue, errParked until its run has a higher cost limit.
var (
	errReturn = errors.New("the worker stops")
	errParked = errors.New("the run's cost limit is reached")
)

// beat keeps the task while it runs, and ends it if the user cancels the run.
func (w *Worker) beat(ctx context.Context, cancel context.CancelCauseFunc, item *queue.Item) {
	for sleep(ctx, w.o.Queue.Lease/3) {
		_ = item.Beat(ctx) // the next append fails if another worker has the task
		if r, err := w.o.Queue.Run(ctx, item.Run); err == nil && r.Canceled {
			cancel(errCanceled)
			return
		}
	}
}

// work runs a task. A nil error means that its result is in the journal.
func (a *attempt) work(ctx context.Context) error {
	done, err := a.own(ctx)
	if err != nil || done {
		return err
	}
	run, err := a.w.o.Queue.Run(ctx, a.item.Run)
	switch {
	case err != nil:
		return err
	case run.Canceled:
		return a.done(ctx, result.Done{Result: result.Result{State: result.NotStarted, Error: errCanceled.Error()}})
	case run.Parked:
		return errParked
	case a.stop.Err() != nil:
		return errReturn
	}
	if run.MaxCost > 0 {
		spent, err := a.w.o.Queue.Add(ctx, gateway.SpentCounter(run.Name), 0)
		if err != nil {
			return err
		}
		if float64(spent) >= run.MaxCost*1e6 {
			return errParked
		}
	}
	defer func() {
		a.w.gateway.Dismiss(a.token)
		if a.space != nil {
			_ = a.space.Remove()
		}
	}()
	d, err := a.try(ctx, run)
	var broken *brokenError
	if errors.As(err, &broken) {
		return a.broke(ctx, broken)
	}
	if err != nil {
		return err
	}
	return a.done(ctx, d)
}

// own reads the journal and makes this worker the owner. done reports that there is already a result.
func (a *attempt) own(ctx context.Context) (done bool, err error) {
	for {
		if a.log, err = a.w.o.Queue.OpenLog(ctx, a.item.Run, a.item.Token()); err != nil {
			return false, err
		}
		if n := len(a.log.Entries); n > 0 && a.log.Entries[n-1].Type == queue.TypeDone {
			return true, nil
		}
		err = a.log.Write(ctx, queue.TypeOwner, queue.Owner{Worker: a.w.o.Name, Version: a.w.o.Version})
		if !errors.Is(err, queue.ErrLost) { // otherwise the previous owner has just appended: read again
			return false, err
		}
	}
}

// brokenError is a failure outside the task: another attempt may succeed.
type brokenError struct{ error }

func broken(format string, args ...any) error { return &brokenError{fmt.Errorf(format, args...)} }

// broke records a broken attempt. The last one is the result.
func (a *attempt) broke(ctx context.Context, e *brokenError) error {
	n := 1
	for _, entry := range a.log.Entries {
		if entry.Type == TypeBroken {
			n++
		}
	}
	text := a.mask(e.Error())
	if n >= maxBroken {
		return a.done(ctx, result.Done{Result: result.Result{State: result.Broken, Error: text}})
	}
	if err := a.log.Write(ctx, TypeBroken, map[string]string{"error": text, "worker": a.w.o.Name}); err != nil {
		return err
	}
	return e
}

// try makes the workspace, runs the child, and judges the result.
func (a *attempt) try(ctx context.Context, run queue.Run) (result.Done, error) {
	t := a.item.Task
	var err error
	if a.up, err = a.w.upstream(ctx, t.Model); err != nil {
		return result.Done{}, broken("%w", err)
	}
	if !a.up.Priced && (run.MaxCost > 0 || t.Limits.Cost > 0) {
		return result.Done{}, &brokenError{errPrice(a.up)}
	}
	if a.env, a.secrets, err = a.w.environ(t.Env); err != nil {
		return result.Done{}, &brokenError{err}
	}
	note, err := a.prepare(ctx)
	if err != nil {
		return result.Done{}, err
	}
	begin, err := a.begin(run, note)
	if err != nil {
		return result.Done{}, err
	}
	if begin.Turns < 0 {
		return a.judge(ctx, pipe.End{Why: pipe.Limit, Error: "the turns of the task are used up"}, "")
	}
	end, err := a.child(ctx, begin)
	if err != nil {
		return result.Done{}, err
	}
	reason := a.w.gateway.Dismiss(a.token)
	switch {
	case reason == gateway.NotOwn:
		return result.Done{}, queue.ErrLost
	case reason == gateway.NoQueue && end.Why == pipe.Failed: // not the task's fault
		return result.Done{}, errReturn
	case reason == gateway.Stopped, a.stop.Err() != nil && end.Why == pipe.Failed:
		return result.Done{}, errReturn
	case reason == gateway.RunCap:
		return result.Done{}, errParked
	}
	return a.judge(ctx, end, reason)
}

// prepare restores the workspace of the last snapshot, and returns a note for the model.
func (a *attempt) prepare(ctx context.Context) (note string, err error) {
	t := a.item.Task
	if a.space, err = a.w.dirs.Clone(ctx, t.Repo, t.Ref); err != nil {
		return "", broken("make the workspace: %w", err)
	}
	if a.log.Snapshot != "" {
		patch, err := a.w.o.Queue.File(ctx, a.log.Snapshot)
		if err != nil {
			return "", err
		}
		if err := a.space.Apply(ctx, patch); err != nil {
			return "", broken("restore the snapshot: %w", err)
		}
	}
	if err := a.setup(ctx, a.space); err != nil {
		return "", err
	}
	return resumeNote(a.log.Entries, a.log.After, len(t.Setup) > 0), nil
}

// resumeNote returns the note for the model of a session that continues.
func resumeNote(entries []journal.Entry, snapshot int64, setup bool) string {
	turn := 0
	for _, e := range entries {
		if e.Seq == snapshot && e.Type == journal.TypeResponses {
			var r struct{ Turn int }
			_ = json.Unmarshal(e.Data, &r)
			turn = r.Turn
		}
	}
	text := "This task was interrupted and continues on another worker, in a new clone. "
	if turn > 0 {
		text += fmt.Sprintf("The files are as they were after turn %d; changes after that are lost. ", turn)
	} else {
		text += "The files are as they were at the start of the task. "
	}
	if setup {
		text += "The setup commands ran again. "
	}
	return text + "Background commands have ended. Check the state of the files, and continue the task."
}

// begin returns the first message to the child. Turns below 0 mean that none are left.
func (a *attempt) begin(run queue.Run, note string) (pipe.Begin, error) {
	t, up := a.item.Task, a.up
	url, err := a.w.gateway.Admit(a.token, gateway.Guest{
		Run: run.Name, Token: a.item.Token(), Upstream: up, TaskCost: t.Limits.Cost, Owns: a.log.Owns,
		MaxCost: func(ctx context.Context) (float64, error) {
			r, err := a.w.o.Queue.Run(ctx, run.Name)
			return r.MaxCost, err
		},
	})
	if err != nil {
		return pipe.Begin{}, &brokenError{err}
	}
	b := pipe.Begin{
		Session: sessionID(run.Name, t.ID), Dir: a.space.Dir, Prompt: t.Prompt, Note: note, Entries: a.log.Entries, Turns: t.Limits.Turns, Wall: t.Limits.Wall,
		Mode: a.w.o.Mode, Sandbox: a.w.o.Sandbox,
		Model: pipe.Model{API: up.API, Name: up.Options.Model, URL: url, Token: a.token, Sampling: up.Options.Sampling, Extra: up.Options.Extra},
	}
	// The owner entry is the last one: the child continues after it.
	b.Entries = append(b.Entries[:len(b.Entries):len(b.Entries)], journal.Entry{V: journal.Version, Seq: a.log.Seq, At: a.w.o.Queue.Now().UTC(), Type: queue.TypeOwner, Data: json.RawMessage(`{}`)})
	for name := range t.Env {
		b.Pass = append(b.Pass, name)
	}
	if b.Turns > 0 {
		if b.Turns -= turns(a.log.Entries); b.Turns <= 0 {
			b.Turns = -1
		}
	}
	return b, nil
}

// turns returns how many answers the model has given so far, in all attempts.
func turns(entries []journal.Entry) int {
	n := 0
	for _, e := range entries {
		if e.Type == journal.TypeAnswer && e.By == "" {
			n++
		}
	}
	return n
}
