package cli

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/files"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/environ"
	"github.com/adze-dev/adze/tool"
)

//go:embed demo
var demoFiles embed.FS

const demoTask = "greet.sh should print \"Hello, world!\" when called without a name, as README.txt says.\nFix it, " +
	"following the style guide at %s"

// demoEnd is the expected content of the files after the demo.
var demoEnd = map[string]string{
	"greet.sh": "#!/bin/sh\n# Prints a greeting for NAME, or for the world without one.\necho \"Hello, " +
		"${1:-world}!\"\n",
	"CHANGES.txt": "greet.sh prints \"Hello, world!\" when called without a name.\n",
}

// runDemo runs a recorded model with the real agent loop and tools, in a temporary directory, and checks the resulting
// files. In a terminal that is a conversation on the screen.
func runDemo(ctx context.Context, env Env, o *options, words []string) (err error) {
	if err := takes(words, 0, "demo"); err != nil {
		return err
	}
	d, end, err := prepareDemo(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	o.cwd, o.mode, o.yolo = d.work, permission.Plan, false
	if demoOnScreen(env) {
		return d.show(ctx, o)
	}
	return d.print(ctx, o, session.Options{})
}

// prepareDemo makes the demo's directory and serves its page. end removes both.
func prepareDemo(env Env) (d *demo, end func() error, err error) {
	scratch, err := os.MkdirTemp("", "adze-demo-")
	if err != nil {
		return nil, nil, fmt.Errorf("create a temporary directory for the demo: %w", err)
	}
	page, closePage, err := servePage()
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(scratch))
	}
	end = func() error {
		closePage()
		return os.RemoveAll(scratch)
	}
	scratch = project.Canonical(scratch)
	d = &demo{
		env: env, scratch: scratch, work: filepath.Join(scratch, "greeting"), page: page, titles: map[string]string{},
	}
	if err := layOut(d.work, scratch, page.Host); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("set up the demo: %w", err), end())
	}
	return d, end, nil
}

// print runs the demo and prints what happens.
func (d *demo) print(ctx context.Context, o *options, so session.Options) error {
	s, err := openSession(d.quiet(), o, so)
	if err != nil {
		return err
	}
	defer closeSession(d.env, s)
	rules := approval.Rules{Policy: s.Policy}
	s.Executor.Ask = rules.Asker(d.answer)
	if d.env.Terminal {
		s.Executor.Ask, s.Executor.AskInTurn = rules.Asker(newTerminal(d.env, newScreen(d.env)).ask), true
	}
	m, err := d.model()
	if err != nil {
		return err
	}
	d.say("Demo: model responses are prerecorded; everything else is real (agent loop, permissions, tools,")
	d.say("files in %s, deleted afterwards).", d.work)
	d.say("It starts in plan mode: read-only until you approve a plan.\n")
	d.say("task      %s", strings.ReplaceAll(d.task(), "\n", "\n          "))
	d.say("          (a page that the demo serves from this machine)\n")
	talk := s.Converse(ctx, session.ConversationOptions{Model: m, Limits: limits(o), Observe: d.event, Below: d.below})
	if _, err := talk.Run(ctx, model.Text(d.task())); err != nil {
		return fmt.Errorf("demo failed: %w", err)
	}
	if err := d.check(); err != nil {
		return err
	}
	d.say("\n" + demoDone)
	return nil
}

// demoDone is what a demo ends with.
const demoDone = "Done: all files match the task. Next: connect a model (adze doctor), then run adze in a project."

// task is the prompt.
func (d *demo) task() string { return fmt.Sprintf(demoTask, d.page) }

// pageURL is where the demo's own page is.
type pageURL struct{ Host string }

func (p pageURL) String() string { return "http://" + p.Host + "/rules.html" }

// servePage serves the style guide on this machine, so that the demo needs no network.
func servePage() (pageURL, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return pageURL{}, nil, fmt.Errorf("serve the demo's page: %w", err)
	}
	files, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return pageURL{}, nil, err
	}
	server := &http.Server{Handler: http.FileServerFS(files), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it ends with Close and says so
	}()
	return pageURL{l.Addr().String()}, func() { _ = server.Close(); <-ended }, nil
}

// layOut copies the demo's project, and allows its page in settings: web_fetch denies private addresses otherwise. The
// demo looks the same everywhere, so it tries no commands.
func layOut(work, scratch, host string) error {
	project, err := fs.Sub(demoFiles, "demo/project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(work, project); err != nil {
		return err
	}
	allowed, err := json.Marshal(map[string]any{"tools": map[string]any{
		"trial": "off", "webFetch": map[string]any{"allowPrivateHosts": []string{host}},
	}})
	if err != nil {
		return err
	}
	home := filepath.Join(scratch, "home", ".adze")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "settings.json"), allowed, 0o600)
}

