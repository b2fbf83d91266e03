package builtin

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// late is a session whose commands read without approval, in a workspace where files appear meanwhile.
type late struct {
	set   *Set
	exec  *tool.Executor
	dir   string
	asked []tool.Request

	mu    sync.Mutex
	shown string       // what running commands printed
	saved bytes.Buffer // what was saved of long outputs
	files int          // how many were saved
}

type savedOutput struct{ *late }

func (s savedOutput) Write(p []byte) (int, error) { return s.saved.Write(p) }
func (s savedOutput) Close() error                { return nil }

// newLate returns a session. tried: commands are tried, otherwise they are granted reads only. answer is the user's; nil:
// there is no user.
func newLate(t *testing.T, tried bool, answer *tool.Decision, state string, change ...func(*Options)) *late {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &late{dir: dir}
	put(t, dir, map[string]string{"flag": "wait\n", "old/.env": "KEY=old\n"})
	o := Options{
		Dir: dir, State: state, Helper: testHelper, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Sandbox: Sandbox{Trial: true, Limits: &ReadLimits{System: []string{"/usr", "/bin", "/lib", "/lib64", "/etc"}}},
		Output: func(tool.Call) (io.WriteCloser, string, error) {
			w.files++
			return savedOutput{w}, "/saved", nil
		},
	}
	for _, f := range change {
		f(&o)
	}
	if w.set, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.set.Close() })
	if err := testRunner(t).CanLimit(false); err != nil {
		t.Skipf("reads can't be limited here: %v", err)
	}
	if tried {
		if place := w.set.Place(); place != PlaceOverlay {
			t.Skipf("commands can't be tried here: %v", place)
		}
	}
	waittest.Until(t, "the list of secret files is ready", func() bool { _, known := w.set.Secrets(); return known })
	w.exec = executor(w.set)
	w.exec.Policy = func(r tool.Request) tool.Decision {
		switch {
		case slices.ContainsFunc(r.Access, func(a tool.Access) bool { return a.Verb == tool.Reads }):
			return tool.Decision{Verdict: tool.Ask, Reason: "reads a secret"}
		case r.Access[0].Verb == tool.Execs && tried:
			return tool.Decision{Verdict: tool.Ask, Try: true}
		case r.Access[0].Verb == tool.Writes:
			return tool.Decision{Verdict: tool.Ask}
		}
		return tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{{Verb: tool.Reads, Target: "*"}}}
	}
	if answer != nil {
		w.exec.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
			w.asked = append(w.asked, r)
			return *answer, nil
		}
	}
	w.exec.Observe = func(e tool.Event) {
		if e.Stage == tool.Showing {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.shown = e.Display.Markdown()
		}
	}
	return w
}

// waiting is a command that reports its start, waits for the test, and then prints what it finds. Names that it looks up
// before stay missing in an overlay.
const waiting = `printf 'sta%s\n' rted; while ! grep -q go flag; do sleep 0.01; done; `

