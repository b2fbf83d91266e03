// Package task reads files of tasks for a fleet.
//
//	file, err := task.Read("tasks.jsonl")
//
// It checks the whole file and reports every error with its line. It runs nothing.
package task

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// Task is one piece of work for an agent.
type Task struct {
	ID     string            `json:"id"`
	Repo   string            `json:"repo,omitempty"` // URL or path of a git repository; "": an empty one
	Ref    string            `json:"ref,omitempty"`  // "": HEAD
	Prompt string            `json:"prompt"`
	Model  string            `json:"model,omitempty"` // "": the worker's
	Image  string            `json:"image,omitempty"` // of a container; "": the worker's machine
	Setup  []string          `json:"setup,omitempty"` // commands before the agent starts
	Checks []string          `json:"checks,omitempty"`
	Limits Limits            `json:"limits"`
	Env    map[string]string `json:"env,omitempty"` // values "secret:NAME" are variables of the worker
	Line   int               `json:"line,omitempty"`
}

// Limits end the work on a task. 0 means no limit.
type Limits struct {
	Turns int           `json:"turns,omitempty"`
	Wall  time.Duration `json:"wall,omitempty"`
	Cost  float64       `json:"cost,omitempty"` // US dollars
}

// File is a valid file of tasks.
type File struct {
	Run   string // the name of its run
	Tasks []Task
}

// Models returns the models of the tasks, and whether a task with it has a cost limit, so that it needs a price; "" is the worker's.
func (f File) Models() map[string]bool {
	out := map[string]bool{}
	for _, t := range f.Tasks {
		out[t.Model] = out[t.Model] || t.Limits.Cost > 0
	}
	return out
}

var plainToken = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// Token returns a task's ID for subjects and file names: the ID itself if it has only letters, digits, - and _, otherwise a
// readable part of it and its hash.
func Token(id string) string {
	if plainToken.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	plain := strings.Map(func(r rune) rune {
		if r < 128 && plainToken.MatchString(string(r)) {
			return r
		}
		return '-'
	}, id)
	return plain[:min(len(plain), 40)] + "-" + hex.EncodeToString(sum[:8])
}

// name returns the name of a file's run: readable, and unique for each content.
func name(path string, content []byte) string {
	sum := sha256.Sum256(content)
	base := strings.Map(func(r rune) rune {
		if r < 128 && plainToken.MatchString(string(r)) {
			return r
		}
		return '-'
	}, path)
	return base[:min(len(base), 30)] + "-" + hex.EncodeToString(sum[:5])
}

// Problem is one error of a file.
type Problem struct {
	Line int
	Text string
}

// Error is the list of all errors of a file.
type Error struct {
	Path     string
	Problems []Problem
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %s; nothing was submitted", e.Path, humanize.Count(len(e.Problems), "error"))
	for i, p := range e.Problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n  … and %d more", len(e.Problems)-i)
			break
		}
		fmt.Fprintf(&b, "\n  line %d: %s", p.Line, p.Text)
	}
	return b.String()
}

// maxProblems is the maximum number of errors in the text.
const maxProblems = 200