// model is the recorded model.
func (d *demo) model() (*replay.Model, error) {
	f, err := demoFiles.Open("demo/recording.jsonl")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return replay.Read(f, "demo/recording.jsonl",
		replay.Options{Vars: map[string]string{"$WORK": d.work, "$PAGE": d.page.String()}})
}

// demoOnScreen reports whether the demo is a conversation on the screen: there is a terminal that can redraw, and the
// user hasn't chosen labeled lines.
func demoOnScreen(env Env) bool {
	_, in := terminalFile(env.Stdin)
	_, out := terminalFile(env.Stdout)
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
func (d *demo) show(ctx context.Context, o *options) error {
	in, _ := terminalFile(d.env.Stdin)
	out, _ := terminalFile(d.env.Stdout)
	m, err := d.model()
	if err != nil {
		return err
	}
	h := &screenHost{env: d.quiet(), options: o, all: &hosts{}, opened: m}
	h.env.notify = h.note
	s, err := openSession(h.env, o, session.Options{Interactive: true, Record: &session.Recording{}})
	if err != nil {
		return err
	}
	h.session, h.files = s, files.New(s.Directory.Path)
	h.commands = slash.New(s, slash.Lasts|slash.Quits|slash.Answers|slash.Chooses|slash.Copies|slash.Draws)
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
	if err := h.demo.check(); err != nil {
		return reply, err
	}
	reply.Text = demoDone
	return reply, nil
}

// demo prints what happens as it happens.
type demo struct {
	env      Env
	scratch  string // everything is in it
	work     string
	page     pageURL
	mu       sync.Mutex // questions come while calls run
	speaking bool
	titles   map[string]string // of running calls, by agent and id
}

// quiet is the environment of a machine with nothing configured: the demo is the same everywhere.
func (d *demo) quiet() Env {
	env := d.env
	env.Home = filepath.Join(d.scratch, "home")
	path := environ.Path(d.env.Getenv("PATH"), contextfiles.Root(d.env.Dir, d.env.Home)) // nothing of the project runs
	env.Getenv = func(string) string { return "" }
	env.Terminal = true // the demo answers what it asks
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
			d.running(e.Request)
		}
	case agent.Responded: // in the order of the calls, which ran at the same time
		for _, o := range e.Outcomes {
			d.ended(o)
		}
	}
}

// running records the title of a call. That of a subagent is printed at once, above what the subagent does.
func (d *demo) running(r tool.Request) {
	title := r.Declaration.Title() + ": " + r.Description
	if r.Declaration.Needs == tool.NeedsModel {
		d.say("real      %s", title)
		title = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.titles[r.Call.By+"/"+r.Call.ID] = title
}

func (d *demo) title(c tool.Call) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.titles[c.By+"/"+c.ID]
}

// below prints what a subagent has done.
func (d *demo) below(m agent.Member, e agent.Event) {
	if r, ok := e.(agent.Responded); ok {
		for _, o := range r.Outcomes {
			d.say("            %s  %s", m.Path, d.title(o.Call))
		}
	}
}

// maxLines is how many lines of a result are printed.
const maxLines = 12

func (d *demo) ended(o tool.Outcome) {
	if title := d.title(o.Call); title != "" {
		d.say("real      %s", title)
	}
	if o.Error != nil {
		d.say("          %s: %s", o.Status, tool.Visible(o.Error.Message))
		return
	}
	text := o.Result.Text()
	switch shown := o.Result.Display.(type) {
	case tool.FileDiff: // it was seen in the question
		return
	case builtin.TodoList:
		text = checklist(shown, "")
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == maxLines {
			d.say("            … %d more lines", len(lines)-i)
			break
		}
		d.say("            %s", tool.Visible(line))
	}
}

// answer approves a call in place of a user, and shows that it did.
func (d *demo) answer(_ context.Context, q *approval.Question) (tool.Decision, error) {
	text := drawn(q, nil, cell.Line.String) + "\nAllow? yes (answered by the demo)"
	d.say("question  %s", strings.ReplaceAll(text, "\n", "\n          "))
	return tool.Decision{Verdict: tool.Allow}, nil
}

// check compares the files with the task.
func (d *demo) check() error {
	for name, want := range demoEnd {
		got, err := os.ReadFile(filepath.Join(d.work, name))
		if err != nil || string(got) != want {
			return exitf(exitError, "demo failed: %s doesn't have the expected content (did you deny a step?)", name)
		}
	}
	return nil
}
