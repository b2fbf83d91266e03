package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	everything = Support{LandlockABI: 7, Seccomp: true, Notify: true, Sockets: true, Namespaces: true, PIDs: true, BubblewrapWhy: "there is no bwrap"}
	nothing    = Support{LandlockWhy: "no Landlock", SeccompWhy: "no seccomp", SocketsWhy: "an old kernel", NamespacesWhy: "no namespaces", BubblewrapWhy: "no bwrap"}
)

func TestPlan(t *testing.T) {
	old := everything
	old.LandlockABI = 2
	contained := everything
	contained.Namespaces, contained.NamespacesWhy = false, "a container's rules"
	wrapped := nothing
	wrapped.Bubblewrap, wrapped.Seccomp = "/usr/bin/bwrap", true
	inside := everything
	inside.Bubblewrap, inside.Notify = "/usr/bin/bwrap", false
	unixToo := everything
	unixToo.LandlockABI, unixToo.LandlockUnix = 9, true
	protect := []string{"/w/.git/config"}
	for _, c := range []struct {
		name   string
		has    Support
		spec   Spec
		layers Layers
		notes  string // parts, in order
		err    string
	}{
		{"off", everything, Spec{}, 0, "", ""},
		{"read-only takes all", everything, Spec{Mode: ReadOnly}, Landlock | Seccomp | Notify | Namespaces | PIDs, "", ""},
		{"an old Landlock is not enough", old, Spec{Mode: ReadOnly}, Landlock | Seccomp | Notify | Namespaces | PIDs, "", ""},
		{"an old Landlock without a pid namespace", old.without(PIDs), Spec{Mode: ReadOnly}, Landlock | Seccomp | Notify | Namespaces, "Signals", ""},
		{"a workspace takes all", everything, Spec{Mode: Workspace, Protect: protect}, Landlock | Seccomp | Notify | Namespaces | PIDs, "", ""},
		{"in a container", contained, Spec{Mode: Workspace, Protect: protect}, Landlock | Seccomp | Notify, "Protected paths are not enforced: a container's rules.|Modes, owners and times", ""},
		{"nothing", nothing, Spec{Mode: ReadOnly}, 0, "", "neither writes nor network access can be restricted"},
		{"half of it will do", contained.without(Seccomp), Spec{Mode: Workspace, BestEffort: true}, Landlock, "incomplete on this system: network access can't be restricted|Modes|Unix sockets", ""},
		{"nothing will do", nothing, Spec{Mode: ReadOnly, BestEffort: true}, 0, "No sandbox is available: neither writes nor network access can be restricted (no Landlock; no seccomp; no namespaces).", ""},
		{"no bubblewrap", everything, Spec{Mode: Workspace, Bubblewrap: true}, Landlock | Seccomp | Notify | Namespaces | PIDs, "Bubblewrap can't be used: there is no bwrap. Using the built-in", ""},
		{"neither", nothing, Spec{Mode: Workspace, Bubblewrap: true}, 0, "", "no namespaces; no bwrap"},
		{"bubblewrap", wrapped, Spec{Mode: Workspace, Bubblewrap: true}, Bubblewrap | Seccomp, "Named pipes outside the workspace can be written to: no Landlock.", ""},
		{"bubblewrap with Landlock", inside, Spec{Mode: ReadOnly, Bubblewrap: true}, Bubblewrap | Landlock | Seccomp, "", ""},
		{"no Landlock", everything.without(Landlock), Spec{Mode: ReadOnly}, Seccomp | Notify | Namespaces | PIDs, "Named pipes", ""},
		{"macOS", Support{Seatbelt: true}, Spec{Mode: ReadOnly}, Seatbelt, "untested", ""},
		{"Landlock sees to sockets", unixToo, Spec{Mode: Workspace}, Landlock | Seccomp | Notify | Namespaces | PIDs, "", ""},
		{"a wrong mode", everything, Spec{Mode: "tight"}, 0, "", "expected one of off, read-only, workspace, workspace+network"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := c.spec.planWith(c.has)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %q", err, c.err)
				}
				if c.spec.Mode != "tight" && !errors.Is(err, ErrUnenforceable) {
					t.Error("the error is of no known kind")
				}
				return
			}
			notes := strings.Join(p.Notes, "\n")
			if err != nil || p.Layers != c.layers || (notes == "") != (c.notes == "") {
				t.Errorf("%v, %v, %q", err, p.Layers, notes)
			}
			for _, part := range strings.Split(c.notes, "|") {
				_, after, ok := strings.Cut(notes, part)
				if !ok {
					t.Errorf("%q is not in %q", part, notes)
				}
				notes = after
			}
		})
	}
}