// meanwhile runs a command, and do while it runs.
func (w *late) meanwhile(t *testing.T, command string, do func()) tool.Outcome {
	t.Helper()
	batch := w.exec.Batch(t.Context())
	batch.Add(tool.Call{Name: "run_shell_command", Args: rework(runShellCommandArgs{Command: waiting + command, Timeout: 600_000})})
	waittest.Until(t, "the command runs", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return strings.Contains(w.shown, "started")
	})
	do()
	if err := os.WriteFile(filepath.Join(w.dir, "flag"), []byte("go\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return batch.Wait()[0]
}

func (w *late) put(t *testing.T, name string) {
	t.Helper()
	put(t, w.dir, map[string]string{name: "KEY=late\n"})
}

// A secret that appears while a command runs isn't hidden from it. A command that waited for one used to print it.
func TestLateSecretsAreHeldBack(t *testing.T) {
	yes, no := tool.Decision{Verdict: tool.Allow}, tool.Decision{Verdict: tool.Deny}
	long := "; i=0; while [ $i -lt 4000 ]; do echo 0123456789; i=$((i+1)); done"
	for name, tried := range map[string]bool{"read-only": false, "tried": true} {
		for _, c := range []struct {
			name    string
			command string
			answer  *tool.Decision
			do      func(t *testing.T, w *late)
			late    string // what appeared; "": nothing
			sent    bool
		}{
			{"nobody answers", "cat .env", nil, func(t *testing.T, w *late) { w.put(t, ".env") }, ".env", false},
			{"approved", "cat .env" + long, &yes, func(t *testing.T, w *late) { w.put(t, ".env") }, ".env", true},
			{"denied", "cat .env" + long, &no, func(t *testing.T, w *late) { w.put(t, ".env") }, ".env", false},
			{"a new directory", "cat new/deep/*", &no, func(t *testing.T, w *late) { w.put(t, "new/deep/server.pem") }, "new/deep/server.pem", false},
			{"renamed", "cat id_rsa", &no, func(t *testing.T, w *late) {
				w.put(t, "x")
				if err := os.Rename(filepath.Join(w.dir, "x"), filepath.Join(w.dir, "id_rsa")); err != nil {
					t.Fatal(err)
				}
			}, "id_rsa", false},
			{"gone again", "exit 3", &no, func(t *testing.T, w *late) {
				w.put(t, ".env")
				if err := os.Remove(filepath.Join(w.dir, ".env")); err != nil {
					t.Fatal(err)
				}
			}, ".env", false},
			{"replaced", "cat old/.env", &no, func(t *testing.T, w *late) {
				w.put(t, "x")
				if err := os.Rename(filepath.Join(w.dir, "x"), filepath.Join(w.dir, "old/.env")); err != nil {
					t.Fatal(err)
				}
			}, "old/.env", false},
			{"not secret", "cat late.txt" + long, &no, func(t *testing.T, w *late) { w.put(t, "late.txt") }, "", true},
			{"changed in place", "cat old/.env", &no, func(t *testing.T, w *late) { w.put(t, "old/.env") }, "", true},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				w := newLate(t, tried, c.answer, t.TempDir())
				o := w.meanwhile(t, c.command, func() { c.do(t, w) })
				text := o.Result.Text()
				if c.late == "old/.env" || c.late == "" && strings.Contains(c.command, "old/") {
					if strings.Contains(text, "KEY=late") {
						t.Errorf("a hidden file was read:\n%s", text)
					}
				} else if got := strings.Contains(text, "KEY=late"); got != (c.sent && strings.Contains(c.command, "cat")) {
					t.Errorf("the result contains it: %v\n%s", got, text)
				}
				if sent := strings.Contains(text, "started"); sent != c.sent || (o.Status == tool.StatusDenied) == c.sent {
					t.Errorf("%s: %s", o.Status, text)
				}
				want := 0
				if c.late != "" && c.answer != nil {
					want = 1
				}
				if len(w.asked) != want || want == 1 && !slices.Equal(w.asked[0].Access, reads(filepath.Join(w.dir, c.late))) {
					t.Errorf("asked: %+v", w.asked)
				}
				if saves := c.sent && strings.Contains(c.command, "0123"); (w.files == 1) != saves || saves && w.saved.Len() < 4000*11 {
					t.Errorf("%d outputs with %d bytes were saved", w.files, w.saved.Len())
				}
			})
		}
	}
}

