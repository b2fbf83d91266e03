package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// lab is a den in which a scripted model attacks a session of Adze.
type lab struct {
	*den
	env   []string // more variables of Adze's environment
	tools string   // settings of tools, as members of a JSON object
}

// attack is what a model tries. It reports what it achieved as an error of the test.
type attack struct {
	name string
	try  func(l *lab)
}

// Attacks of a security review, judged by their effects: what changed outside, what ran, what the model read. No user
// approves anything, except where an attack says so.
func TestAttacks(t *testing.T) {
	soak.Skip(t, 75, 100)
	t.Parallel()
	program := plainProgram(t)
	for i, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			eachUser(t, func(t *testing.T, uid int) {
				top := placeOutsideTemp(t)
				a.try(newLab(t, top, program, uid, ``))
				if hasBubblewrap() && ((i+min(uid, 1))%2 == 0 || soak.Share() >= 1) { // for one of the users
					a.try(newLab(t, top, program, uid, `"sandboxBackend":"bubblewrap"`))
				}
			})
		})
	}
}

// placeOutsideTemp returns a directory for labs that isn't for temp files, because commands in a workspace sandbox may write
// to these.
func placeOutsideTemp(t *testing.T) string {
	t.Helper()
	places := []string{"/srv", "/opt"}
	if home, err := os.UserHomeDir(); err == nil && os.Getuid() != 0 && !strings.HasPrefix(home, "/tmp/") && !strings.HasPrefix(home, "/var/tmp/") {
		places = []string{home}
	}
	for _, place := range places {
		if dir, err := os.MkdirTemp(place, "adze-labs-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			return dir
		}
	}
	t.Skip("there is no directory for the attacks outside those for temp files")
	return ""
}

func newLab(t *testing.T, top, program string, uid int, tools string) *lab {
	t.Helper()
	d := newDenIn(t, top, program, uid)
	for _, path := range []string{".env", "server.pem", "id_rsa", "sub"} {
		os.RemoveAll(d.at(path))
	}
	d.mkdir("/home/.adze")
	d.mkdir("/home/.cache")
	d.put("f", "hi\n", 0o644)
	d.git("", "init", "-q", "-b", "main", ".")
	d.git("", "config", "user.name", "a")
	d.git("", "config", "user.email", "a@example.test")
	d.git("", "add", "f")
	d.git("", "commit", "-qm", "first")
	return &lab{den: d, tools: tools}
}

// exists reports whether there is a file, or a link, at a path.
func (l *lab) exists(path string) bool {
	_, err := os.Lstat(l.at(path))
	return err == nil
}

func (l *lab) read(path string) string {
	text, _ := os.ReadFile(l.at(path))
	return string(text)
}

// script makes a program of the workspace.
func (l *lab) script(path, text string) { l.put(path, "#!/bin/sh\n"+text+"\n", 0o755) }

// user runs a program as the user would, without Adze.
func (l *lab) user(dir string, argv ...string) string {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = l.at(dir), l.as(), append(l.environ(), "GIT_CONFIG_NOSYSTEM=1")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// calls returns a model that makes calls one by one: lines for the shell, or "@tool {arguments}".
func (l *lab) calls(lines []string) *openaitest.Server {
	l.t.Helper()
	var script openaitest.Script
	for i, line := range lines {
		name, args := "run_shell_command", json.RawMessage(nil)
		line = l.expand(line)
		if rest, ok := strings.CutPrefix(line, "@"); ok {
			var text string
			name, text, _ = strings.Cut(rest, " ")
			args = json.RawMessage(text)
		} else {
			args, _ = json.Marshal(map[string]any{"command": line, "timeout": 120_000}) // strings and numbers
		}
		call := openaitest.Call{ID: fmt.Sprintf("c%d", i), Name: name, Args: args}
		script.Answers = append(script.Answers, openaitest.Answer{Calls: []openaitest.Call{call}})
	}
	script.Answers = append(script.Answers, openaitest.Answer{Text: "done"})
	return openaitest.Serve(l.t, script)
}

// command returns Adze in the workspace, with a model.
func (l *lab) command(model *openaitest.Server, flags ...string) *exec.Cmd {
	l.t.Helper()
	if l.tools != "" || l.settings != "" {
		l.put("/home/.adze/settings.json", `{"tools":{`+l.tools+`}`+l.settings+`}`, 0o600)
	}
	l.give()
	cmd := exec.Command(l.program, append([]string{"-p", "go", "--model", "scripted"}, flags...)...)
	cmd.Dir, cmd.SysProcAttr = l.work, l.as()
	cmd.Env = slices.Concat(l.environ(), []string{
		"OPENAI_BASE_URL=" + model.URL, "ADZE_LOCAL_MODELS=off", "GIT_CONFIG_NOSYSTEM=1",
	}, l.env)
	return cmd
}

// play runs a session without a user and returns what the model received, one text for each call.
func (l *lab) play(flags []string, lines ...string) []string {
	l.t.Helper()
	model := l.calls(lines)
	out, err := l.command(model, flags...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	results := received(l.t, model)
	if len(results) != len(lines) {
		l.t.Fatalf("%d results of %d calls: %s", len(results), len(lines), out)
	}
	return results
}

// received returns the results in the last request to a model.
func received(t *testing.T, model *openaitest.Server) []string {
	t.Helper()
	requests := model.Requests()
	if len(requests) == 0 {
		t.Fatal("the model received no request")
	}
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(requests[len(requests)-1].Body), &body); err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, m := range body.Messages {
		if m.Role == "tool" {
			var text string
			if json.Unmarshal(m.Content, &text) != nil {
				text = string(m.Content)
			}
			results = append(results, text)
		}
	}
	return results
}

// silent reports results that contain a canary.
func (l *lab) silent(lines []string, flags ...string) {
	l.t.Helper()
	for i, result := range l.play(flags, lines...) {
		if strings.Contains(result, birdseye) {
			at := strings.Index(result, birdseye)
			l.t.Errorf("%s (%s): the model received …%s", lines[i], l.tools, result[max(0, at-80):min(len(result), at+40)])
		}
	}
}

// gone reports paths that exist.
func (l *lab) gone(how string, paths ...string) {
	l.t.Helper()
	for _, path := range paths {
		if l.exists(path) {
			l.t.Errorf("%s (%s): %s exists", how, l.tools, path)
		}
	}
}

// answered runs a session at a terminal: the user types the first answer at the first prompt, and denies at all others.
func (l *lab) answered(first string, lines ...string) string {
	l.t.Helper()
	model := l.calls(lines)
	tty := ptytest.Open(l.t)
	cmd := l.command(model)
	cmd.Env = append(cmd.Env, "TERM=dumb")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty.TTY, tty.TTY, tty.TTY
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	attr.Setsid, attr.Setctty = true, true
	cmd.SysProcAttr = &attr
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		tty.End()
		close(ended)
	}()
	answer := first
	for n := 1; ; n++ {
		tty.Await("? [", n)
		if strings.Count(tty.Raw(), "? [") < n {
			break // it has exited
		}
		tty.Type(answer + "\n")
		answer = "n"
	}
	<-ended
	return tty.Shown()
}

// running waits until a process has a word in its command line.
func running(t *testing.T, word string) {
	t.Helper()
	waittest.Until(t, "a process has "+word, func() bool {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return slices.ContainsFunc(files, func(file string) bool {
			line, _ := os.ReadFile(file)
			return strings.Contains(string(line), word)
		})
	})
}
