package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/fleet/internal/gateway"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/result"
	"github.com/adze-dev/adze/fleet/internal/task"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/journal/export"
)

// running returns the state of tasks that have begun and aren't done. A queue that this process serves has no workers.
func (p openQueue) running() string {
	if p.embedded != nil {
		return "interrupted"
	}
	return "running"
}

// status lists runs, or the tasks of one.
func status(ctx context.Context, env Env, o *options, words []string) error {
	p, err := connect(ctx, o, false, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	for {
		var b bytes.Buffer
		if len(words) == 1 {
			err = statusOf(ctx, &b, o, p, words[0])
		} else {
			err = statusAll(ctx, &b, o, p)
		}
		if err != nil {
			return err
		}
		if o.watch && env.Terminal {
			fmt.Fprint(env.Stdout, "\x1b[H\x1b[2J")
		}
		if _, err := b.WriteTo(env.Stdout); err != nil || !o.watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func statusAll(ctx context.Context, w io.Writer, o *options, q openQueue) error {
	runs, err := q.Runs(ctx)
	if err != nil {
		return err
	}
	if len(runs) == 0 && !o.json {
		fmt.Fprintln(w, "No runs. Start one with 'adze fleet run tasks.jsonl'.")
	}
	for _, r := range runs {
		waiting, err := q.Waiting(ctx, r.Name)
		if err != nil {
			return err
		}
		cost, err := q.Add(ctx, gateway.SpentCounter(r.Name), 0)
		if err != nil {
			return err
		}
		state := q.running()
		switch {
		case r.Canceled:
			state = "canceled"
		case len(waiting) == 0 && r.Submitted:
			state = "done"
		case r.Parked:
			state = "at the cost limit"
		}
		if o.json {
			if err := json.NewEncoder(w).Encode(map[string]any{"run": r.Name, "state": state, "tasks": r.Tasks, "done": r.Tasks - len(waiting),
				"cost": float64(cost) / 1e6, "created": r.Created}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%-40s %s, %d of %d tasks, $%.2f\n", r.Name, state, r.Tasks-len(waiting), r.Tasks, float64(cost)/1e6)
	}
	return nil
}

func statusOf(ctx context.Context, w io.Writer, o *options, q openQueue, name string) error {
	tasks, err := tasksOf(ctx, q.Queue, name)
	if err != nil {
		return err
	}
	waiting, err := q.Waiting(ctx, name)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		last, err := q.Last(ctx, name, task.Token(t.ID))
		if err != nil {
			return err
		}
		state, d := "waiting", result.Done{}
		switch {
		case last != nil && last.Type == queue.TypeDone:
			if err := json.Unmarshal(last.Data, &d); err != nil {
				return err
			}
			state = string(d.State)
		case last != nil && waiting[task.Token(t.ID)]:
			state = q.running()
		case !waiting[task.Token(t.ID)]:
			state = string(result.NotStarted)
		}
		if o.json {
			if err := json.NewEncoder(w).Encode(map[string]any{"id": t.ID, "state": state, "cost": d.Cost, "turns": d.Turns, "error": d.Error}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%-12s %s%s\n", state, t.ID, about(d.Error))
	}
	return nil
}

// tasksOf returns the tasks of a run that exists.
func tasksOf(ctx context.Context, q *queue.Queue, name string) ([]task.Task, error) {
	if _, err := q.Run(ctx, name); err != nil {
		return nil, err
	}
	return q.Tasks(ctx, name)
}

// resultsOf returns the tasks of a run with their results.
func resultsOf(ctx context.Context, q *queue.Queue, run string) ([]task.Task, []result.Done, error) {
	tasks, err := tasksOf(ctx, q, run)
	if err != nil {
		return nil, nil, err
	}
	all, err := results(ctx, q, run, tasks)
	return tasks, all, err
}

// cancel stops a run.
func cancel(ctx context.Context, env Env, o *options, words []string) error {
	p, err := connect(ctx, o, false, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	if _, err := p.Change(ctx, words[0], func(r *queue.Run) { r.Canceled = true }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s is canceled; running tasks stop within %v\n", words[0], p.Lease)
	return err
}

// retry puts tasks that didn't pass into the queue again.
func retry(ctx context.Context, env Env, o *options, words []string) error {
	p, err := connect(ctx, o, false, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	noteSync(env, o, p.Queue)
	tasks, all, err := resultsOf(ctx, p.Queue, words[0])
	if err != nil {
		return err
	}
	var again []task.Task
	for i, d := range all {
		failed := d.State == result.Failed || d.State == result.Broken || d.State == result.NotStarted
		if d.State != result.Passed && (failed || !o.failed) {
			again = append(again, tasks[i])
		}
	}
	if err := p.Again(ctx, words[0], again); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%d tasks of %s are in the queue again; 'adze fleet run' with the same file runs them\n", len(again), words[0])
	return err
}

// collect writes the results of a run.
func collect(ctx context.Context, env Env, o *options, words []string) error {
	switch {
	case !slices.Contains([]string{"", "jsonl", "swebench", "dir"}, o.format):
		return usagef("--format: expected jsonl, swebench or dir, got %q", o.format)
	case o.format == "dir" && o.toStdout():
		return usagef("--format dir needs -o DIR")
	}
	p, err := connect(ctx, o, false, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	tasks, all, err := resultsOf(ctx, p.Queue, words[0])
	if err != nil {
		return err
	}
	if o.format == "dir" {
		texts, err := transcripts(ctx, p.Queue, words[0], tasks)
		if err == nil {
			err = result.WriteDir(o.output, all, texts)
		}
		if err != nil {
			return err
		}
	} else if err := writeTo(env, o, all); err != nil {
		return err
	}
	if !o.toStdout() {
		fmt.Fprintf(env.Stderr, "%s: %s\n", o.output, result.Count(all))
	}
	if o.branch {
		branches(ctx, env, words[0], tasks, all)
	}
	if err := pack(ctx, p.Queue, words[0], tasks); err != nil {
		fmt.Fprintf(env.Stderr, "adze: pack the journals: %v\n", err)
	}
	return verdict(all)
}

// toStdout reports whether collect prints the results.
func (o *options) toStdout() bool { return o.output == "" || o.output == "-" }

func writeTo(env Env, o *options, all []result.Done) error {
	if o.toStdout() {
		return result.Write(env.Stdout, o.format, all)
	}
	var b bytes.Buffer
	if err := result.Write(&b, o.format, all); err != nil {
		return err
	}
	return os.WriteFile(o.output, b.Bytes(), 0o644)
}

// blobs are the long texts of a run.
type blobs struct {
	ctx context.Context
	q   *queue.Queue
	run string
}

func (b blobs) Put([]byte) (journal.Ref, error) { return journal.Ref{}, errors.New("read-only") }

func (b blobs) Get(ref journal.Ref) ([]byte, error) {
	return b.q.File(b.ctx, "runs/"+b.run+"/blobs/"+strings.TrimPrefix(ref.Blob, "sha256:"))
}

// transcripts returns the conversations of tasks, as Markdown.
func transcripts(ctx context.Context, q *queue.Queue, run string, tasks []task.Task) (map[string]string, error) {
	out := map[string]string{}
	packed := archiveOf(ctx, q, run)
	for _, t := range tasks {
		entries, err := history(ctx, q, run, t.ID, packed)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			continue
		}
		var b bytes.Buffer
		err = export.Markdown(&b, func(yield func(journal.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
		}, blobs{ctx, q, run})
		if err != nil {
			return nil, fmt.Errorf("transcript of %s: %w", t.ID, err)
		}
		out[t.ID] = b.String()
	}
	return out, nil
}

// branches makes a branch with the patch of each task in its repository, if that is on this machine, and reports conflicts.
func branches(ctx context.Context, env Env, run string, tasks []task.Task, all []result.Done) {
	for i, d := range all {
		repo := tasks[i].Repo
		if d.Patch == "" || !filepath.IsAbs(repo) {
			continue
		}
		name := "adze/" + run + "/" + task.Token(d.ID)
		if err := branch(ctx, repo, tasks[i].Ref, name, d); err != nil {
			fmt.Fprintf(env.Stderr, "adze: branch %s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(env.Stderr, "%s: branch %s\n", repo, name)
	}
}

// branch commits a patch to a new branch, without changing the work tree.
func branch(ctx context.Context, repo, ref, name string, d result.Done) error {
	if ref == "" {
		ref = "HEAD"
	}
	tmp, err := os.MkdirTemp("", "adze-branch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	git := func(input string, args ...string) (string, error) {
		c := exec.CommandContext(ctx, "git", append([]string{"-C", repo, "-c", "core.hooksPath=/dev/null"}, args...)...)
		c.Env = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(tmp, "index"), "GIT_AUTHOR_NAME=Adze", "GIT_AUTHOR_EMAIL=adze@localhost",
			"GIT_COMMITTER_NAME=Adze", "GIT_COMMITTER_EMAIL=adze@localhost")
		c.Stdin = strings.NewReader(input)
		var out, problems bytes.Buffer
		c.Stdout, c.Stderr = &out, &problems
		if err := c.Run(); err != nil {
			return "", errors.New(strings.TrimSpace(problems.String()))
		}
		return strings.TrimSpace(out.String()), nil
	}
	base, err := git("", "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return err
	}
	if _, err := git("", "read-tree", base); err != nil {
		return err
	}
	if _, err := git(d.Patch, "apply", "--cached", "--binary", "--whitespace=nowarn", "-"); err != nil {
		return fmt.Errorf("conflict with %s: %w", ref, err)
	}
	tree, err := git("", "write-tree")
	if err != nil {
		return err
	}
	commit, err := git("", "commit-tree", tree, "-p", base, "-m", "adze: "+d.ID)
	if err != nil {
		return err
	}
	_, err = git("", "branch", "--force", name, commit)
	return err
}

// pack stores the journals of finished tasks of a run in one file, and removes all but their last entries.
func pack(ctx context.Context, q *queue.Queue, run string, tasks []task.Task) error {
	var tokens []string
	for _, t := range tasks {
		tokens = append(tokens, task.Token(t.ID))
	}
	return q.Pack(ctx, run, tokens)
}
