// Package demo is what 'adze demo' works on and prints: a small project with a task, a page with rules, a recorded
// model, and a narrator.
package demo

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/model/replay"
)

//go:embed project recording.jsonl rules.html
var files embed.FS

// Done is what a demo ends with.
const Done = "Done: all files match the task. Next: connect a model (adze doctor), then run adze in a project."

const task = "greet.sh should print \"Hello, world!\" when called without a name, as README.txt says.\nFix it, " +
	"following the style guide at %s"

// end is the expected content of the files after the demo.
var end = map[string]string{
	"greet.sh": "#!/bin/sh\n# Prints a greeting for NAME, or for the world without one.\necho \"Hello, " +
		"${1:-world}!\"\n",
	"CHANGES.txt": "greet.sh prints \"Hello, world!\" when called without a name.\n",
}

// Project is a directory with a task in it, and everything that the task needs.
type Project struct {
	Dir  string // the project
	Home string // with its settings

	scratch string // everything is in it
	page    pageURL
	close   func()
}

// New makes the project in a temporary directory and serves its page.
func New() (*Project, error) {
	scratch, err := os.MkdirTemp("", "adze-demo-")
	if err != nil {
		return nil, fmt.Errorf("create a temporary directory for the demo: %w", err)
	}
	page, closePage, err := servePage()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	scratch = project.Canonical(scratch)
	p := &Project{
		Dir: filepath.Join(scratch, "greeting"), Home: filepath.Join(scratch, "home"), scratch: scratch, page: page,
		close: closePage,
	}
	if err := p.layOut(); err != nil {
		return nil, errors.Join(fmt.Errorf("set up the demo: %w", err), p.Close())
	}
	return p, nil
}

// Close removes the project.
func (p *Project) Close() error {
	p.close()
	return os.RemoveAll(p.scratch)
}

// Task is the prompt.
func (p *Project) Task() string { return fmt.Sprintf(task, p.page) }

// pageURL is where the demo's own page is.
type pageURL struct{ Host string }

func (p pageURL) String() string { return "http://" + p.Host + "/rules.html" }

// servePage serves the style guide on this machine, so that the demo needs no network.
func servePage() (pageURL, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return pageURL{}, nil, fmt.Errorf("serve the demo's page: %w", err)
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
func (p *Project) layOut() error {
	start, err := fs.Sub(files, "project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(p.Dir, start); err != nil {
		return err
	}
	allowed, err := json.Marshal(map[string]any{"tools": map[string]any{
		"trial": "off", "webFetch": map[string]any{"allowPrivateHosts": []string{p.page.Host}},
	}})
	if err != nil {
		return err
	}
	home := filepath.Join(p.Home, ".adze")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "settings.json"), allowed, 0o600)
}

// Model is the recorded model.
func (p *Project) Model() (*replay.Model, error) {
	f, err := files.Open("recording.jsonl")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return replay.Read(f, "recording.jsonl",
		replay.Options{Vars: map[string]string{"$WORK": p.Dir, "$PAGE": p.page.String()}})
}

// Check compares the files with the task.
func (p *Project) Check() error {
	for name, want := range end {
		got, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil || string(got) != want {
			return fmt.Errorf("demo failed: %s doesn't have the expected content (did you deny a step?)", name)
		}
	}
	return nil
}
