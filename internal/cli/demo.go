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
	"time"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/permission"
)

//go:embed demo
var demoFiles embed.FS

const demoTask = "greet.sh should print \"Hello, world!\" when called without a name, as README.txt says.\nFix it, following the style guide at %s"

// demoEnd is the expected content of the files after the demo.
var demoEnd = map[string]string{
	"greet.sh":    "#!/bin/sh\n# Prints a greeting for NAME, or for the world without one.\necho \"Hello, ${1:-world}!\"\n",
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
	o.cwd, o.mode, o.yolo = d.work, string(permission.Plan), false
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
	scratch = session.Canonical(scratch)
	d = &demo{env: env, scratch: scratch, work: filepath.Join(scratch, "greeting"), page: page, titles: map[string]string{}}
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
	s.Executor.Ask = d.answer
	if d.env.Terminal {
		s.Executor.Ask, s.Executor.AskInTurn = newTerminal(d.env, newScreen(d.env), s.Policy).ask, true
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
const demoDone = "Done: all files match the task. Next: connect a model (adze doctor) and run adze -p \"…\"."

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

// layOut copies the demo's project, and allows its page in settings: web_fetch denies private addresses otherwise. The demo
// looks the same everywhere, so it tries no commands.
func layOut(work, scratch, host string) error {
	project, err := fs.Sub(demoFiles, "demo/project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(work, project); err != nil {
		return err
	}
	allowed, err := json.Marshal(map[string]any{"tools": map[string]any{"trial": "off", "webFetch": map[string]any{"allowPrivateHosts": []string{host}}}})
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
	return replay.Read(f, "demo/recording.jsonl", replay.Options{Vars: map[string]string{"$WORK": d.work, "$PAGE": d.page.String()}})
}
