package cli

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/tui"
)

// demoOnScreen reports whether the demo is a conversation on the screen: there is a terminal that can redraw, and the user
// hasn't chosen labelled lines.
func demoOnScreen(env Env) bool {
	_, in := terminalFile(env.Stdin)
	_, out := terminalFile(env.Stdout)
	if !in || !out || env.Getenv("TERM") == "dumb" {
		return false
	}
	folder, err := env.session().Folder(env.Dir)
	if err != nil {
		return true // the demo needs no settings
	}
	set, _, err := folder.Settings()
	return err != nil || !set.UI.ScreenReader
}

// show runs the demo on the screen. The conversation stays open until the user quits.
func (d *demo) show(ctx context.Context, o *options) error {
	in, _ := terminalFile(d.env.Stdin)
	out, _ := terminalFile(d.env.Stdout)
	m, err := d.model()
	if err != nil {
		return err
	}
	h := &screenHost{env: d.quiet(), options: o, all: &hosts{}, opened: m}
	h.env.notify = h.note
	h.can = session.Lasts | session.Quits | session.Answers | session.Chooses | session.Copies | session.Draws
	s, err := openSession(h.env, o, session.Options{Front: h.can, Record: &session.Recording{}})
	if err != nil {
		return err
	}
	h.session, h.files = s, newFileList(s)
	h.all.follow(h)
	defer h.all.end()
	h.front = tui.New(tui.Options{
		In: in, Out: out, Host: &demoHost{screenHost: h, demo: d}, Prompt: d.task(),
		Header: []tui.Row{
			{Label: "Adze", Text: "demo: model responses are prerecorded; everything else is real"},
			{Label: "files", Text: d.work + ", deleted when you quit"},
			{Label: "mode", Text: "plan: read-only until you approve a plan"},
			{Label: "quit", Text: "Ctrl+D, at any time"},
		},
		NoColor: d.env.Getenv("NO_COLOR") != "", Terminal: d.env.Getenv, Editor: editorOf(d.env),
	})
	h.relay(h.front.Tell)
	s.Executor.Ask = s.Asking(h.front.Ask)
	return h.front.Run(ctx)
}

// demoHost is the session of the demo: its model can answer one prompt.
type demoHost struct {
	*screenHost
	demo *demo
	ran  atomic.Bool
}

// Status has the name of the recorded model.
func (h *demoHost) Status() tui.Status {
	st := h.screenHost.Status()
	st.Model = "recorded"
	return st
}

var errDemoEnds = errors.New("the demo's model is prerecorded and has no more answers\nQuit with Ctrl+D. Then connect a model (adze doctor) and run adze.")

// Run runs the task, and commands.
func (h *demoHost) Run(ctx context.Context, typed string) (tui.Reply, error) {
	_, isCommand := h.session.FindSlash(typed)
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
	if err := h.demo.check(); err != nil {
		return reply, err
	}
	reply.Text = demoDone
	return reply, nil
}
