package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/search"
)

// AfterChange is a program that runs after calls that changed files.
type AfterChange struct {
	Glob    string        // the files, relative to the workspace
	Run     []string      // program and arguments; "{files}" stands for the changed files
	Timeout time.Duration //
	From    Place
}

// Files is the argument of an AfterChange that stands for the changed files.
const Files = "{files}"

// defaultAfterChange is how long such a program can take.
const defaultAfterChange = 30 * time.Second

const afterChangeShape = `{"type":"array","items":{"type":"object","required":["glob","run"],"properties":{` +
	`"glob":{"type":"string"},"run":{"type":"array","items":{"type":"string"},"minItems":1},` +
	`"timeout":{"type":"integer","minimum":1}}}}`

// putAfterChange adds programs to those of weaker sources.
func putAfterChange(s *Settings, g given) (string, error) {
	if g.file == nil || g.kind() != "a list" {
		return "", mustBe(`a list of {"glob": …, "run": […]}`, g)
	}
	list := slices.Clip(s.Tools.AfterChange)
	for i, m := range g.members() {
		var one struct {
			Glob    string   `json:"glob"`
			Run     []string `json:"run"`
			Timeout *int64   `json:"timeout"`
		}
		d := json.NewDecoder(bytes.NewReader(m.json()))
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil {
			return "", fmt.Errorf(`entry %d must be an object {"glob": "**/*.go", "run": ["gofmt", "-w", "{files}"]}`, i+1)
		}
		a := AfterChange{Glob: one.Glob, Run: one.Run, Timeout: defaultAfterChange, From: g.file.place(m.start)}
		if one.Timeout != nil {
			a.Timeout = time.Duration(*one.Timeout) * time.Millisecond
		}
		if err := a.check(); err != nil {
			return "", fmt.Errorf("entry %d: %w", i+1, err)
		}
		list = append(list, a)
	}
	s.Tools.AfterChange = list
	return "", nil
}

func (a AfterChange) check() error {
	if _, err := search.Globs(a.Glob); err != nil || a.Glob == "" {
		return fmt.Errorf("glob is not a valid pattern: %q", a.Glob)
	}
	if len(a.Run) == 0 || a.Run[0] == "" || a.Run[0] == Files {
		return errors.New("run must begin with a program")
	}
	for _, arg := range a.Run {
		if arg != Files && strings.Contains(arg, Files) {
			return fmt.Errorf("%s must be a separate argument, got %q", Files, arg)
		}
	}
	if a.Timeout < time.Millisecond || a.Timeout > time.Hour {
		return errors.New("timeout must be a number of milliseconds from 1 to 3600000")
	}
	return nil
}
