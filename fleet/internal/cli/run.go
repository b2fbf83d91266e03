package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/fleet/internal/gateway"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/fleet/internal/task"
	"github.com/adze-dev/adze/fleet/internal/worker"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/otlp"
)

// runFile submits a file and waits until all of its tasks are done.
func runFile(ctx context.Context, env Env, o *options, words []string) error {
	f, err := task.Read(words[0])
	if err != nil {
		var invalid *task.Error
		if !errors.As(err, &invalid) {
			return &exit{exitInput, err.Error()}
		}
		return err
	}
	notes := make(chan string, 16)
	p, err := connect(ctx, o, true, func(note string) {
		select {
		case notes <- note:
		default: // they are read later
		}
	})
	if err != nil {
		return err
	}
	defer p.Close()
	running, lost := context.WithCancel(ctx)
	defer lost()
	p.Until(running)
	noteSync(env, o, p.Queue)
	if p.embedded != nil { // workers that had tasks were killed together with the embedded server
		if err := p.Release(ctx); err != nil {
			return err
		}
	}
	local := o.server == "" || o.slots > 0
	var w *worker.Worker
	if local {
		var closeWorker func()
		if w, closeWorker, err = newWorker(env, o, p.Queue); err != nil {
			return err
		}
		defer closeWorker()
		models := f.Models()
		for name := range models {
			models[name] = models[name] || o.maxCost > 0
		}
		if err := w.Check(ctx, models); err != nil {
			return err
		}
	}
	r, err := p.Submit(ctx, f, o.maxCost)
	if err != nil {
		return err
	}
	stop, end := context.WithCancel(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		if w != nil {
			_ = w.Run(stop)
		}
	}()
	parked, err := watch(ctx, env, o, p.Queue, w, r, notes)
	end()
	if err != nil {
		lost()
	}
	<-finished
	if err != nil {
		if ctx.Err() != nil {
			return &exit{exitInterrupted, fmt.Sprintf("interrupted\nContinue with the same command, or see 'adze fleet status %s%s'.", r.Name, o.again())}
		}
		return err
	}
	if err := finish(ctx, env, o, p.Queue, r.Name, f, parked); err != nil || !parked {
		return err
	}
	return atLimit(ctx, p.Queue, r.Name)
}

// noWorkerTime is how long nothing may happen before a missing worker is reported.
const noWorkerTime = 3 * time.Second

// answerTime is how long the queue may take to answer before that is reported.
const answerTime = 10 * time.Second

// state returns how many tasks of a run are in the queue, the run, and its cost.
func state(ctx context.Context, q *queue.Queue, name string) (waiting int, r queue.Run, cost int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	all, err := q.Waiting(ctx, name)
	if err == nil {
		r, err = q.Run(ctx, name)
	}
	if err == nil {
		cost, err = q.Add(ctx, gateway.SpentCounter(name), 0)
	}
	return len(all), r, cost, err
}

