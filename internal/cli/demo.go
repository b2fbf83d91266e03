package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/tool"
)

//go:embed demo
var demoFiles embed.FS

const demoTask = "greet.sh should greet the world when nobody is named, as README.txt says. Fix it, and note the change in CHANGES.txt."

// demoEnd is how the task says that the files end.
var demoEnd = map[string]string{
	"greet.sh":    "#!/bin/sh\n# Greets whoever is named, or the world.\necho \"Hello, ${1:-world}!\"\n",
	"CHANGES.txt": "greet.sh greets the world when nobody is named.\n",
}

// runDemo plays a recorded model through the real loop and the real tools, in a scratch folder, and checks the files
// in the end.
func runDemo(ctx context.Context, env Env, o *options, words []string) (err error) {
	if err := takes(words, 0, "demo"); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "adze-demo-")
	if err != nil {
		return fmt.Errorf("make a scratch folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	scratch = canonical(scratch)
	work := filepath.Join(scratch, "greeting")
	if err := layOut(work); err != nil {
		return fmt.Errorf("lay out the demo: %w", err)
	}
	d := &demo{env: env, work: work, titles: map[string]string{}}
	o.cwd = work
	s, err := openSession(d.quiet(scratch), o, manyCalls)
	if err != nil {
		return err
	}
	defer s.close(env)
	s.exec.Ask = d.answer
	if env.Terminal {
		s.exec.Ask = newTerminal(env, s.policy).ask
	}
	m, err := demoModel(work)
	if err != nil {
		return err
	}
	d.say("A demonstration. The model's words are RECORDED; the loop, the policy, the tools and the files are REAL,")
	d.say("in the scratch folder %s, which is removed at the end.\n", work)
	d.say("task      %s\n", demoTask)
	a := agent.New(agent.Options{
		Model: m, Executor: s.exec, Observe: d.event,
		System: agent.SystemPrompt(agent.Surroundings{Workspace: work, Date: time.Now()}),
	})
	if _, err := a.Run(ctx, model.Text(demoTask)); err != nil {
		return fmt.Errorf("play the demo: %w", err)
	}
	return d.check()
}

// layOut copies the demo's project.
func layOut(dir string) error {
	project, err := fs.Sub(demoFiles, "demo/project")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, project)
}

func demoModel(work string) (*replay.Model, error) {
	f, err := demoFiles.Open("demo/recording.jsonl")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return replay.Read(f, "demo/recording.jsonl", replay.Options{Vars: map[string]string{"$WORK": work}})
}

// demo tells what happens as it happens.
type demo struct {
	env      Env
	work     string
	diffs    []string
	mu       sync.Mutex // questions come while calls run
	speaking bool
	titles   map[string]string // of running calls, by id
}

// quiet is the environment of a machine with nothing configured: the demo is the same everywhere.
func (d *demo) quiet(scratch string) Env {
	env := d.env
	env.Home = filepath.Join(scratch, "home")
	path := d.env.Getenv("PATH")
	env.Getenv = func(string) string { return "" }
	env.Environ = []string{"PATH=" + path, "HOME=" + env.Home, "LC_ALL=C"}
	return env
}

func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.speaking {
		fmt.Fprintln(d.env.Stdout)
		d.speaking = false
	}
	fmt.Fprintf(d.env.Stdout, format+"\n", args...)
}

// speak prints the model's words as they come.
func (d *demo) speak(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.speaking {
		fmt.Fprint(d.env.Stdout, "recorded  ")
		d.speaking = true
	}
	fmt.Fprint(d.env.Stdout, strings.ReplaceAll(text, "\n", "\n          "))
}

func (d *demo) event(e agent.Event) {
	switch e := e.(type) {
	case agent.Said:
		if text, ok := e.Event.(model.Text); ok {
			d.speak(string(text))
		}
	case agent.Step:
		if e.Stage == tool.Running {
			d.mu.Lock()
			d.titles[e.Request.Call.ID] = e.Request.Declaration.Title() + ": " + e.Request.Description
			d.mu.Unlock()
		}
	case agent.Responded: // in the order of the calls, which ran at the same time
		for _, o := range e.Outcomes {
			d.ended(o)
		}
	}
}

func (d *demo) ended(o tool.Outcome) {
	d.mu.Lock()
	title := d.titles[o.Call.ID]
	d.mu.Unlock()
	d.say("real      %s", title)
	if o.Error != nil {
		d.say("          %s: %s", o.Status, tool.Visible(o.Error.Message))
		return
	}
	if diff, ok := o.Result.Display.(tool.FileDiff); ok {
		d.diffs = append(d.diffs, diff.Diff)
		return
	}
	for _, line := range strings.Split(strings.TrimRight(o.Result.Text(), "\n"), "\n") {
		d.say("            %s", tool.Visible(line))
	}
}

// answer says yes in the place of a person, in the open.
func (d *demo) answer(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	text := question(r, why, nil) + "\nGo ahead? yes (said by the demo: there is no terminal to ask at)"
	d.say("question  %s", strings.ReplaceAll(text, "\n", "\n          "))
	return tool.Decision{Verdict: tool.Allow}, nil
}

// check compares the files with what the task says, and shows what was changed.
func (d *demo) check() error {
	d.say("\nWhat has changed:\n")
	for _, diff := range d.diffs {
		d.say("%s", strings.TrimRight(tool.Visible(diff), "\n"))
	}
	for name, want := range demoEnd {
		got, err := os.ReadFile(filepath.Join(d.work, name))
		if err != nil || string(got) != want {
			return exitf(exitError, "the demo did not end well: %s is not as the task says (%v)", name, err)
		}
	}
	d.say("\nThe files are as the task says. Now with a model of your own: adze --help")
	return nil
}
