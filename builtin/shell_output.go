package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/tool"
)

//go:embed shell_output.md
var shellOutputText string

type shellOutputArgs struct {
	ID     string `json:"id" description:"ID of the background command{{run_shell_command:, from run_shell_command}}{{task:; or the name of a background subagent}}." alias:"job_id,background_id,task_id,bash_id"`
	Offset *int64 `json:"offset,omitempty" description:"Byte offset to read from (default: where the last read ended)." minimum:"0"`
	Wait   int    `json:"wait,omitempty" description:"Milliseconds to wait for new output or for the command to exit." minimum:"0" maximum:"60000" ignored:"filter"`
}

func shellOutput(s *shell, tasks taskJobs) tool.Tool {
	return tool.Define(tool.Def[shellOutputArgs]{
		Name: "shell_output", DisplayName: "ShellOutput",
		Summary:     "Show new output of a background command or subagent",
		Description: strings.TrimSpace(shellOutputText), RuleNames: []string{"BashOutput", "TaskOutput"},
		Kind: tool.Read, Polls: true, Auxiliary: true,
		Prepare: func(_ context.Context, a shellOutputArgs) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "read the output of " + oneLine(a.ID, 80), Access: holdJob(a.ID)}
			if id, ok := tasks.named(a.ID); ok {
				inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
					return tasks.read(ctx, l, id, time.Duration(a.Wait)*time.Millisecond)
				}
				return inv, nil
			}
			if _, _, err := s.jobs.Read(a.ID, 0, 1); err != nil {
				return inv, s.noJob(a.ID, tasks)
			}
			inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) { return s.read(ctx, l, a) }
			return inv, nil
		},
	})
}

// holdJob orders the calls for one background command. It was approved when it started, so reading it needs no
// approval.
func holdJob(id string) []tool.Access {
	return []tool.Access{{Verb: tool.Locks, Target: "job:" + id}}
}

func (s *shell) noJob(id string, tasks taskJobs) error {
	known := tasks.ids()
	for _, j := range s.jobs.List() {
		known = append(known, j.ID)
	}
	id = oneLine(id, 80)
	if len(known) == 0 {
		return tool.Errorf("task_stop_not_found", "no background command %q. No background commands are running.%s%s",
			id,
			s.files.offer.hint("run_shell_command", " Use run_shell_command with is_background to start one."),
			s.files.offer.hint("task", " Use task with run_in_background to start a subagent."))
	}
	return tool.Errorf("task_stop_not_found", "no background command %q. Use one of these IDs: %s", id,
		strings.Join(known, ", "))
}

// jobPiece is how much of a job's output is read at once.
const jobPiece = 20 << 10

func (s *shell) read(ctx context.Context, live *tool.Live, a shellOutputArgs) (tool.Result, error) {
	s.mu.Lock()
	from := s.told[a.ID]
	s.mu.Unlock()
	if a.Offset != nil {
		from = *a.Offset
	}
	piece, job, err := s.await(ctx, a, from)
	if err != nil {
		return tool.Result{}, err
	}
	if err := s.heldBack(a.ID).release(ctx, live, job.Label, s.files.ws.Project()); err != nil {
		return tool.Result{}, err
	}
	s.mu.Lock()
	s.told[a.ID] = piece.Next
	s.mu.Unlock()
	state := "running"
	if !job.Running {
		state = "ended, " + ending(job.Outcome)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Background Id: %s\nState: %s\nBytes: %d to %d of %d\n", job.ID, state, piece.From, piece.Next,
		piece.Total)
	if piece.Skipped > 0 {
		fmt.Fprintf(&b, "%d bytes before that are no longer kept.\n", piece.Skipped)
	}
	fmt.Fprintf(&b, "Output: %s", orEmpty(strings.TrimRight(piece.Text, "\n")))
	offered, err := s.offer(ctx, live, job)
	if offered != "" {
		b.WriteString("\n" + offered)
	}
	b.WriteString(noteLines(s.aside()))
	return tool.Result{Content: []tool.Part{tool.Text(b.String())}, Display: tool.Literal(piece.Text)}, err
}

// settle is how long a waiting reader continues to wait after new output: often it is the last output, and the result
// can include the end of the command.
const settle = 50 * time.Millisecond

