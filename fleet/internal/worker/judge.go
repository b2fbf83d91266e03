package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/fleet/internal/gateway"
	"github.com/adze-dev/adze/fleet/internal/pipe"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/fleet/internal/trace"
	"github.com/adze-dev/adze/fleet/internal/workspace"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/journal"
)

// checkTime is how long a setup or check command may take if the task has no wall time.
const checkTime = 30 * time.Minute

// judge determines the state of a task whose session has ended.
func (a *attempt) judge(ctx context.Context, end pipe.End, reason gateway.Reason) (result.Done, error) {
	patch, err := a.space.Patch(ctx)
	if err != nil {
		return result.Done{}, broken("read the changes: %w", err)
	}
	changes, err := a.space.Changes(ctx)
	if err != nil {
		return result.Done{}, broken("read the changes: %w", err)
	}
	patch = a.maskBytes(patch)
	d := result.Done{Text: a.mask(end.Text)}
	d.Patch, d.Changes, d.Error = string(patch), changes.Masked(a.mask).Reported(), a.mask(end.Error)
	switch {
	case len(patch) > maxSnapshot:
		d.Patch, d.State = "", result.Failed
		d.Error = fmt.Sprintf("the patch has %d MB; at most %d MB are stored", len(patch)>>20, maxSnapshot>>20)
	case reason == gateway.TaskCap:
		d.State, d.Error = result.OverBudget, string(reason)
	case end.Why == pipe.Limit:
		d.State = result.OverBudget
	case end.Why == pipe.Timeout:
		d.State = result.TimedOut
	case end.Why == pipe.Failed:
		return d, broken("%s", end.Error)
	case len(patch) == 0 && end.Denied > 0:
		d.State = result.Denied
		d.Error = fmt.Sprintf("%d calls were denied\nAllow them in the worker's settings, or use --approval-mode.", end.Denied)
	case len(patch) == 0:
		d.State = result.Unchanged
	default:
		return a.check(ctx, d, patch)
	}
	return d, nil
}

// check runs the checks in a fresh clone with the patch.
func (a *attempt) check(ctx context.Context, d result.Done, patch []byte) (result.Done, error) {
	d.State = result.Passed
	t := a.item.Task
	if len(t.Checks) == 0 {
		return d, nil
	}
	space, err := a.w.dirs.Clone(ctx, t.Repo, a.space.Base)
	if err != nil {
		return d, broken("make the workspace for the checks: %w", err)
	}
	defer space.Remove()
	if err := space.Apply(ctx, patch); err != nil {
		return d, broken("apply the patch for the checks: %w", err)
	}
	if err := a.setup(ctx, space); err != nil {
		return d, err
	}
	for _, line := range t.Checks {
		out, err := a.shell(ctx, space, line)
		if err != nil {
			return d, err
		}
		if out.Ended != proc.Exited || out.Exit != 0 {
			d.State, d.Error = result.Failed, fmt.Sprintf("check %q: %s", line, ended(out))
			d.Checks = a.mask(out.Output.String())
			return d, nil
		}
	}
	return d, nil
}

// setup runs the setup commands.
func (a *attempt) setup(ctx context.Context, space *workspace.Workspace) error {
	for _, line := range a.item.Task.Setup {
		out, err := a.shell(ctx, space, line)
		if err != nil {
			return err
		}
		if out.Ended != proc.Exited || out.Exit != 0 {
			return broken("setup %q: %s: %s", line, ended(out), last(out.Output.String()))
		}
	}
	return nil
}

// shell runs a command in a workspace.
func (a *attempt) shell(ctx context.Context, space *workspace.Workspace, line string) (proc.Outcome, error) {
	limit := a.item.Task.Limits.Wall
	if limit == 0 {
		limit = checkTime
	}
	out, err := a.w.runner.Run(ctx, proc.Command{Line: line, Dir: space.Dir, Env: a.env, Timeout: limit})
	if err != nil {
		return out, broken("run %q: %w", line, err)
	}
	if out.Ended == proc.Cancelled {
		return out, errors.Join(context.Cause(ctx), ctx.Err())
	}
	return out, nil
}

func ended(o proc.Outcome) string {
	if o.Ended == proc.TimedOut {
		return "timed out"
	}
	return fmt.Sprintf("exit code %d", o.Exit)
}

// last returns the end of a text.
func last(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text) - 1000; n > 0 {
		text = "…" + strings.ToValidUTF8(text[n:], "")
	}
	return text
}

// maxInline is the maximum length of a patch in a journal.
const maxInline = 128 << 10

// done writes the result to the journal.
func (a *attempt) done(ctx context.Context, d result.Done) error {
	d.ID, d.Worker, d.Model, d.MS = a.item.Task.ID, a.w.o.Name, a.up.Options.Model, time.Since(a.began).Milliseconds()
	log, err := a.w.o.Queue.OpenLog(ctx, a.item.Run, a.item.Token())
	if err != nil {
		return err
	}
	d.Turns = turns(log.Entries)
	if n := len(log.Entries); n > 0 {
		d.MS = max(d.MS, a.w.o.Queue.Now().Sub(log.Entries[0].At).Milliseconds())
	}
	spent, err := a.w.o.Queue.Add(ctx, gateway.TaskCounter(a.item.Run, a.item.Token()), 0)
	if err != nil {
		return err
	}
	d.Cost = float64(spent) / 1e6
	if len(d.Patch) > maxInline || !utf8.ValidString(d.Patch) {
		d.PatchFile = fmt.Sprintf("runs/%s/patches/%s/%s", a.item.Run, a.item.Token(), a.token)
		if err := a.w.o.Queue.PutFile(ctx, d.PatchFile, []byte(d.Patch)); err != nil {
			return err
		}
		d.Patch = ""
	}
	for _, text := range []*string{&d.Text, &d.Checks, &d.Error} {
		*text = humanize.Cut(*text, 64<<10)
	}
	if err := a.log.Write(ctx, queue.TypeDone, d); err != nil {
		return err
	}
	a.trace(log.Entries, d)
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.w.ended[d.State]++
	return nil
}

// trace sends the spans of a finished task. The next task doesn't wait for the collector.
func (a *attempt) trace(entries []journal.Entry, d result.Done) {
	if a.w.o.Traces == nil {
		return
	}
	d.Patch, d.Text, d.Checks = "", "", ""
	raw, err := json.Marshal(d)
	if err != nil {
		return
	}
	entries = append(entries, journal.Entry{V: journal.Version, Seq: a.log.Seq, At: a.w.o.Queue.Now().UTC(), Type: queue.TypeDone, Data: raw})
	a.w.sends.Go(func() {
		if err := a.w.o.Traces.Send(context.Background(), trace.Spans(a.item.Run, a.item.Task.ID, entries)); err != nil {
			a.w.o.Log.Warn(err.Error(), "run", a.item.Run, "task", a.item.Task.ID)
		}
	})
}
