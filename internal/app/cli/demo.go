package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/demo"
	"github.com/adze-dev/adze/internal/app/doctor"
	"github.com/adze-dev/adze/internal/app/files"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/tui"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/environ"
)

// runDemo runs a recorded model with the real agent loop and tools, in a temporary directory, and checks the resulting
// files. In a terminal that is a conversation on the screen.
func runDemo(ctx context.Context, env Env, o *options, _ []string) (err error) {
	if runtime.GOOS == "windows" {
		r := proc.Open(proc.Options{})
		shell := r.Shell()
		if err := r.Close(); err != nil || !shell.Bash {
			return exitf(exitError, "the demo's commands need bash, but commands run with %s\nInstall Git for Windows.",
				shell.Path)
		}
	}
	p, err := demo.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	d := &demonstration{p, env}
	o.cwd, o.mode, o.yolo = d.Dir, permission.Default, false
	if demoOnScreen(env) {
		return d.show(ctx, o)
	}
	return d.print(ctx, o)
}

// print runs the demo and prints what happens.
func (d *demonstration) print(ctx context.Context, o *options) error {
	s, err := openSession(d.quiet(), o, session.Options{Record: &recording.Options{}})
	if err != nil {
		return err
	}
	defer closeSession(d.env, s)
	out := &demo.Narrator{Out: d.env.Stdout}
	rules := approval.Rules{Policy: s.Policy}
	s.Executor.Ask = rules.Asker(out.Answer)
	if d.env.Terminal {
		s.Executor.Ask, s.Executor.AskInTurn = rules.Asker(d.env.asker()), true
	}
	m, err := d.Model()
	if err != nil {
		return err
	}
	out.Say("Demo: model responses are prerecorded; everything else is real (agent loop, permissions, tools,")
	out.Say("files in %s, deleted afterwards).", d.Dir)
	out.Say("%s\n", doctor.Trials(ctx, s))
	out.Say("task      %s", demo.Task)
	talk := s.Converse(ctx, session.ConversationOptions{Model: m, Limits: limits(o), Observe: out.Event})
	if _, err := talk.Run(ctx, model.Text(demo.Task)); err != nil {
		return fmt.Errorf("demo failed: %w", err)
	}
	if err := d.Check(false); err != nil {
		return err
	}
	undone, _, err := slash.New(s, slash.Lasts).Expand(ctx, "/undo --yes")
	if err != nil {
		return fmt.Errorf("demo failed: %w", err)
	}
	out.Say("user      /undo --yes\n          %s", strings.ReplaceAll(undone.Print, "\n", "\n          "))
	if err := d.Check(true); err != nil {
		return err
	}
	out.Say("\nDone: the command's change was kept, and undone. " + demo.Next)
	return nil
}

// demoOnScreen reports whether the demo is a conversation on the screen: there is a terminal that can redraw, and the
// user hasn't chosen labeled lines.
func demoOnScreen(env Env) bool {
	_, in := console.File(env.Stdin)
	_, out := console.File(env.Stdout)
	if !in || !out || env.Getenv("TERM") == "dumb" {
		return false
	}
	directory, err := env.session().Directory(env.Dir)
	if err != nil {
		return true // the demo needs no settings
	}
	set, _, err := directory.Settings()
	return err != nil || !set.UI.ScreenReader
}

// show runs the demo on the screen. The conversation stays open until the user quits.
func (d *demonstration) show(ctx context.Context, o *options) error {
	in, _ := console.File(d.env.Stdin)
	out, _ := console.File(d.env.Stdout)
	m, err := d.Model()
	if err != nil {
		return err
	}
	h := &screenHost{env: d.quiet(), options: o, all: &hosts{}, opened: m}
	h.env.notify = h.note
	s, err := openSession(h.env, o, session.Options{Interactive: true, Record: &recording.Options{}})
	if err != nil {
		return err
	}
	h.session, h.files = s, files.New(s.Directory.Path)
	h.commands = slash.New(s, slash.Lasts|slash.Quits|slash.Answers|slash.Chooses|slash.Copies|slash.Draws)
	h.all.follow(h)
	defer h.all.end()
	host := &demoHost{screenHost: h, demo: d}
	h.front = tui.New(tui.Options{
		In: in, Out: out, Host: host, Prompt: demo.Task,
		Header: []tui.Row{
			{Label: "Adze", Text: "demo: model responses are prerecorded; everything else is real"},
			{Label: "files", Text: d.Dir + ", deleted when you quit"},
			{Label: "trials", Text: strings.TrimPrefix(doctor.Trials(ctx, s), "trials: ")},
			{Label: "quit", Text: "Ctrl+D, at any time"},
		},
		NoColor: d.env.Getenv("NO_COLOR") != "", Terminal: d.env.Getenv, Editor: d.env.streams().Editor(),
	})
	h.relay(h.front.Tell)
	s.Executor.Ask = s.Asking(h.front.Ask)
	return errors.Join(h.front.Run(ctx), host.failed)
}

// demoHost is the session of the demo: its model can answer one prompt.
type demoHost struct {
	*screenHost
	demo   *demonstration
	ran    atomic.Bool
	failed error // a step didn't do what it says; set before the screen ends
}

// Status has the name of the recorded model.
func (h *demoHost) Status() tui.Status {
	st := h.screenHost.Status()
	st.Model = "recorded"
	return st
}

var errDemoEnds = errors.New("the demo's model is prerecorded and has no more answers\nQuit with Ctrl+D. Then " +
	"connect a model (adze doctor) and run adze.")

// Run runs the task, and commands.
func (h *demoHost) Run(ctx context.Context, typed string) (tui.Reply, error) {
	_, isCommand := h.commands.Find(typed)
	if isCommand || strings.HasPrefix(typed, "!") {
		return h.screenHost.Run(ctx, typed)
	}
	if h.ran.Swap(true) {
		return tui.Reply{}, errDemoEnds
	}
	reply, err := h.screenHost.Run(ctx, typed)
	if err != nil {
		return reply, err
	}
	if h.failed = h.demo.Check(false); h.failed != nil {
		return reply, h.failed
	}
	reply.Text = "Done. Undo the change of the command: press Enter, then y. " + demo.Next
	reply.Edit = "/undo"
	return reply, nil
}

// demonstration is the demo in this environment.
type demonstration struct {
	*demo.Project
	env Env
}

// quiet is the environment of a machine with nothing configured: the demo is the same everywhere.
func (d *demonstration) quiet() Env {
	env := d.env
	env.Home = d.Home
	path := environ.Path(d.env.Getenv("PATH"), contextfiles.Root(d.env.Dir, d.env.Home)) // nothing of the project runs
	env.Getenv = func(string) string { return "" }
	env.Terminal = true // the demo answers what it asks
	env.Environ = []string{"PATH=" + path, "HOME=" + env.Home, "LC_ALL=C"}
	return env
}
