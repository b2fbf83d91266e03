// Package demo is what 'adze demo' works on and prints: a small project with a task, a recorded model, and a narrator.
package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/model/replay"
)

//go:embed project recording.jsonl
var files embed.FS

// Task is the prompt.
const Task = "greet.sh doesn't print what README.txt says. Fix it."

// Next is what a user can do after the demo.
const Next = "Next: connect a model (adze doctor), then run adze in a project."

// fixed is the script after the demo's command and before the undo.
const fixed = "#!/bin/sh\n# Prints a greeting for NAME.\necho \"Hello, $1!\"\n"

// Project is a directory with a task in it, and everything that the task needs.
type Project struct {
	Dir  string // the project
	Home string // with its settings

	scratch string // everything is in it
}

// New makes the project in a temporary directory.
func New() (*Project, error) {
	scratch, err := os.MkdirTemp("", "adze-demo-")
	if err != nil {
		return nil, fmt.Errorf("create a temporary directory for the demo: %w", err)
	}
	scratch = project.Canonical(scratch)
	p := &Project{
		Dir: filepath.Join(scratch, "greeting"), Home: filepath.Join(scratch, "home"), scratch: scratch,
	}
	if err := p.layOut(); err != nil {
		return nil, errors.Join(fmt.Errorf("set up the demo: %w", err), p.Close())
	}
	return p, nil
}

// Close removes the project.
func (p *Project) Close() error { return os.RemoveAll(p.scratch) }

// layOut copies the demo's project, with a secret that the settings deny.
func (p *Project) layOut() error {
	start, err := fs.Sub(files, "project")
	if err != nil {
		return err
	}
	home := filepath.Join(p.Home, ".adze")
	return errors.Join(
		os.CopyFS(p.Dir, start), os.MkdirAll(home, 0o700),
		os.WriteFile(filepath.Join(p.Dir, ".env"), []byte("GREETING_PASSWORD=correct-horse\n"), 0o600),
		os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"permissions":{"deny":["Read(.env)"]}}`), 0o600))
}

// Model is the recorded model.
func (p *Project) Model() (*replay.Model, error) {
	f, err := files.Open("recording.jsonl")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return replay.Read(f, "recording.jsonl", replay.Options{Vars: map[string]string{"$WORK": p.Dir}})
}

// Check returns an error unless the script is fixed, or, after an undo, as it was.
func (p *Project) Check(undone bool) error {
	want := fixed
	if undone {
		was, err := files.ReadFile("project/greet.sh")
		if err != nil {
			return err
		}
		want = string(was)
	}
	got, err := os.ReadFile(filepath.Join(p.Dir, "greet.sh"))
	if err != nil || string(got) != want {
		return errors.New("demo failed: greet.sh doesn't have the expected content (did you deny a step?)")
	}
	return nil
}