// await reads, and waits a while if there is nothing new yet.
func (s *shell) await(ctx context.Context, a shellOutputArgs, from int64) (proc.Piece, proc.Job, error) {
	deadline := time.Now().Add(time.Duration(a.Wait) * time.Millisecond)
	settling := false
	for {
		piece, job, err := s.jobs.Read(a.ID, from, jobPiece)
		if err != nil || !job.Running || !time.Now().Before(deadline) {
			return piece, job, err
		}
		if soon := time.Now().Add(settle); piece.Text != "" && !settling {
			settling = true
			if soon.Before(deadline) {
				deadline = soon
			}
		}
		select {
		case <-ctx.Done():
			return piece, job, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// file is the file for a long output.
type file struct {
	io.WriteCloser
	path string
}

var errNotKept = errors.New("no directory to save it in")

func (s *shell) open(c tool.Call) (file, error) {
	if s.output == nil {
		return file{}, errNotKept
	}
	w, path, err := s.output(c)
	return file{w, path}, err
}

// longOutput writes an output to a file once it is longer than what the result includes.
type longOutput struct {
	open    func() (file, error)
	keep    int
	private bool // nothing is saved before close
	held    []byte
	file    *file
	size    int // of a private file
	err     error
}

// maxPrivate is the maximum size of a private file, that of a saved result.
const maxPrivate = 64 << 20

// Write never fails: a command must not fail because the disk with its log is full.
func (l *longOutput) Write(p []byte) (int, error) {
	if l.file == nil && l.err == nil {
		l.held = append(l.held, p...)
		if len(l.held) <= l.keep {
			return len(p), nil
		}
		open := l.open
		if l.private {
			open = private
		}
		f, err := open()
		if err != nil {
			l.err, l.held = err, nil
			return len(p), nil
		}
		l.file = &f
		_, l.err = l.file.Write(l.held)
		l.size, l.held = len(l.held), nil
		return len(p), nil
	}
	if l.size += len(p); l.private && l.size > maxPrivate {
		return len(p), nil
	}
	if l.err == nil {
		_, l.err = l.file.Write(p)
	}
	return len(p), nil
}

// close closes the file and returns its path, if the output is longer than what the result includes.
func (l *longOutput) close() string {
	if l.file != nil && l.private && l.err == nil {
		l.err = l.publish()
	}
	if l.file != nil {
		l.err = errors.Join(l.err, l.file.Close())
	}
	switch {
	case l.err != nil:
		return fmt.Sprintf("The whole output could not be kept: %v", l.err)
	case l.file != nil:
		return fmt.Sprintf("The whole output is in %s; read or search that file for the rest.", l.file.path)
	}
	return ""
}

// publish copies a private file to a saved one.
func (l *longOutput) publish() error {
	from := l.file.WriteCloser.(*os.File)
	to, err := l.open()
	if err != nil {
		return err
	}
	defer from.Close()
	l.file = &to
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}

// discard closes the file without saving it.
func (l *longOutput) discard() {
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.held, l.err = nil, nil, errNotKept
}

//go:embed shell_stop.md
var shellStopText string

type shellStopArgs struct {
	ID string `json:"id" description:"ID of the background command{{run_shell_command:, from run_shell_command}}{{task:; or the name of a background subagent}}." alias:"job_id,background_id,task_id,shell_id"`
}

func shellStop(s *shell, tasks taskJobs) tool.Tool {
	return tool.Define(tool.Def[shellStopArgs]{
		Name: "shell_stop", DisplayName: "ShellStop",
		Summary:     "Stop a background command or subagent",
		Description: strings.TrimSpace(shellStopText), RuleNames: []string{"KillShell", "KillBash", "TaskStop"},
		Aliases: []string{"task_stop"}, Kind: tool.Other, Auxiliary: true,
		Prepare: func(_ context.Context, a shellStopArgs) (*tool.Invocation, error) {
			inv := &tool.Invocation{Description: "stop " + oneLine(a.ID, 80), Access: holdJob(a.ID)}
			if id, ok := tasks.named(a.ID); ok {
				inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) { return tasks.stop(ctx, l, id) }
				return inv, nil
			}
			if _, _, err := s.jobs.Read(a.ID, 0, 1); err != nil {
				return inv, s.noJob(a.ID, tasks)
			}
			inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				if err := ctx.Err(); err != nil {
					return tool.Result{}, err
				}
				job, err := s.jobs.Stop(a.ID)
				if err != nil {
					return tool.Result{}, err
				}
				return tool.TextResult("Background job " + job.ID + " (" + label(job.Label) + ") was ended: " +
					s.ending(job) + "." + noteLines(s.aside())), nil
			}
			return inv, nil
		},
	})
}
