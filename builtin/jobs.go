package builtin

import (
	"time"

	"github.com/adze-dev/adze/internal/proc"
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
func (s *Set) Jobs() []Job {
	var all []Job
	for _, j := range s.shell.jobs.List() {
		all = append(all, newJob(j))
	}
	return all
}

// JobOutput is the end of what a background command printed. What the model has read of it doesn't change.
func (s *Set) JobOutput(id string) (Job, string, error) {
	piece, _, err := s.shell.jobs.Read(id, 0, 1)
	if err != nil {
		return Job{}, "", err
	}
	piece, job, err := s.shell.jobs.Read(id, max(0, piece.Total-jobPiece), jobPiece)
	return newJob(job), piece.Text, err
}

// StopJob stops a background command and all that it started.
func (s *Set) StopJob(id string) (Job, error) {
	job, err := s.shell.jobs.Stop(id)
	return newJob(job), err
}

func newJob(j proc.Job) Job {
	job := Job{ID: j.ID, Command: label(j.Label), Began: j.Began, Running: j.Running, State: "running"}
	if !j.Running {
		job.State = ending(j.Outcome)
	}
	return job
}
