package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// A server that is started, read while it runs, and stopped.
func TestJobs(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{State: t.TempDir()})
	news := make(chan Job, 9)
	jobs := NewJobs(r, func(j Job) { news <- j })
	defer jobs.Close()
	env, tag := tagged(t)
	began := time.Now()
	id, err := jobs.Start(Command{Line: "n=0; while :; do echo request $n; n=$((n+1)); sleep 0.02; done", Env: env}, "server")
	if err != nil || id != "bg_1" || time.Since(began) > slack(100*time.Millisecond) {
		t.Fatal(id, err, time.Since(began))
	}
	var all strings.Builder
	var next int64
	waittest.Until(t, "the server has had 10 requests", func() bool {
		p, j, err := jobs.Read(id, next, 0)
		if err != nil || !j.Running || p.From != next || p.Skipped != 0 {
			t.Fatal(p, j, err)
		}
		all.WriteString(p.Text)
		next = p.Next
		return strings.Count(all.String(), "\n") >= 10
	})
	for i, l := range strings.Split(strings.TrimSpace(all.String()), "\n") {
		if l != fmt.Sprintf("request %d", i) {
			t.Fatalf("line %d is %q", i, l)
		}
	}
	if news := jobs.News(); news != nil {
		t.Errorf("news of a running job: %v", news)
	}
	j, err := jobs.Stop(id)
	if err != nil || j.Running || j.Outcome.Ended != Stopped {
		t.Errorf("%+v, %v", j, err)
	}
	if left := tagsLeft(t, tag); left != nil {
		t.Errorf("left %q", left)
	}
	if j := <-news; j.ID != id || j.Label != "server" {
		t.Errorf("%+v", j)
	}
	if p, _, err := jobs.Read(id, 0, 0); err != nil || !strings.HasPrefix(p.Text, "request 0\n") {
		t.Errorf("a stopped job cannot be read: %+v, %v", p, err)
	}
}

func TestJobsNews(t *testing.T) {
	t.Parallel()
	jobs := NewJobs(opened(t, Options{}), nil)
	defer jobs.Close()
	one, _ := jobs.Start(Command{Line: "echo a; exit 3"}, "one")
	two, _ := jobs.Start(Command{Line: "sleep 60"}, "two")
	waittest.Until(t, "the first job exits", func() bool { return !jobs.List()[0].Running })
	news := jobs.News()
	if len(news) != 1 || news[0].ID != one || news[0].Outcome.Exit != 3 || news[0].Outcome.Output.Head != "a\n" {
		t.Errorf("%+v", news)
	}
	if _, err := jobs.Stop(two); err != nil {
		t.Error(err)
	}
	if news := jobs.News(); news != nil {
		t.Errorf("reported twice, or for a stopped job: %+v", news)
	}
	if _, err := jobs.Stop("bg_9"); !errors.Is(err, ErrNoJob) || !strings.Contains(err.Error(), "bg_1, bg_2") {
		t.Error(err)
	}
	if _, err := jobs.Start(Command{Line: "pwd", Dir: "/missing"}, ""); err == nil {
		t.Error("a missing directory started")
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	jobs := NewJobs(r, nil)
	defer jobs.Close()
	gate := t.TempDir() + "/go"
	ctx, cancel := context.WithCancel(context.Background())
	p, err := r.Start(ctx, Command{Line: "echo before; while [ ! -e " + gate + " ]; do sleep 0.01; done; echo after", Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the command prints", func() bool { return p.Read(0, 0).Total > 0 })
	id, err := jobs.Adopt(p, "moved")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	os.WriteFile(gate, nil, 0o600)
	if o := ended(t, p); o.Ended != Exited {
		t.Errorf("%+v", o)
	}
	if piece, j, err := jobs.Read(id, 0, 0); err != nil || j.Running || piece.Text != "before\nafter\n" {
		t.Errorf("%+v, %+v, %v", piece, j, err)
	}
	// A command that has exited becomes a finished job.
	p, _ = r.Start(context.Background(), Command{Line: "echo x"})
	ended(t, p)
	if id, err = jobs.Adopt(p, "late"); err != nil || jobs.List()[1].Running {
		t.Error(id, err)
	}
}

func TestJobsEndWithClose(t *testing.T) {
	t.Parallel()
	r := opened(t, Options{})
	jobs := NewJobs(r, nil)
	env, tag := tagged(t)
	for range 5 {
		if _, err := jobs.Start(Command{Line: "trap '' TERM; setsid sleep 60 & sleep 60", Env: env}, ""); err != nil {
			t.Fatal(err)
		}
	}
	jobs.Close()
	if left := tagsLeft(t, tag); left != nil {
		t.Errorf("left %q", left)
	}
	if _, err := jobs.Start(Command{Line: "true"}, ""); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestJobTableIsBounded(t *testing.T) {
	jobs := NewJobs(opened(t, Options{}), nil)
	defer jobs.Close()
	for range keptJobs + 8 {
		id, err := jobs.Start(Command{Line: "true"}, "")
		if err != nil {
			t.Fatal(err)
		}
		one, _ := jobs.find(id)
		within(t, one.process, one.process.Done())
	}
	all := jobs.List()
	if len(all) > keptJobs+1 || all[len(all)-1].ID != fmt.Sprintf("bg_%d", keptJobs+8) {
		t.Errorf("%d jobs, the last %s", len(all), all[len(all)-1].ID)
	}
}

// Pieces end at line endings, lost bytes are counted, and a negative offset reads
// the end.
func TestRead(t *testing.T) {
	r := opened(t, Options{})
	p, err := r.Start(context.Background(), Command{Line: "seq -w 1 99999"})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, p)
	const total = 99999 * 6
	first := p.Read(0, 100)
	lost := first.From // a whole line, as the ring has it
	if d := cmp.Diff(Piece{Text: first.Text, From: lost, Next: lost + 96, Total: total, Skipped: lost}, first); d != "" || lost%6 != 0 || lost-(total-readOn) > 6 {
		t.Error(lost, d)
	}
	if len(first.Text) != 96 {
		t.Errorf("%+v", first)
	}
	second := p.Read(first.Next, 12)
	if second.From != first.Next || second.Skipped != 0 || len(second.Text) != 12 {
		t.Errorf("%+v", second)
	}
	if end := p.Read(-1, 12); end.Text != "99998\n99999\n" || end.Next != total || end.Skipped != 0 {
		t.Errorf("%+v", end)
	}
	if p, _ := r.Start(context.Background(), Command{Line: "echo a; echo b"}); ended(t, p).Exit != 0 || p.Read(-1, 99).Text != "a\nb\n" {
		t.Errorf("%+v", p.Read(-1, 99))
	}
	if after := p.Read(1<<40, 10); after.Text != "" || after.Next != total {
		t.Errorf("%+v", after)
	}
}
