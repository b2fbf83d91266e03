package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
)

// A subagent in the background that panics is reported like any other failure; the others continue.
func TestBackgroundThatPanics(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{Limit: 1}, turns{
		"break": {func(context.Context, func(...model.Event)) error { panic("broken model") }},
		"fine":  {stop("fine")},
	})
	if _, err := f.crew.Do(t.Context(), agent.Task{Description: "to break", Prompt: "break", Background: true}); err != nil {
		t.Fatal(err)
	}
	news := f.crew.Await(t.Context())
	if len(news) != 1 || !strings.HasSuffix(news[0], "(to break) finished: failed: broken model") {
		t.Errorf("news %q", news)
	}
	if r, err := f.crew.Do(t.Context(), agent.Task{Prompt: "fine"}); err != nil || !strings.HasPrefix(r.Text(), "fine\n") {
		t.Errorf("the next one: %q, %v", r.Text(), err)
	}
}

// The number of background subagents is limited, and long reports are cut.
func TestBackgroundInBounds(t *testing.T) {
	release := make(chan struct{})
	var tasks []string
	for range 12 {
		tasks = append(tasks, `{"prompt":"slow","background":true}`)
	}
	f := newOffice(t, agent.CrewOptions{}, turns{
		"go": {gives(tasks...), stop("done")},
		"slow": {func(_ context.Context, say func(...model.Event)) error {
			<-release
			say(model.Text(strings.Repeat("long ", 100_000)), model.End{Reason: model.Stop})
			return nil
		}},
	})
	got, _, err := f.run(t)
	if err != nil || strings.Count(got, "10 subagents are already running in the background") != 2 {
		t.Errorf("%s (%v)", got, err)
	}
	close(release)
	ended := 0
	for news := f.crew.Await(t.Context()); news != nil; news = f.crew.Await(t.Context()) {
		ended += len(news)
		for _, n := range news {
			if len(n) > 30_000 {
				t.Errorf("a report of %d bytes", len(n))
			}
		}
	}
	if ended != 10 {
		t.Errorf("%d reports", ended)
	}
}

// A subagent waits for its own background tasks: it has no later turn. The observer gets its name.
func TestBackgroundBelow(t *testing.T) {
	var mu sync.Mutex
	said := map[string]string{}
	f := newOffice(t, agent.CrewOptions{Observe: func(m agent.Member, e agent.Event) {
		if a, ok := e.(agent.Answered); ok && a.Reason == model.Stop {
			mu.Lock()
			defer mu.Unlock()
			said[m.Path] = fmt.Sprintf("%s of %s (%s): %s", m.Call.ID, m.Role, m.Description, a.Message.Text())
		}
	}}, turns{
		"go":  {gives(`{"prompt":"mid"}`), stop("done")},
		"mid": {gives(`{"prompt":"low","background":true,"type":"explore"}`), stop("all")},
		"low": {stop("found")},
	})
	got, _, err := f.run(t)
	if err != nil || !strings.Contains(got, "c0 task gives: all\n") {
		t.Errorf("%s (%v)", got, err)
	}
	if f.crew.News() != nil {
		t.Error("it was told to the first agent")
	}
	if said["general-purpose-1/explore-1"] != "c0 of explore (to low): found" || said["general-purpose-1"] != "c0 of general-purpose (to mid): all" {
		t.Errorf("told %q", said)
	}
}

// A background task can be queried by name: its progress, its end, and a stop that stops everything it has started.
func TestBackgroundJob(t *testing.T) {
	release := make(chan struct{})
	f := newOffice(t, agent.CrewOptions{}, turns{
		"go":   {gives(`{"prompt":"wait","background":true}`, `{"prompt":"slow","background":true,"type":"explore"}`), stop("done")},
		"wait": {says(model.Text("looking"), call("1", "wait", `{"name":"x"}`), callsEnd)},
		"slow": {func(_ context.Context, say func(...model.Event)) error {
			<-release
			say(model.Text("found it"), model.End{Reason: model.Stop})
			return nil
		}},
	})
	if _, _, err := f.run(t); err != nil {
		t.Fatal(err)
	}
	<-f.bench.waiting
	if _, err := f.crew.Job(t.Context(), "nobody-1"); err == nil || !strings.Contains(err.Error(), "(running or finished: explore-1, general-purpose-1)") {
		t.Errorf("an unknown name: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	j, err := f.crew.Job(soon, "General-Purpose-1")
	if err != nil || !j.Running || j.Report != "" || !strings.Contains(j.Display.Markdown(), "- wait: executing") {
		t.Errorf("at work: %+v, %v", j, err)
	}
	start := time.Now()
	j, err = f.crew.Stop(t.Context(), "general-purpose-1")
	if err != nil || j.Running || !strings.HasPrefix(j.Report, "Background subagent general-purpose-1 (to wait) finished: stopped. Report:\n\nlooking\n") {
		t.Errorf("stopped: %+v, %v", j, err)
	}
	if took := time.Since(start); took > stopTime {
		t.Errorf("it took %v", took)
	}
	if again, err := f.crew.Stop(t.Context(), "general-purpose-1"); err != nil || again.Report != j.Report {
		t.Errorf("stopped again: %+v, %v", again, err)
	}
	close(release)
	if j, err = f.crew.Job(t.Context(), "explore-1"); err != nil || j.Running || !strings.Contains(j.Report, "found it") {
		t.Errorf("ended: %+v, %v", j, err)
	}
	if news := f.crew.Await(t.Context()); news != nil {
		t.Errorf("what is known is told again: %q", news)
	}
}

// A task that is stopped before its turn reports that.
func TestBackgroundStoppedBeforeItBegan(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{Limit: 1}, turns{"wait": {says(call("1", "wait", `{"name":"x"}`), callsEnd)}})
	for range 2 {
		if _, err := f.crew.Do(t.Context(), agent.Task{Description: "wait", Prompt: "wait", Background: true}); err != nil {
			t.Fatal(err)
		}
	}
	<-f.bench.waiting
	reports := ""
	var jobs []agent.Job
	waittest.Until(t, "one of them has begun", func() bool {
		jobs = f.crew.Jobs()
		return slices.ContainsFunc(jobs, func(j agent.Job) bool { return j.Display.Summary.Turns > 0 })
	})
	slices.SortFunc(jobs, func(a, b agent.Job) int { return a.Display.Summary.Turns - b.Display.Summary.Turns })
	for _, j := range jobs { // first the one that waits for its place
		stopped, err := f.crew.Stop(t.Context(), j.ID)
		if err != nil {
			t.Fatal(err)
		}
		reports += stopped.Report
	}
	if !strings.Contains(reports, "finished: stopped. It had not started.") || strings.Count(reports, "finished: stopped") != 2 {
		t.Error(reports)
	}
}
