package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/fleet/internal/pipe"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/random"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// stopTime is how long a call may run after the worker was stopped.
const stopTime = 30 * time.Second

// child runs the session of the task in a child process, and answers its requests until it ends.
func (a *attempt) child(ctx context.Context, b pipe.Begin) (pipe.End, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, kill, err := a.command(ctx)
	if err != nil {
		return pipe.End{}, err
	}
	var problems tail
	c.Stderr = &problems
	in, err := c.StdinPipe()
	if err != nil {
		return pipe.End{}, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return pipe.End{}, err
	}
	if err := c.Start(); err != nil {
		return pipe.End{}, broken("start the child process: %w", err)
	}
	defer func() { // in all cases, stop all its processes
		kill()
		_ = in.Close()
		_ = c.Wait()
	}()
	defer context.AfterFunc(ctx, kill)() // closes the pipe, on which serve waits
	defer context.AfterFunc(a.stop, func() {
		a.w.gateway.Stop(a.token)
		if sleep(ctx, stopTime) {
			kill()
		}
	})()
	go func() { _ = json.NewEncoder(in).Encode(b) }() // a child that doesn't read is killed later
	end, err := a.serve(ctx, out, in)
	if errors.Is(err, errEnded) {
		kills := time.AfterFunc(endTime, kill)
		_ = c.Wait() // problems has its complete output now
		kills.Stop()
		err = broken("%w: %s", errEnded, a.mask(problems.String()))
	}
	if err != nil && a.stop.Err() != nil && !errors.Is(err, queue.ErrLost) {
		err = errReturn
	}
	return end, err
}

// errEnded reports a child that exited, or closed its pipe, before it sent its result.
var errEnded = errors.New("the child process ended without a result")

// endTime is how long a child may take to exit after it closed its pipe.
const endTime = 5 * time.Second

// serve answers the child's requests.
func (a *attempt) serve(ctx context.Context, out io.Reader, in io.Writer) (pipe.End, error) {
	requests, replies := json.NewDecoder(out), json.NewEncoder(in)
	for {
		var r pipe.Request
		if err := requests.Decode(&r); err != nil {
			if ctx.Err() != nil {
				return pipe.End{}, context.Cause(ctx)
			}
			return pipe.End{}, errEnded
		}
		var reply pipe.Reply
		switch {
		case r.End != nil:
			return *r.End, nil
		case r.Append != nil:
			if err := a.append(ctx, *r.Append); err != nil {
				return pipe.End{}, err
			}
		case r.Get != nil:
			b, err := a.w.o.Queue.File(ctx, a.blob(*r.Get))
			if reply.Data = b; err != nil {
				reply.Error = err.Error()
			}
		default:
			masked := a.maskBytes(r.Put)
			if err := a.w.o.Queue.PutFile(ctx, a.blob(journal.RefOf(r.Put)), masked); err != nil {
				return pipe.End{}, err
			}
		}
		if err := replies.Encode(reply); err != nil {
			return pipe.End{}, errEnded
		}
	}
}

// blob returns the file of a content.
func (a *attempt) blob(ref journal.Ref) string {
	return "runs/" + a.item.Run + "/blobs/" + strings.TrimPrefix(ref.Blob, "sha256:")
}

// append writes an entry of the child to the journal. A call that changes something starts only while the server considers
// this worker alive, and the files of a turn that wrote are stored before its last entry.
func (a *attempt) append(ctx context.Context, e journal.Entry) error {
	e.Data, e.At = a.maskBytes(e.Data), a.w.o.Queue.Time(e.At)
	snapshot := ""
	switch e.Type {
	case journal.TypeStarted:
		var s struct{ Access []tool.Access }
		if err := json.Unmarshal(e.Data, &s); err != nil || len(s.Access) == 0 || slices.ContainsFunc(s.Access, tool.Access.Changes) {
			a.wrote = true
			if err := a.freshen(ctx); err != nil {
				return err
			}
		}
	case journal.TypeResponses:
		if a.wrote {
			var err error
			if snapshot, err = a.snapshot(ctx); err != nil {
				return err
			}
			a.wrote = false
		}
	}
	return a.log.Append(ctx, e, snapshot)
}

// freshen waits until the server has confirmed a heartbeat.
func (a *attempt) freshen(ctx context.Context) error {
	for !a.item.Fresh() {
		if err := a.item.Beat(ctx); err != nil && !sleep(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// maxSnapshot is the maximum size of a patch.
const maxSnapshot = 100 << 20

// snapshot stores the changes of the workspace, and returns the name of the file.
func (a *attempt) snapshot(ctx context.Context) (string, error) {
	patch, err := a.space.Patch(ctx)
	if err != nil {
		return "", broken("read the changes: %w", err)
	}
	if len(patch) > maxSnapshot {
		a.w.o.Log.Warn("no snapshot: the changes are too large", "run", a.item.Run, "task", a.item.Task.ID, "bytes", len(patch))
		return "", nil
	}
	name := fmt.Sprintf("runs/%s/snapshots/%s/%s", a.item.Run, a.item.Token(), random.Text())
	return name, a.w.o.Queue.PutFile(ctx, name, a.maskBytes(patch))
}

// mask replaces secrets of the task.
func (a *attempt) mask(text string) string {
	return a.w.values.Mask().String(string(a.maskBytes([]byte(text))))
}

func (a *attempt) maskBytes(b []byte) []byte {
	for _, s := range a.secrets {
		b = bytes.ReplaceAll(b, s, []byte("[masked]"))
	}
	return b
}

// command returns the command line of the child, and a function that kills it.
func (a *attempt) command(ctx context.Context) (*exec.Cmd, func(), error) {
	argv, remove := a.w.o.Program, func() {}
	if a.item.Task.Image != "" {
		var err error
		if argv, remove, err = a.container(); err != nil {
			return nil, nil, err
		}
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = a.space.Dir, a.env
	c.WaitDelay = 10 * time.Second
	isolate(c)
	return c, func() {
		killGroup(c)
		remove()
	}, nil
}

// tail keeps the end of a child's standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is the maximum length that is kept.
const maxTail = 4000

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if n := len(t.text) - maxTail; n > 0 {
		t.text = slices.Clone(t.text[n:])
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?"))
}