func TestLines(t *testing.T) {
	want := []string{
		"landlock: works, version 7",
		"seccomp: works",
		"namespaces: work: user, mount, IPC, network, pid",
		"bubblewrap: no, there is no bwrap",
		"reads of commands without approval are enforced",
		"workspace mode: commands reach Unix sockets and servers of their session",
		"read-only: enforced by landlock+seccomp+namespaces+pids",
		"workspace: enforced by landlock+seccomp+namespaces+pids",
		"workspace+network: enforced by landlock+seccomp+namespaces+pids",
	}
	if d := cmp.Diff(want, everything.Lines(false)); d != "" {
		t.Error(d)
	}
	text := strings.Join(nothing.Lines(false), "\n")
	for _, part := range []string{"landlock: no, no Landlock", "read-only: none; No sandbox is available"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	if len(Probe().Lines(false)) == 0 {
		t.Error("nothing is said of this system")
	}
}

// Commands have private sockets only if all parts work, and the host's sockets only if the user allows it.
func TestPlanSockets(t *testing.T) {
	wrapped := everything
	wrapped.Bubblewrap = "/usr/bin/bwrap"
	unixToo := everything
	unixToo.LandlockABI, unixToo.LandlockUnix = 9, true
	old := everything
	old.Sockets, old.SocketsWhy = false, "an old kernel"
	for _, c := range []struct {
		name         string
		has          Support
		spec         Spec
		private, all bool
		line         string
	}{
		{"workspace", everything, Spec{Mode: Workspace}, true, false, "reach Unix sockets and servers of their session"},
		{"Landlock could see to it", unixToo, Spec{Mode: Workspace}, true, false, "reach Unix sockets and servers of their session"},
		{"bubblewrap", wrapped, Spec{Mode: Workspace, Bubblewrap: true}, true, false, "reach Unix sockets and servers of their session"},
		{"bubblewrap without Landlock", wrapped.without(Landlock), Spec{Mode: Workspace, Bubblewrap: true}, false, false, "have no Unix sockets"},
		{"as the user says", everything, Spec{Mode: Workspace, UnixSockets: true}, false, true, ""},
		{"the host's network", everything, Spec{Mode: WorkspaceNetwork}, false, false, ""},
		{"read-only", everything, Spec{Mode: ReadOnly}, false, false, ""},
		{"an old kernel", old, Spec{Mode: Workspace}, false, false, "have no Unix sockets, an old kernel"},
		{"no listener", everything.without(Notify), Spec{Mode: Workspace}, false, false, "have no Unix sockets"},
		{"no pid namespace", everything.without(PIDs), Spec{Mode: Workspace}, false, false, "have no Unix sockets, a pid namespace is turned off"},
		{"no seccomp", everything.without(Seccomp), Spec{Mode: Workspace, BestEffort: true}, false, true, "reach Unix sockets of other programs"},
	} {
		p, err := c.spec.planWith(c.has)
		if err != nil || p.PrivateSockets != c.private || p.UnixSockets != c.all {
			t.Errorf("%s: %v %+v", c.name, err, p)
		}
		if line, _ := c.has.UnixSockets(c.spec.Bubblewrap); c.line != "" && !strings.HasPrefix(line, "workspace mode: commands "+c.line) {
			t.Errorf("%s: %s", c.name, line)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range Modes() {
		if got, err := ParseMode(string(m)); got != m || err != nil {
			t.Error(m, got, err)
		}
	}
	if _, err := ParseMode("docker"); err == nil {
		t.Error("docker is a mode")
	}
}

// Files are never left visible because the caller gave no limits.
func TestHidingRequiresLimits(t *testing.T) {
	for _, mode := range append(Modes()[1:], Trial, DenyRules) {
		spec := &Spec{Mode: mode, Covers: Empty.Cover("/a"), Trial: &Trials{}, BestEffort: true}
		if _, err := spec.Plan(); err == nil || !strings.Contains(err.Error(), "only be hidden if reads are limited") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func FuzzDecodeBox(f *testing.F) {
	b := New(&Spec{Mode: Workspace, Roots: []string{"/a", "\xff"}, Write: []string{"/b"}, Protect: []string{"/a/.git"}, UnixSockets: true, HostSockets: []string{"/b/s"}},
		Plan{Layers: Landlock | Seccomp, Loopback: true, LandlockABI: 7, PrivateSockets: true}, "")
	f.Add(b.Encode())
	b = New(&Spec{Mode: ReadOnly, Limits: &Limits{Read: []string{"/a"}}, Covers: []Cover{{"/a/.env", Empty, ""}, {"/a/.git/config", Replaced, "[core]\n"}}}, Plan{Layers: Landlock, Limits: true}, "")
	f.Add(b.Encode())
	f.Add([]byte{0, 0, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := DecodeBox(in)
		if err != nil {
			return
		}
		again, err := DecodeBox(b.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b.spec, again.spec); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(b.plan, again.plan); d != "" {
			t.Error(d)
		}
	})
}

func TestSuspect(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"curl: (7) Failed to connect to 127.0.0.1 port 5432 after 0 ms: Couldn't connect to server\n", "failed to connect to"},
		{"dial tcp 127.0.0.1:5432: connect: connection refused\n", "connection refused"},
		{"touch: cannot touch 'x': Permission denied\n", "permission denied"},
		{"Error: EROFS: open '/usr/x'\n", "erofs"},
		{"curl: (6) Could not resolve host: example.test\n", "could not resolve host"},
		{"PermissionError: [Errno 13]\n", "permissionerror"},
		{"everything is permitted\nfailed\n", ""},
		{"", ""},
	} {
		if got := Suspect(Scene{Mode: Workspace, Exit: 1}, nil, c.output).Why; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: %q", c.output, got)
		}
	}
	// With network, a server that doesn't answer isn't the sandbox's fault.
	for output, want := range map[string]string{"connect: connection refused\n": "", "Could not resolve host: x\n": "", "x: Permission denied": "it printed “permission denied”"} {
		if got := Suspect(Scene{Mode: WorkspaceNetwork, Exit: 1}, nil, output).Why; got != want {
			t.Errorf("%q: %q", output, got)
		}
	}
	if got := Suspect(Scene{Mode: Workspace, Exit: 1}, []string{"tracing", "the network"}, ""); got.Why != "it was denied tracing, the network" || got.Remedy != "set tools.sandbox to workspace+network" {
		t.Error(got)
	}
	// npm and pip always try the network.
	if got := Suspect(Scene{Mode: ReadOnly, Exit: 1}, []string{"the network"}, "package not found\n"); got != (Suspicion{}) {
		t.Error(got)
	}
	for output, want := range map[string]string{"touch: cannot touch '/x': Read-only file system": "tools.sandboxWrite", "connect: connection refused": "workspace+network"} {
		if got := Suspect(Scene{Mode: Workspace, Exit: 1}, nil, output); !strings.Contains(got.Remedy, want) {
			t.Errorf("%q: %+v", output, got)
		}
	}
}

// A denial names what would allow it.
func TestRemedy(t *testing.T) {
	for _, c := range []struct {
		exit         int
		output, want string
	}{
		{1, "error: could not write config file .git/config: Device or resource busy", "run the git command that changes it in a separate call, which asks for approval: /w/.git/config is protected"},
		{1, "error: could not lock config file /w/.git/config: Read-only file system", "/w/.git/config is protected"},
		{1, "sh: 1: cannot create .github/workflows/x.yml: Read-only file system", "let a file tool change /w/.github/workflows, which asks for approval"},
		{1, "Error: EROFS: read-only file system, open '/w/.vscode/settings.json'", "let a file tool change /w/.vscode/settings.json"},
		{1, "mkdir: cannot create directory ‘.adze’: File exists\nrm: cannot remove '.adze': Device or resource busy", "let a file tool change /w/.adze"},
		{1, "mkdir: cannot create directory ‘.adze’: File exists", "let a file tool change /w/.adze"},
		{1, "mkdir: cannot create directory ‘x’: File exists", ""},
		{1, "OSError: [Errno 18] Invalid cross-device link: 'a' -> 'app/a'", "copy and remove the file"},
		{1, "Failed to move to new namespace: Operation not permitted", "--no-sandbox"},
		{1, "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.", "run it in a terminal"},
		{1, "touch: cannot touch '/usr/x': Read-only file system", "tools.sandboxWrite"},
		{1, "open /usr/x: Read-only file system\nFATAL: socket() failed: Operation not permitted", "tools.sandboxUnixSockets"},
		{0, "error: unable to unlink old '.github/workflows/ci.yml': Read-only file system", "let a file tool change /w/.github/workflows"},
		{0, "error: could not write config file .git/config: Device or resource busy\nwarning: Update of config-file failed", "/w/.git/config is protected"},
		{0, "touch: cannot touch '/usr/x': Read-only file system", ""},
	} {
		at := Scene{Mode: Workspace, Dir: "/w", Protect: []string{"/w/.adze", "/w/.git/config", "/w/.git/hooks", "/w/.github/workflows", "/w/.vscode/settings.json"}, Exit: c.exit}
		if got := Suspect(at, nil, c.output).Remedy; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: %q", c.output, got)
		}
	}
}

// A program that can't start itself inside bubblewrap has it without Landlock,
// and no sandbox that it would have to make itself.
func TestPlanWithoutHelper(t *testing.T) {
	for _, c := range []struct {
		plan   Plan
		layers Layers
		ok     bool
	}{
		{Plan{Layers: Bubblewrap | Seccomp | Landlock, LandlockABI: 7}, Bubblewrap | Seccomp, true},
		{Plan{Layers: Bubblewrap | Seccomp}, Bubblewrap | Seccomp, true},
		{Plan{Layers: Bubblewrap | Seccomp | Landlock, Limits: true}, Bubblewrap | Seccomp | Landlock, false},
		{Plan{Layers: Landlock | Seccomp}, Landlock | Seccomp, false},
		{Plan{Layers: Seatbelt}, Seatbelt, true},
	} {
		got, ok := c.plan.WithoutHelper()
		if lost := c.ok && got.Layers != c.plan.Layers; ok != c.ok || got.Layers != c.layers || lost != (len(got.Notes) > 0) {
			t.Errorf("%v: %v, %v, %q", c.plan.Layers, got.Layers, ok, got.Notes)
		}
	}
}
