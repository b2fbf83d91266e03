package command

import (
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/tool"
)

// Job is a background command, for the user.
type Job struct {
	ID      string
	Command string // in one line
	Began   time.Time
	Running bool
	State   string // running, or how it ended
}

// Jobs lists the background commands of the session, the oldest first.
func (s *Shell) Jobs() []Job {
	var all []Job
	for _, j := range s.jobs.List() {
		all = append(all, newJob(j))
	}
	return all
}

// JobOutput returns the end of a background command's output. It doesn't change what the model reads next.
func (s *Shell) JobOutput(id string) (Job, string, error) {
	piece, _, err := s.jobs.Read(id, 0, 1)
	if err != nil {
		return Job{}, "", err
	}
	piece, job, err := s.jobs.Read(id, max(0, piece.Total-jobPiece), jobPiece)
	return newJob(job), piece.Text, err
}

// StopJob stops a background command and its child processes.
func (s *Shell) StopJob(id string) (Job, error) {
	job, err := s.jobs.Stop(id)
	return newJob(job), err
}

func newJob(j proc.Job) Job {
	job := Job{ID: j.ID, Command: Label(j.Label), Began: j.Began, Running: j.Running, State: "running"}
	if !j.Running {
		job.State = ending(j.Outcome)
	}
	return job
}

// Known reports whether there is a background command with an ID.
func (s *Shell) Known(id string) bool {
	_, _, err := s.jobs.Read(id, 0, 1)
	return err == nil
}

// Stop stops a background command for the model.
func (s *Shell) Stop(id string) (tool.Result, error) {
	job, err := s.jobs.Stop(id)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.TextResult("Background job " + job.ID + " (" + Label(job.Label) + ") was ended: " +
		s.ending(job) + "." + noteLines(s.aside())), nil
}
