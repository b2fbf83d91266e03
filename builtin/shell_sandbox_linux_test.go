package builtin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/kerneltest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/tool"
)

// sandboxedIn returns the tools of a directory with sandboxes, under a policy that grants only reads to commands that begin
// with cat or touch, and allows or asks about others.
func sandboxedIn(t *testing.T, dir string, s Sandbox, others tool.Verdict, ask tool.Asker) *tool.Executor {
	t.Helper()
	if !sandbox.Probe().Layers().Has(sandbox.Landlock | sandbox.Seccomp | sandbox.Namespaces) {
		t.Skip("not all layers work here:", strings.Join(sandbox.Probe().Lines(false), "; "))
	}
	set, err := New(Options{
		Dir: dir, State: t.TempDir(), Helper: testHelper, Sandbox: s,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LD_LIBRARY_PATH=/x", "PLAIN=1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	x := executor(set)
	x.Ask = ask
	x.Policy = func(r tool.Request) tool.Decision {
		if c := r.Access[0].Target; !r.MustAsk && (strings.HasPrefix(c, "cat ") || strings.HasPrefix(c, "touch ")) {
			return tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{{Verb: tool.Reads, Target: "*"}}}
		}
		return tool.Decision{Verdict: others}
	}
	return x
}

func TestSandboxModes(t *testing.T) {
	for _, c := range []struct {
		mode, command string
		fails         bool   // because of the sandbox
		has           string // in the result
	}{
		{"", "cat a.txt; echo $PLAIN$LD_LIBRARY_PATH-$ADZE", false, "-1"}, // a short environment
		{"", "echo $PLAIN", false, "Output: 1"},
		{"", "touch made", true, "blocked by the read-only sandbox"}, // the policy was wrong, and the kernel holds
		{"auto", "echo x > made", false, ""},
		{"off", "touch made", false, ""},
		{"read-only", "echo x > made", true, "blocked by the read-only sandbox"},
		{"workspace", "echo x > made", false, ""},
		{"workspace", "touch made", true, "read-only"}, // the grant is narrower than the mode
		{"workspace", "echo x > /usr/made", true, "blocked by the workspace sandbox"},
		{"workspace", "mkdir .adze", true, "Exit Code: 1"},
		{"workspace+network", "echo x > made", false, ""},
	} {
		t.Run(c.mode+" "+c.command, func(t *testing.T) {
			dir := t.TempDir()
			os.WriteFile(dir+"/a.txt", nil, 0o600)
			o := call(t, sandboxedIn(t, dir, Sandbox{Mode: c.mode}, tool.Allow, nil), "run_shell_command", args{"command": c.command})
			if text := o.Result.Text(); (o.Error != nil) != c.fails || !strings.Contains(text, c.has) {
				t.Errorf("%v\n%s", o.Error, text)
			}
			if strings.Contains(c.command, "made") {
				if _, err := os.Stat(filepath.Join(dir, "made")); (err != nil) != c.fails {
					t.Errorf("made: %v", err)
				}
			}
		})
	}
	if _, err := New(Options{Dir: t.TempDir(), Sandbox: Sandbox{Mode: "docker"}}); err == nil || !strings.Contains(err.Error(), "workspace+network, and auto") {
		t.Error(err)
	}
}

// A command that the sandbox blocked runs again only if the user approves it, in yolo too.
func TestRetryWithoutSandbox(t *testing.T) {
	for name, says := range map[string]tool.Verdict{"yes": tool.Allow, "no": tool.Deny} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			outside := filepath.Join(t.TempDir(), "outside")
			var asked []tool.Request
			ask := func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
				asked = append(asked, r)
				return tool.Decision{Verdict: says}, nil
			}
			x := sandboxedIn(t, dir, Sandbox{Mode: "read-only"}, tool.Allow, ask)
			o := call(t, x, "run_shell_command", args{"command": "echo x > " + outside})
			text := o.Result.Text()
			_, err := os.Stat(outside)
			if len(asked) != 1 || (err == nil) != (says == tool.Allow) || (o.Error == nil) != (says == tool.Allow) {
				t.Fatalf("asked %d times, %v, %v\n%s", len(asked), err, o.Error, text)
			}
			confirm := asked[0].Confirm.(tool.Command)
			if confirm.Line != "echo x > "+outside || !strings.Contains(strings.Join(confirm.Warnings, "; "), "without a sandbox") {
				t.Errorf("%+v", confirm)
			}
			want := "It was not retried outside the sandbox."
			if says == tool.Allow {
				want = "The user approved a retry outside the sandbox"
			}
			if !strings.Contains(text, want) {
				t.Error(text)
			}
			call(t, x, "run_shell_command", args{"command": "exit 3"})
			if len(asked) != 1 {
				t.Error("what failed by itself was asked about")
			}
		})
	}
}

