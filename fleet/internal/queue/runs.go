package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/adze-dev/adze/fleet/internal/task"
)

// Run is a run of a file of tasks.
type Run struct {
	Format    int       `json:"format"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
	Tasks     int       `json:"tasks"`
	MaxCost   float64   `json:"maxCost,omitempty"` // US dollars; 0: no limit
	Submitted bool      `json:"submitted"`         // all tasks were put into the queue
	Canceled  bool      `json:"canceled,omitempty"`
	Parked    bool      `json:"parked,omitempty"` // the cost limit is reached: no task starts
	Packed    string    `json:"packed,omitempty"` // file with the finished journals

	revision uint64
}

// ErrUnknownRun is returned for a run that doesn't exist.
var ErrUnknownRun = errors.New("unknown run")

// FormatError reports data of another version of Adze.
type FormatError struct{ Format int }

func (e *FormatError) Error() string {
	return fmt.Sprintf("the run was made by another version of Adze (format %d; this one has %d)\nUse the same version on all machines.", e.Format, Format)
}

// Run returns a run.
func (q *Queue) Run(ctx context.Context, name string) (Run, error) {
	var entry jetstream.KeyValueEntry
	err := q.patiently(ctx, requestTime, func(ctx context.Context) (err error) {
		entry, err = q.runs.Get(ctx, name)
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return Run{}, fmt.Errorf("%w %q\nSee 'adze fleet status'.", ErrUnknownRun, name)
	}
	if err != nil {
		return Run{}, err
	}
	var r Run
	if err := json.Unmarshal(entry.Value(), &r); err != nil {
		return Run{}, fmt.Errorf("run %s: %w", name, err)
	}
	if r.Format != Format {
		return r, &FormatError{r.Format}
	}
	r.revision = entry.Revision()
	return r, nil
}

// Runs returns all runs, the newest first.
func (q *Queue) Runs(ctx context.Context) ([]Run, error) {
	names, err := q.runs.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Run
	for _, n := range names {
		r, err := q.Run(ctx, n)
		var other *FormatError
		if err != nil && !errors.As(err, &other) {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Run) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// Change changes a run.
func (q *Queue) Change(ctx context.Context, name string, change func(*Run)) (Run, error) {
	for {
		r, err := q.Run(ctx, name)
		if err != nil {
			return r, err
		}
		before := r
		change(&r)
		if r == before {
			return r, nil
		}
		raw, err := json.Marshal(r)
		if err != nil {
			return r, err
		}
		_, err = q.runs.Update(ctx, name, raw, r.revision)
		if err == nil {
			return r, nil
		}
		if code(err) != wrongLastSequence && !errors.Is(err, jetstream.ErrKeyExists) && !(transient(err) && pause(ctx, retryTime)) {
			return r, err
		}
	}
}

// Submit creates the run of a file, once, and puts the tasks that aren't done into the queue. A canceled run continues. A
// maxCost of 0 keeps the limit of an existing run.
func (q *Queue) Submit(ctx context.Context, f task.File, maxCost float64) (Run, error) {
	first := Run{Format: Format, Name: f.Run, Created: q.Now().UTC(), Tasks: len(f.Tasks), MaxCost: maxCost}
	raw, err := json.Marshal(first)
	if err != nil {
		return first, err
	}
	err = q.patiently(ctx, requestTime, func(ctx context.Context) error {
		_, err := q.runs.Create(ctx, f.Run, raw)
		return err
	})
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return first, fmt.Errorf("create the run %s: %w", f.Run, err)
	}
	r, err := q.Change(ctx, f.Run, func(r *Run) {
		r.Canceled = false
		if maxCost > 0 && maxCost != r.MaxCost {
			r.Parked = r.Parked && maxCost < r.MaxCost
			r.MaxCost = maxCost
		}
	})
	if err != nil {
		return r, err
	}
	todo := f.Tasks
	if r.Submitted {
		if todo, err = q.undone(ctx, f.Run, f.Tasks); err != nil {
			return r, err
		}
	} else {
		list, err := json.Marshal(f.Tasks)
		if err != nil {
			return r, err
		}
		if err := q.PutFile(ctx, tasksFile(f.Run), list); err != nil {
			return r, err
		}
	}
	if err := q.patiently(ctx, patience, func(ctx context.Context) error { return q.enqueue(ctx, f.Run, todo) }); err != nil {
		return r, fmt.Errorf("submit the tasks of %s: %w%s", f.Run, err, hint(err))
	}
	return q.Change(ctx, f.Run, func(r *Run) { r.Submitted = true })
}

func tasksFile(run string) string { return "runs/" + run + "/tasks" }

// Tasks returns the tasks of a run.
func (q *Queue) Tasks(ctx context.Context, run string) ([]task.Task, error) {
	raw, err := q.File(ctx, tasksFile(run))
	if err != nil {
		return nil, fmt.Errorf("read the tasks of %s: %w", run, err)
	}
	var all []task.Task
	return all, json.Unmarshal(raw, &all)
}

// undone returns the tasks whose journals have no result.
func (q *Queue) undone(ctx context.Context, run string, all []task.Task) ([]task.Task, error) {
	var out []task.Task
	for _, t := range all {
		last, err := q.Last(ctx, run, task.Token(t.ID))
		if err != nil {
			return nil, err
		}
		if last == nil || last.Type != TypeDone {
			out = append(out, t)
		}
	}
	return out, nil
}

// queued is a task in the queue.
type queued struct {
	Format int       `json:"format"`
	Run    string    `json:"run"`
	Task   task.Task `json:"task"`
}

// batch is the number of tasks sent before waiting for their acknowledgments.
const batch = 500

// enqueue puts tasks into the queue that aren't in it.
func (q *Queue) enqueue(ctx context.Context, run string, tasks []task.Task) error {
	for part := range slices.Chunk(tasks, batch) {
		var waiting []jetstream.PubAckFuture
		for _, t := range part {
			raw, err := json.Marshal(queued{Format, run, t})
			if err != nil {
				return err
			}
			m := &nats.Msg{Subject: "tasks." + run + "." + task.Token(t.ID), Data: raw}
			f, err := q.js.PublishMsgAsync(m, jetstream.WithExpectLastSequencePerSubject(0))
			if err != nil {
				return err
			}
			waiting = append(waiting, f)
		}
		for _, f := range waiting {
			select {
			case <-f.Ok():
			case err := <-f.Err():
				if code(err) != wrongLastSequence { // otherwise it is already in the queue
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// Again restarts tasks of a run: the entries in their journals so far don't count.
func (q *Queue) Again(ctx context.Context, run string, tasks []task.Task) error {
	for _, t := range tasks {
		l, err := q.OpenLog(ctx, run, task.Token(t.ID))
		if err != nil {
			return err
		}
		if n := len(l.Entries); n == 0 || l.Entries[n-1].Type != TypeDone {
			continue // it is not done yet
		}
		if err := l.Write(ctx, TypeAgain, struct{}{}); err != nil {
			return err
		}
	}
	if _, err := q.Change(ctx, run, func(r *Run) { r.Canceled = false }); err != nil {
		return err
	}
	return q.enqueue(ctx, run, tasks)
}

// Waiting returns the tokens of a run's tasks that are in the queue or with a worker.
func (q *Queue) Waiting(ctx context.Context, run string) (map[string]bool, error) {
	prefix := "tasks." + run + "."
	info, err := q.tasks.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for s := range info.State.Subjects {
		out[s[len(prefix):]] = true
	}
	return out, nil
}
