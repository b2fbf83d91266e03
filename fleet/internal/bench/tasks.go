package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/task"
	"github.com/adze-dev/adze/fleet/internal/workspace"
)

func manyTasks(n int) task.File {
	f := task.File{Run: fmt.Sprint("r", n)}
	for i := range n {
		f.Tasks = append(f.Tasks, task.Task{ID: fmt.Sprint("task-", i), Repo: "https://example.com/repo.git", Prompt: "update the dependencies, and fix what breaks"})
	}
	return f
}

// tasks measures how fast tasks go through the queue.
func (b *bench) tasks(ctx context.Context) error {
	q, stop, err := b.open(ctx, "queue")
	if err != nil {
		return err
	}
	defer stop()
	const n, workers = 2000, 32
	if _, err := q.Submit(ctx, manyTasks(n), 0); err != nil {
		return err
	}
	began := time.Now()
	failed := make(chan error, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				item, err := q.Take(ctx, 500*time.Millisecond)
				if item == nil {
					failed <- err
					return
				}
				if err := errors.Join(item.Beat(ctx), item.Done(ctx)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began) - 500*time.Millisecond // without the wait for a missing task
	for range workers {
		if err := <-failed; err != nil {
			return err
		}
	}
	b.row("take, heartbeat, ack", perSecond(n, took), "at least 1,000/s")
	return nil
}

// store measures storing and reading a file.
func store(ctx context.Context, q *queue.Queue, content []byte) (put, get time.Duration, err error) {
	var puts, gets []time.Duration
	for i := range 5 {
		began := time.Now()
		if err := q.PutFile(ctx, fmt.Sprint("file", i), content); err != nil {
			return 0, 0, err
		}
		puts = append(puts, time.Since(began))
		began = time.Now()
		if _, err := q.File(ctx, fmt.Sprint("file", i)); err != nil {
			return 0, 0, err
		}
		gets = append(gets, time.Since(began))
	}
	return median(puts), median(gets), nil
}

func (b *bench) files(ctx context.Context) error {
	q, stop, err := b.open(ctx, "files")
	if err != nil {
		return err
	}
	defer stop()
	put, get, err := store(ctx, q, make([]byte, 5<<20))
	if err != nil {
		return err
	}
	b.row("5 MB to the store, and back", fmt.Sprint(put.Round(time.Millisecond), ", ", get.Round(time.Millisecond)), "under 200 ms, 100 ms")
	return nil
}

// takeover measures how long a task of a silent worker waits for another.
func (b *bench) takeover(ctx context.Context) error {
	dir, err := b.sub("takeover")
	if err != nil {
		return err
	}
	e, err := queue.Serve(dir, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer e.Close()
	o := e.Options()
	o.Lease = 5 * time.Second
	q, err := queue.Connect(ctx, o)
	if err != nil {
		return err
	}
	defer q.Close()
	if _, err := q.Submit(ctx, manyTasks(1), 0); err != nil {
		return err
	}
	item, err := q.Take(ctx, time.Minute)
	if err != nil || item == nil {
		return errors.Join(errors.New("no task"), err)
	}
	if err := item.Beat(ctx); err != nil {
		return err
	}
	began := time.Now()
	if item, err = q.Take(ctx, time.Minute); err != nil || item == nil {
		return errors.Join(errors.New("no takeover"), err)
	}
	b.row("takeover with a lease of 5 s", fmt.Sprint(time.Since(began).Round(10*time.Millisecond)), "under 6 s")
	return nil
}

// snapshots measures the second and later snapshots of a workspace with 30,000 files.
func (b *bench) snapshots(ctx context.Context) error {
	dir, err := b.sub("snapshots")
	if err != nil {
		return err
	}
	repo := filepath.Join(dir, "repo")
	for i := range 30_000 {
		path := filepath.Join(repo, fmt.Sprint("d", i/300), fmt.Sprint("f", i))
		if i%300 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprintln("line", i), 20)), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git: %w: %s", err, out)
		}
	}
	dirs, err := workspace.Open(filepath.Join(dir, "work"))
	if err != nil {
		return err
	}
	defer dirs.Close()
	space, err := dirs.Clone(ctx, repo, "")
	if err != nil {
		return err
	}
	var all []time.Duration
	for i := range 6 {
		if err := os.WriteFile(filepath.Join(space.Dir, fmt.Sprint("new", i)), []byte("new\n"), 0o600); err != nil {
			return err
		}
		began := time.Now()
		if _, err := space.Patch(ctx); err != nil {
			return err
		}
		if i > 0 {
			all = append(all, time.Since(began))
		}
	}
	b.row("later snapshots in 30,000 files", fmt.Sprint(median(all).Round(time.Millisecond)), "under 300 ms")
	return nil
}

func (b *bench) submit(ctx context.Context) error {
	q, stop, err := b.open(ctx, "submit")
	if err != nil {
		return err
	}
	defer stop()
	began := time.Now()
	if _, err := q.Submit(ctx, manyTasks(100_000), 0); err != nil {
		return err
	}
	b.row("100,000 tasks submitted", fmt.Sprint(time.Since(began).Round(100*time.Millisecond)), "under 60 s")
	return nil
}

// program measures the size of adze-fleet, and the memory of a worker that waits.
func (b *bench) program(ctx context.Context, binary string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return fmt.Errorf("%w; make fleet makes it", err)
	}
	b.row("adze-fleet", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "under 40 MB")
	dir, err := b.sub("program")
	if err != nil {
		return err
	}
	e, err := queue.Serve(filepath.Join(dir, "queue"), "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer e.Close()
	c := exec.CommandContext(ctx, binary, "worker", "--server", e.URL, "--dir", dir)
	c.Env = append(os.Environ(), "HOME="+dir, "ADZE_HOME="+filepath.Join(dir, ".adze"), "ADZE_FLEET_TOKEN="+e.Token,
		"OPENAI_BASE_URL=http://127.0.0.1:1/v1", "OPENAI_API_KEY=none", "OPENAI_MODEL=none")
	out, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() {
			return errors.New("the worker doesn't start")
		}
		if strings.Contains(lines.Text(), "is ready") {
			break
		}
	}
	time.Sleep(time.Second) // by then it waits for tasks
	b.row("a worker that waits, memory", fmt.Sprintf("%.1f MB", memory(fmt.Sprint(c.Process.Pid), "VmRSS")), "under 60 MB")
	return nil
}

// memory returns a value of /proc/PID/status in MB; 0 without one.
func memory(pid, name string) float64 {
	raw, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			var kb float64
			_, _ = fmt.Sscan(rest, &kb)
			return kb * 1024 / 1e6
		}
	}
	return 0
}