// watch waits until no task of the run is in the queue, and prints notes about the queue. parked reports that the run reached
// its cost limit. The error is about an embedded server that must be started again.
func watch(ctx context.Context, env Env, o *options, q *queue.Queue, w *worker.Worker, r queue.Run, notes <-chan string) (parked bool, err error) {
	bar := newProgress(env, o, r)
	defer bar.end()
	var same time.Time
	before := -1
	for {
		waiting, now, cost, err := state(ctx, q, r.Name)
		switch {
		case err != nil && ctx.Err() == nil && q.Connected():
			bar.note("the queue doesn't answer; waiting: " + err.Error())
		case err == nil:
			r = now
			bar.show(r.Tasks-waiting, float64(cost)/1e6)
			if waiting == 0 {
				return false, nil
			}
			if before != waiting {
				before, same = waiting, time.Now()
			}
			if w == nil && time.Since(same) > noWorkerTime {
				if idle, err := q.Idle(ctx); err == nil && idle && !r.Parked {
					bar.note("no worker takes tasks\nStart one with 'adze fleet worker --server URL'.")
				}
			}
			idle := w == nil && time.Since(same) > 2*q.Lease || w != nil && w.Busy() == 0
			if r.Parked && idle {
				return true, nil
			}
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case note := <-notes:
			if why := q.Dead(); why != "" {
				return false, fmt.Errorf("the queue stopped: %s\nIf the disk is full, make room. Continue with the same command.", why)
			}
			bar.note(note)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// finish prints the results. The error is about tasks that didn't pass, unless the run is parked.
func finish(ctx context.Context, env Env, o *options, q *queue.Queue, run string, f task.File, parked bool) error {
	all, err := results(ctx, q, run, f.Tasks)
	if err != nil {
		return err
	}
	cost, err := q.Add(ctx, gateway.SpentCounter(run), 0)
	if err != nil {
		return err
	}
	if o.json {
		if err := result.Write(env.Stdout, "jsonl", all); err != nil {
			return err
		}
	} else {
		for _, d := range all {
			if d.State != result.Passed {
				fmt.Fprintf(env.Stdout, "%-12s %s%s\n", d.State, d.ID, about(d.Error))
			}
		}
		fmt.Fprintf(env.Stdout, "%s: %s ($%.2f)\n", run, result.Count(all), float64(cost)/1e6)
		fmt.Fprintf(env.Stdout, "Results: adze fleet collect %s -o out --format dir%s\n", run, o.again())
	}
	if !parked {
		if err := pack(ctx, q, run, f.Tasks); err != nil {
			fmt.Fprintf(env.Stderr, "adze: pack the journals: %v\n", err)
		}
	}
	if parked {
		return nil
	}
	return verdict(all)
}

// atLimit returns the error of a run that reached its cost limit.
func atLimit(ctx context.Context, q *queue.Queue, name string) error {
	r, err := q.Run(ctx, name)
	if err != nil {
		return err
	}
	spent, err := q.Add(ctx, gateway.SpentCounter(name), 0)
	if err != nil {
		return err
	}
	return &exit{exitBudget, fmt.Sprintf("the cost limit is reached: $%.2f of $%.2f spent, and the next request may cost more than the rest\n"+
		"Continue with a higher --max-cost.", float64(spent)/1e6, r.MaxCost)}
}

func about(text string) string {
	if text == "" {
		return ""
	}
	for i, r := range text {
		if r == '\n' {
			text = text[:i]
			break
		}
	}
	return ": " + text
}

// verdict returns the exit code for results.
func verdict(all []result.Done) error {
	for _, d := range all {
		if d.State != result.Passed {
			return &exit{exitFailed, ""}
		}
	}
	return nil
}

// results returns the results of all tasks, in the order of the file.
func results(ctx context.Context, q *queue.Queue, run string, tasks []task.Task) ([]result.Done, error) {
	var all []result.Done
	for _, t := range tasks {
		d := result.Done{Result: result.Result{ID: t.ID, State: result.NotStarted}}
		last, err := q.Last(ctx, run, task.Token(t.ID))
		if err != nil {
			return nil, err
		}
		switch {
		case last == nil:
		case last.Type == queue.TypeDone:
			if err := json.Unmarshal(last.Data, &d); err != nil {
				return nil, fmt.Errorf("result of %s: %w", t.ID, err)
			}
		default:
			d.Error = "not finished"
		}
		if d.PatchFile != "" {
			b, err := q.File(ctx, d.PatchFile)
			if err != nil {
				return nil, err
			}
			d.Patch = string(b)
		}
		all = append(all, d)
	}
	return all, nil
}

// newWorker makes the worker of the flags.
func newWorker(env Env, o *options, q *queue.Queue) (*worker.Worker, func(), error) {
	host, _ := os.Hostname()
	if o.name == "" {
		o.name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	dir := o.work
	empty := filepath.Join(dir, "empty")
	if err := os.MkdirAll(empty, 0o700); err != nil {
		return nil, nil, err
	}
	flags := []settings.Flag{}
	if o.mode != "" {
		flags = append(flags, settings.Flag{Name: "--approval-mode", Key: "tools.approvalMode", Value: o.mode})
	}
	if o.sandbox != "" {
		flags = append(flags, settings.Flag{Name: "--sandbox", Key: "tools.sandbox", Value: o.sandbox})
	}
	s, err := session.Open(project.Env{
		Getenv: os.Getenv, Helper: env.Helper, Home: o.home, Version: env.Version, Tell: func(note string) { fmt.Fprintln(env.Stderr, "adze: "+note) },
	}, session.Options{Dir: project.Canonical(empty), Flags: flags})
	if err != nil {
		return nil, nil, err
	}
	traces, err := otlp.New(s.Settings.Telemetry.Endpoint, os.Getenv, "adze-fleet", env.Version)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	mode, sandbox := rights(o, s.Settings)
	w, err := worker.New(worker.Options{
		Queue: q, Name: o.name, Dir: dir, Slots: o.slots, Program: []string{env.Program, "child"}, Version: env.Version, Helper: env.Helper, Models: s.Models,
		Limits: gateway.Limits{Requests: o.rpm, Tokens: o.tpm}, Mode: mode, Sandbox: sandbox, Secrets: o.list(), Environ: env.Environ,
		Container: o.container, UntilDone: o.untilDone, Traces: traces,
		Log: slog.New(&lines{w: env.Stderr, terminal: env.Terminal}),
	})
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return w, func() {
		_ = w.Close()
		_ = s.Close()
	}, nil
}

// rights returns the approval mode and the sandbox of tasks; empty: those of the settings. No user can approve anything
// here, so if no mode is set, everything is allowed in a sandbox, which restricts commands to the task's own clone. If the
// sandbox is off, the mode stays.
func rights(o *options, s *settings.Settings) (mode, sandbox string) {
	mode, sandbox = o.mode, o.sandbox
	if _, chosen := s.Value("tools.approvalMode"); mode != "" || len(chosen) > 0 {
		return mode, sandbox
	}
	switch configured := cmp.Or(sandbox, s.Tools.Sandbox); configured {
	case "off":
		return mode, sandbox
	case "auto":
		sandbox = "workspace+network"
	}
	return "yolo", sandbox
}

// runWorker runs tasks until it is interrupted.
func runWorker(ctx context.Context, env Env, o *options, _ []string) error {
	q, err := workerQueue(ctx, env, o)
	if err != nil {
		return err
	}
	defer q.Close()
	q.Until(ctx)
	w, closeWorker, err := newWorker(env, o, q)
	if err != nil {
		return err
	}
	defer closeWorker()
	if err := w.Check(ctx, map[string]bool{"": false}); err != nil {
		return err
	}
	if o.metrics != "" {
		l, err := net.Listen("tcp", o.metrics)
		if err != nil {
			return fmt.Errorf("--metrics: %w", err)
		}
		defer l.Close()
		go func() { _ = http.Serve(l, metrics(w, o.name)) }()
	}
	fmt.Fprintf(env.Stderr, "adze: worker %s is ready\n", o.name)
	return w.Run(ctx)
}

// workerQueue connects a worker: to the server of the flags, or to that of 'adze fleet server' on this machine.
func workerQueue(ctx context.Context, env Env, o *options) (*queue.Queue, error) {
	p, err := connect(ctx, o, false, func(note string) { fmt.Fprintln(env.Stderr, "adze: "+note) })
	if err != nil {
		return nil, err
	}
	if p.embedded != nil {
		p.Close()
		return nil, usagef("adze fleet worker needs a queue: use --server URL, or start 'adze fleet server'")
	}
	noteSync(env, o, p.Queue)
	return p.Queue, nil
}

// runServer serves a queue on loopback until it is interrupted.
func runServer(ctx context.Context, env Env, o *options, _ []string) error {
	e, err := queue.Serve(o.queueDir(), o.listen)
	if err != nil {
		return err
	}
	defer e.Close()
	opts := e.Options()
	opts.Lease = o.lease
	q, err := queue.Connect(ctx, opts)
	if err != nil {
		return err
	}
	q.Close()
	fmt.Fprintf(env.Stdout, "%s\n", e.URL)
	fmt.Fprintf(env.Stderr, "adze: the queue is ready\nStart workers with 'adze fleet worker', and runs with 'adze fleet run FILE --server %s'.\n"+
		"Other users of this machine need the token in %s as ADZE_FLEET_TOKEN.\n",
		e.URL, filepath.Join(o.queueDir(), "server.json"))
	for last := ""; ; {
		if why := e.Problem(); why != last {
			last = why
			fmt.Fprintf(env.Stderr, "adze: the queue: %s\n", why)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}