// A background command that the sandbox blocked is recognized when it is read, and runs again only if the user approves
// it. The user is asked once, and not for a command that failed by itself.
func TestRetryInBackground(t *testing.T) {
	for name, says := range map[string]tool.Verdict{"yes": tool.Allow, "no": tool.Deny} {
		t.Run(name, func(t *testing.T) {
			outside := filepath.Join(t.TempDir(), "outside")
			asked := 0
			ask := func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
				if asked++; r.Confirm.(tool.Command).Line != "echo x > "+outside {
					t.Errorf("%+v", r.Confirm)
				}
				return tool.Decision{Verdict: says}, nil
			}
			x := sandboxedIn(t, t.TempDir(), Sandbox{Mode: "read-only"}, tool.Allow, ask)
			call(t, x, "run_shell_command", args{"command": "echo x > " + outside, "is_background": true})
			read := func(id string) string {
				return call(t, x, "shell_output", args{"id": id, "wait": 20000}).Result.Text()
			}
			var text string
			for range 100 {
				if text += read("bg_1"); strings.Contains(text, "ended, ") {
					break
				}
			}
			want := "Likely blocked by the read-only sandbox (it printed “read-only file system”). It was not retried outside the sandbox."
			if says == tool.Allow {
				want = "The user approved a retry outside the sandbox, in the background as bg_2."
				read("bg_2")
			}
			if !strings.Contains(text, want) || asked != 1 {
				t.Errorf("asked %d times: %s", asked, text)
			}
			if _, err := os.Stat(outside); (err == nil) != (says == tool.Allow) {
				t.Error(err)
			}
			if again := read("bg_1"); asked != 1 || strings.Contains(again, "once more") {
				t.Errorf("asked %d times: %s", asked, again)
			}
			call(t, x, "run_shell_command", args{"command": "exit 3", "is_background": true})
			for _, id := range []string{"bg_2", "bg_3"} {
				read(id)
			}
			if asked != 1 {
				t.Error("what failed by itself was asked about")
			}
		})
	}
}

// The permission prompt shows whether there will be a sandbox.
func TestSandboxInTheConfirmation(t *testing.T) {
	for mode, want := range map[string]string{"auto": "off ", "off": "off ", "workspace": "workspace "} {
		var seen string
		x := sandboxedIn(t, t.TempDir(), Sandbox{Mode: mode}, tool.Ask, func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
			c := r.Confirm.(tool.Command)
			seen = c.Sandbox + " " + strings.Join(c.Warnings, "; ")
			return tool.Decision{Verdict: tool.Allow}, nil
		})
		call(t, x, "run_shell_command", args{"command": "true"})
		if seen != want {
			t.Errorf("%s: %q", mode, seen)
		}
	}
}

// Without a helper process there are no sandboxes: read-only commands run anyway with one note, and if a sandbox is required
// nothing runs.
func TestSandboxWithoutHelper(t *testing.T) {
	grant := func(tool.Request) tool.Decision {
		return tool.Decision{Verdict: tool.Allow, Grant: []tool.Access{{Verb: tool.Reads, Target: "*"}}}
	}
	for mode, runs := range map[string]bool{"auto": true, "read-only": false} {
		set, err := New(Options{Dir: t.TempDir(), Sandbox: Sandbox{Mode: mode}})
		if err != nil {
			t.Fatal(err)
		}
		x := executor(set)
		x.Policy = grant
		o := call(t, x, "run_shell_command", args{"command": "echo ran"})
		if text := o.Result.Text(); strings.Contains(text, "Output: ran") != runs || runs && !strings.Contains(text, "Note: The command ran without its read-only sandbox") {
			t.Errorf("%s: %v %s", mode, o.Error, text)
		}
		if o = call(t, x, "run_shell_command", args{"command": "echo ran"}); strings.Contains(o.Result.Text(), "Note:") {
			t.Errorf("%s: it is said twice", mode)
		}
		set.Close()
	}
	set, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	x.Policy = grant
	o := call(t, x, "run_shell_command", args{"command": "echo ran", "is_background": true})
	if !strings.Contains(o.Result.Text(), "Note: The command ran without its read-only sandbox") {
		t.Errorf("in the background it is not said: %s", o.Result.Text())
	}
}

// A failed cleanup after an earlier run is reported, and stops nothing.
func TestUncleanEarlierRun(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(state+"/proc", nil, 0o600); err != nil { // the ledger's directory
		t.Fatal(err)
	}
	set, err := New(Options{Dir: t.TempDir(), State: state, Helper: testHelper, Sandbox: Sandbox{Mode: "off"}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	for i := range 2 {
		text := call(t, x, "run_shell_command", args{"command": "echo ran"}).Result.Text()
		if !strings.Contains(text, "Output: ran") || strings.Contains(text, "Note: Processes of an earlier run could not be stopped") != (i == 0) {
			t.Error(text)
		}
	}
}

// If the kernel supports less, the permission prompt and the first result say so.
func TestSandboxWithLessSupport(t *testing.T) {
	for place, want := range map[string]struct{ warning, result string }{
		"a container": {"Protected paths are not enforced: user namespaces are not allowed", "Note: Protected paths are not enforced"},
		"nothing":     {"this system has no way to enforce it", "neither writes nor network access can be restricted"},
	} {
		if os.Getenv("BARREN_PLACE") == "" {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestSandboxInBarrenPlaces$", "-test.v")
			cmd.Env = append(os.Environ(), "BARREN_PLACE="+place)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", place, err, text)
			}
			continue
		}
		if os.Getenv("BARREN_PLACE") != place {
			continue
		}
		if err := kerneltest.Become(place); err != nil {
			t.Skip(err)
		}
		set, err := New(Options{Dir: t.TempDir(), Helper: testHelper, Sandbox: Sandbox{Mode: "workspace"}})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		x := executor(set)
		seen := ""
		x.Policy = func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Ask} }
		x.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
			c := r.Confirm.(tool.Command)
			seen = c.Sandbox + " " + strings.Join(c.Warnings, "; ")
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		text := call(t, x, "run_shell_command", args{"command": "true"}).Result.Text()
		if !strings.Contains(seen, want.warning) || !strings.Contains(text, want.result) {
			t.Errorf("%s: warned of %q\n%s", place, seen, text)
		}
	}
}
