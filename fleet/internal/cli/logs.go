package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/fleet/internal/task"
	"github.com/adze-dev/adze/fleet/internal/worker"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/journal"
)

// logs prints the steps of a task: a line for each or, with --json, each entry of its journal.
func logs(ctx context.Context, env Env, o *options, words []string) error {
	run, id, ok := strings.Cut(words[0], "/")
	if !ok {
		return usagef("adze fleet logs: expected RUN/TASK, got %q", words[0])
	}
	p, err := connect(ctx, o, false, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	tasks, err := tasksOf(ctx, p.Queue, run)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(tasks, func(t task.Task) bool { return t.ID == id }) {
		return fmt.Errorf("unknown task %q in %s\nSee 'adze fleet status %s'.", id, run, run)
	}
	if o.follow && p.embedded != nil {
		o.follow = false // nothing is running that could be followed
	}
	for seen := 0; ; {
		entries, err := history(ctx, p.Queue, run, id, archiveOf(ctx, p.Queue, run))
		if err != nil {
			return err
		}
		if len(entries) < seen { // it was restarted
			seen = 0
		}
		for _, e := range entries[seen:] {
			if err := logEntry(env, o, e, blobs{ctx, p.Queue, run}); err != nil {
				return err
			}
		}
		seen = len(entries)
		if !o.follow || seen > 0 && entries[seen-1].Type == queue.TypeDone {
			if seen == 0 {
				fmt.Fprintf(env.Stderr, "adze: the task %s has not started yet\n", id)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func logEntry(env Env, o *options, e journal.Entry, b journal.Blobs) error {
	if o.json {
		return json.NewEncoder(env.Stdout).Encode(e)
	}
	if text := step(e, b); text != "" {
		by := ""
		if e.By != "" {
			by = "[" + e.By + "] "
		}
		_, err := fmt.Fprintf(env.Stdout, "%s  %s%s\n", e.At.Local().Format(time.TimeOnly), by, text)
		return err
	}
	return nil
}

// step describes an entry in one line; "" for those that only repeat others.
func step(e journal.Entry, b journal.Blobs) string {
	switch e.Type {
	case queue.TypeOwner:
		var owner queue.Owner
		_ = json.Unmarshal(e.Data, &owner)
		return "worker " + owner.Worker + " takes the task"
	case queue.TypeAgain:
		return "the task starts again"
	case worker.TypeBroken:
		var broken struct{ Error string }
		_ = json.Unmarshal(e.Data, &broken)
		return "the attempt failed: " + oneLine(broken.Error)
	case queue.TypeDone:
		var d result.Done
		_ = json.Unmarshal(e.Data, &d)
		return fmt.Sprintf("%s%s (%d turns, $%.2f)", d.State, about(d.Error), d.Turns, d.Cost)
	}
	data, err := journal.Decode(e, b)
	if err != nil {
		return string(e.Type) + ": " + oneLine(err.Error())
	}
	switch d := data.(type) {
	case journal.Message:
		return "user: " + oneLine(d.Message.Text())
	case journal.Answer:
		text := oneLine(cmp.Or(d.Error, d.Message.Text()))
		if text == "" {
			return ""
		}
		return "model: " + text
	case journal.Started:
		return "call " + d.Name + " " + oneLine(cmp.Or(d.About, string(d.Args)))
	case journal.Finished:
		text := fmt.Sprintf("%s: %s in %d ms", d.Outcome.Name, d.Outcome.Status, d.Outcome.MS)
		if d.Outcome.Error != nil {
			text += ": " + oneLine(d.Outcome.Error.Message)
		}
		return text
	case journal.Compacted:
		return "the conversation was compacted"
	}
	return ""
}

// maxStep is the maximum length of a text in a line.
const maxStep = 160

func oneLine(text string) string {
	return humanize.Cut(strings.Join(strings.Fields(text), " "), maxStep)
}

// archive reads the file with the journals of finished tasks.
type archive func() (map[string][]journal.Entry, error)

// archiveOf reads the file of a run once, when it is needed.
func archiveOf(ctx context.Context, q *queue.Queue, run string) archive {
	return sync.OnceValues(func() (map[string][]journal.Entry, error) { return q.Packed(ctx, run) })
}

// history returns the entries of a task: in its journal, or in the file of its run.
func history(ctx context.Context, q *queue.Queue, run, id string, packed archive) ([]journal.Entry, error) {
	l, err := q.OpenLog(ctx, run, task.Token(id))
	if err != nil {
		return nil, err
	}
	if n := len(l.Entries); n != 1 || l.Entries[0].Type != queue.TypeDone {
		return l.Entries, nil
	}
	all, err := packed()
	if err != nil {
		return nil, err
	}
	if entries := all[task.Token(id)]; len(entries) > 0 {
		return entries, nil
	}
	return l.Entries, nil
}
