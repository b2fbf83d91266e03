package proc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxJobs is the maximum number of running jobs.
	maxJobs = 64
	// keptJobs is how many finished jobs can still be read.
	keptJobs = 32
)

// ErrNoJob is wrapped by the error for an unknown job.
var ErrNoJob = errors.New("no such background command")

// Job is the state of a background command.
type Job struct {
	ID      string
	Label   string // for users: usually its command line
	Began   time.Time
	Running bool
	Notes   []string // as in an Outcome, known from the start
	Outcome Outcome  // if it has ended
}

// Jobs is the table of background commands.
//
//	jobs := proc.NewJobs(r, nil)
//	id, err := jobs.Start(proc.Command{Line: "npm run dev"}, "dev server")
//	piece, job, err := jobs.Read(id, 0, 16<<10)
//	job, err = jobs.Stop(id)
type Jobs struct {
	runner   *Runner
	finished func(Job)

	mu     sync.Mutex
	last   int
	table  []*job // oldest first
	closed bool
	wg     sync.WaitGroup
}

type job struct {
	id, label string
	process   *Process
	announced bool
}

// NewJobs returns an empty table. finished, if not nil, is called once for each job when it has ended, in its own
// goroutine.
func NewJobs(r *Runner, finished func(Job)) *Jobs {
	return &Jobs{runner: r, finished: finished}
}

// Start starts a command in the background and returns its ID immediately. Command.Timeout applies, if it is set.
func (j *Jobs) Start(c Command, label string) (id string, err error) {
	j.mu.Lock()
	err = j.full()
	j.mu.Unlock()
	if err != nil {
		return "", err
	}
	p, err := j.runner.Start(context.Background(), c)
	if err != nil {
		return "", err
	}
	if id, err = j.add(p, label); err != nil {
		p.Stop()
		<-p.gone
	}
	return id, err
}

// Adopt moves a running command to the background: its context and timeout no longer apply, and its output so far can
// be read. A command that has ended meanwhile becomes a finished job.
func (j *Jobs) Adopt(p *Process, label string) (id string, err error) {
	if id, err = j.add(p, label); err == nil {
		p.Detach()
	}
	return id, err
}

func (j *Jobs) add(p *Process, label string) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.full(); err != nil {
		return "", err
	}
	j.last++
	one := &job{id: fmt.Sprintf("bg_%d", j.last), label: label, process: p}
	j.table = append(j.table, one)
	j.forgetOld()
	j.wg.Go(func() {
		<-p.Done()
		if j.finished != nil {
			j.finished(one.look())
		}
	})
	return one.id, nil
}

func (j *Jobs) full() error {
	if j.closed {
		return ErrClosed
	}
	n := 0
	for _, one := range j.table {
		if one.running() {
			n++
		}
	}
	if n >= maxJobs {
		return fmt.Errorf("start background command: %d are running (the limit). Stop one first", n)
	}
	return nil
}

// forgetOld drops the oldest finished jobs; the runner keeps their leftover processes.
func (j *Jobs) forgetOld() {
	done := 0
	for i := len(j.table) - 1; i >= 0; i-- {
		if j.table[i].running() {
			continue
		}
		if done++; done > keptJobs {
			j.table = slices.Delete(j.table, i, i+1)
		}
	}
}

func (o *job) running() bool {
	select {
	case <-o.process.done:
		return false
	default:
		return true
	}
}

func (o *job) look() Job {
	look := Job{ID: o.id, Label: o.label, Began: o.process.began, Running: o.running(), Notes: o.process.notes}
	if !look.Running {
		look.Outcome = o.process.outcome
	}
	return look
}

func (j *Jobs) find(id string) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var known []string
	for _, one := range j.table {
		if one.id == id {
			return one, nil
		}
		known = append(known, one.id)
	}
	if known == nil {
		return nil, fmt.Errorf("find %q: %w (none was started)", id, ErrNoJob)
	}
	return nil, fmt.Errorf("find %q: %w (running or finished: %s)", id, ErrNoJob, strings.Join(known, ", "))
}

// List returns all jobs, the oldest first.
func (j *Jobs) List() []Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []Job
	for _, one := range j.table {
		all = append(all, one.look())
	}
	return all
}

// News returns the jobs that have ended since the last call.
func (j *Jobs) News() []Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	var news []Job
	for _, one := range j.table {
		if !one.announced && !one.running() {
			one.announced = true
			news = append(news, one.look())
		}
	}
	return news
}

// Read reads a job's output from an offset, see Process.Read.
func (j *Jobs) Read(id string, offset int64, limit int) (Piece, Job, error) {
	one, err := j.find(id)
	if err != nil {
		return Piece{}, Job{}, err
	}
	look := one.look() // first: a job that has ended prints no more
	return one.process.Read(offset, limit), look, nil
}

// Stop stops a job and everything it started, and returns when that is done. A stopped job isn't in News.
func (j *Jobs) Stop(id string) (Job, error) {
	one, err := j.find(id)
	if err != nil {
		return Job{}, err
	}
	j.mu.Lock()
	one.announced = true
	j.mu.Unlock()
	one.process.Stop()
	<-one.process.gone
	return one.look(), nil
}

// Close stops all jobs and returns when they are gone.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	all := slices.Clone(j.table)
	j.mu.Unlock()
	for _, one := range all {
		one.process.Stop()
	}
	for _, one := range all {
		<-one.process.gone
	}
	j.wg.Wait()
}