// A secret that a command writes itself is its own, and is only in its overlay.
func TestOwnSecretsAreNotHeldBack(t *testing.T) {
	for _, dir := range []string{t.TempDir(), ""} {
		if dir == "" { // elsewhere: overlays are in the workspace
			var err error
			if dir, err = os.MkdirTemp("/dev/shm", "adze-state-"); err != nil {
				t.Skip("no other file system: ", err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
		}
		testOwnSecrets(t, dir)
	}
}

func testOwnSecrets(t *testing.T, state string) {
	w := newLate(t, true, &tool.Decision{Verdict: tool.Deny}, state)
	o := w.meanwhile(t, "echo KEY=own > .env; cat .env; mkdir d; echo x > d/id_rsa; rm -r .env d", func() {})
	if text := o.Result.Text(); o.Status != tool.StatusSuccess || !strings.Contains(text, "KEY=own") || len(w.asked) > 0 {
		t.Errorf("%s: %s\nasked: %+v", o.Status, text, w.asked)
	}
	o = call(t, w.exec, "run_shell_command", args{"command": "echo KEY=own > id_rsa; cat id_rsa"})
	wrote := []tool.Access{{Verb: tool.Writes, Target: filepath.Join(w.dir, "id_rsa")}}
	if text := o.Result.Text(); !strings.Contains(text, "KEY=own\n") || len(w.asked) != 1 || !slices.Equal(w.asked[0].Access, wrote) {
		t.Errorf("%s: %s\nasked: %+v", o.Status, text, w.asked)
	}
}

// The output of a background command is held back from every call that reads it, and so is how it ended.
func TestLateSecretsOfBackgroundCommands(t *testing.T) {
	w := newLate(t, false, nil, t.TempDir())
	o := call(t, w.exec, "run_shell_command", args{"command": waiting + "cat .env; exit 7", "is_background": true})
	if o.Error != nil {
		t.Fatal(o.Error)
	}
	id := w.set.Jobs()[0].ID
	waittest.Until(t, "the command runs", func() bool {
		return strings.Contains(call(t, w.exec, "shell_output", args{"id": id, "offset": 0}).Result.Text(), "started")
	})
	w.put(t, ".env")
	if err := os.WriteFile(filepath.Join(w.dir, "flag"), []byte("go\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the command has ended", func() bool { return len(w.set.Running()) == 0 })
	if news := strings.Join(w.set.News(), "\n"); strings.Contains(news, "code 7") || !strings.Contains(news, "held back") {
		t.Error(news)
	}
	for _, c := range []string{"shell_output", "shell_stop"} {
		o := call(t, w.exec, c, args{"id": id})
		if text := o.Result.Text(); strings.Contains(text, "KEY") || strings.Contains(text, "code 7") || c == "shell_output" && o.Status != tool.StatusDenied {
			t.Errorf("%s: %s: %s", c, o.Status, text)
		}
	}
	if err := os.Remove(filepath.Join(w.dir, ".env")); err != nil {
		t.Fatal(err)
	}
	w.exec.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	if o := call(t, w.exec, "shell_output", args{"id": id, "offset": 0}); !strings.Contains(o.Result.Text(), "KEY=late") {
		t.Errorf("%s: %s", o.Status, o.Result.Text())
	}
}

// A command that rewrites files with the same bytes changed nothing: its output goes to the model without a question.
func TestSameBytesAreNoChange(t *testing.T) {
	w := newLate(t, true, nil, t.TempDir())
	for _, line := range []string{
		"printf 'wait\\n' > flag; cat flag", "cp -p flag copy; mv copy flag; cat flag", "sed -i s/wait/wait/ flag; cat flag",
	} {
		o := call(t, w.exec, "run_shell_command", runShellCommandArgs{Command: line})
		if o.Status != tool.StatusSuccess || !strings.Contains(o.Result.Text(), "wait") || len(w.asked) > 0 {
			t.Errorf("%s: %v %v, asked %d: %s", line, o.Status, o.Error, len(w.asked), o.Result.Text())
		}
	}
	if o := call(t, w.exec, "run_shell_command", runShellCommandArgs{Command: "echo other > flag"}); o.Status != tool.StatusDenied {
		t.Errorf("another content: %v", o.Status)
	}
}

// In a workspace that is a part of a repository, git in a trial took files above it, which it can't read, for deleted, and
// the result didn't say why.
func TestRepositoryAbove(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "app")
	put(t, top, map[string]string{"above": "a\n", "app/own": "b\n"})
	setUp := exec.CommandContext(t.Context(), "sh", "-c", "git init -q && git add . && git -c user.name=a -c user.email=b commit -qm x")
	setUp.Dir = top
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := newLate(t, true, nil, t.TempDir(), func(o *Options) { o.Dir = dir })
	for _, tt := range []struct{ line, want, not string }{
		{"cat own", "b", "Note:"}, {"git status -s", "Note: The repository begins above the workspace, at " + top + ".", ""}, {"git status -s .", "(empty)", "Note:"},
	} {
		o := call(t, w.exec, "run_shell_command", runShellCommandArgs{Command: tt.line})
		if text := o.Result.Text(); !strings.Contains(text, tt.want) || tt.not != "" && strings.Contains(text, tt.not) {
			t.Errorf("%s: %s", tt.line, text)
		}
	}
}

// Files of a command in temp directories and caches are gone if its output was held back: another command could print it.
func TestLateSecretsAreForgotten(t *testing.T) {
	for name, tried := range map[string]bool{"read-only": false, "tried": true} {
		for _, approved := range []bool{false, true} {
			answer := tool.Decision{Verdict: tool.Deny}
			if approved { // then the cache of read-only commands stays
				answer.Verdict = tool.Allow
			}
			w := newLate(t, tried, &answer, t.TempDir())
			dir := "$XDG_CACHE_HOME"
			if tried {
				dir = "/tmp"
			}
			w.meanwhile(t, "cat .env > "+dir+"/copy", func() { w.put(t, ".env") })
			o := call(t, w.exec, "run_shell_command", args{"command": "cat " + dir + "/copy .env; exit 0"})
			if got := strings.Contains(o.Result.Text(), "KEY=late"); got != (approved && !tried) {
				t.Errorf("%s, approved: %v:\n%s", name, approved, o.Result.Text())
			}
		}
	}
}

// Two sessions that changed one file failed each other's commands, which a second try would have run. Hooks that see
// proposed changes used to see only those of the first try.
func TestKeepIsRetriedOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		by    tool.CauseKind
		hook  tool.Verdict // about the second try
		want  string
		fails bool
	}{
		{"nobody approved it", tool.ByMode, tool.Allow, "theirs\nours\n", false},
		{"the user approved the change", tool.ByUser, tool.Allow, "theirs\n", true},
		{"a hook denies the second try", tool.ByMode, tool.Deny, "theirs\n", true},
		{"a hook asks about the second try", tool.ByMode, tool.Ask, "theirs\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newLate(t, true, nil, t.TempDir())
			path := filepath.Join(w.dir, "f")
			put(t, w.dir, map[string]string{"f": "old\n"})
			changed, proposed := false, 0
			w.exec.Proposed = func(_ context.Context, r tool.Request) tool.Decision {
				if proposed++; proposed == 1 {
					return tool.Decision{Verdict: tool.Allow}
				}
				return tool.Decision{Verdict: c.hook}
			}
			judge := w.exec.Policy
			w.exec.Policy = func(r tool.Request) tool.Decision {
				if r.Access[0].Verb != tool.Writes {
					return judge(r)
				}
				if !changed { // by another process, after the trial
					changed = true
					put(t, w.dir, map[string]string{"f": "theirs\n"})
				}
				return tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: c.by}}
			}
			o := call(t, w.exec, "run_shell_command", runShellCommandArgs{Command: "echo ours >> f"})
			got, err := os.ReadFile(path)
			if err != nil || string(got) != c.want || (o.Status != tool.StatusSuccess) != c.fails {
				t.Errorf("%s, the file has %q (%v): %s", o.Status, got, err, o.Result.Text())
			}
			if c.fails && !strings.Contains(o.Result.Text(), "changed since the trial started") {
				t.Errorf("the reason is missing: %s", o.Result.Text())
			}
		})
	}
}
