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
// files.
func runDemo(ctx context.Context, env Env, o *options, words []string) (err error) {
	if err := takes(words, 0, "demo"); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "adze-demo-")
	if err != nil {
		return fmt.Errorf("create a temporary directory for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	scratch = session.Canonical(scratch)
	page, closePage, err := servePage()
	if err != nil {
		return err
	}
	defer closePage()
	d := &demo{env: env, work: filepath.Join(scratch, "greeting"), titles: map[string]string{}}
	if err := layOut(d.work, scratch, page.Host); err != nil {
		return fmt.Errorf("set up the demo: %w", err)
	}
	o.cwd, o.mode, o.yolo = d.work, string(permission.Plan), false
	s, err := openSession(d.quiet(scratch), o, session.Options{})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	s.Executor.Ask = d.answer
	if env.Terminal {
		s.Executor.Ask, s.Executor.AskInTurn = newTerminal(env, newScreen(env), s.Policy).ask, true
	}
	m, err := demoModel(map[string]string{"$WORK": d.work, "$PAGE": page.String()})
	if err != nil {
		return err
	}
	d.say("Demo: model responses are prerecorded; everything else is real (agent loop, permissions, tools,")
	d.say("files in %s, deleted afterwards).", d.work)
	d.say("It starts in plan mode: read-only until you approve a plan.\n")
	task := fmt.Sprintf(demoTask, page)
	d.say("task      %s", strings.ReplaceAll(task, "\n", "\n          "))
	d.say("          (a page that the demo serves from this machine)\n")
	talk := s.Converse(ctx, session.ConversationOptions{Model: m, Limits: limits(o), Observe: d.event, Below: d.below})
	if _, err := talk.Run(ctx, model.Text(task)); err != nil {
		return fmt.Errorf("demo failed: %w", err)
	}
	return d.check()
}

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

func demoModel(vars map[string]string) (*replay.Model, error) {
	f, err := demoFiles.Open("demo/recording.jsonl")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return replay.Read(f, "demo/recording.jsonl", replay.Options{Vars: vars})
}
