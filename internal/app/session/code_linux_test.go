package session

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/lsp"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// scriptedServer is the name by which this test program is a language server: see serveScripted.
const scriptedServer = "scripted-server"

// withServer installs the scripted server for files *.x.
func (d *desk) withServer(t *testing.T, more string) *desk {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	user := project.Canonical(t.TempDir()) // not Adze's own directory, which looks empty
	bin := filepath.Join(user, "bin")
	os.MkdirAll(bin, 0o700)
	if err := os.Symlink(program, filepath.Join(bin, scriptedServer)); err != nil {
		t.Fatal(err)
	}
	d.environ = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + user}
	d.write(t, "a.x", "old one\nfine\n")
	d.settle(t, `{"tools":{"approvalMode":"yolo"},"lsp":{"servers":{"scripted":{"command":["`+scriptedServer+
		`"],"files":{".x":"x"}}}`+more+`}}`)
	return d.withTrials(t)
}

func (d *desk) withCode(t *testing.T) *Session {
	t.Helper()
	s, _ := d.open(t, &recording.Options{})
	if s.Place() != permission.Overlay {
		t.Skip("there are no sandboxes here: adze doctor says why")
	}
	run(t, s, "read_file", map[string]any{"absolute_path": filepath.Join(d.dir, "a.x")})
	waittest.Until(t, "the server is ready", func() bool { return serverState(s) == lsp.Running || serverState(s) == lsp.Failed })
	if serverState(s) != lsp.Running {
		t.Fatalf("the server isn't ready: %+v", s.LanguageServers())
	}
	return s
}

func serverState(s *Session) string { return s.LanguageServers()[0].State }

// New errors are in the result of the change, by any tool, once; the text is cleaned.
func TestDiagnosticsOfChanges(t *testing.T) {
	d := newDesk(t).withServer(t, "")
	s := d.withCode(t)
	defer s.Close()
	o := run(t, s, "edit", map[string]any{"file_path": filepath.Join(d.dir, "a.x"), "old_string": "fine", "new_string": "bad"})
	if text := o.Result.Text(); !strings.Contains(text, "\n[diagnostics] New since this change:\na.x:2: error: bad\\x1b[31m is bad") {
		t.Errorf("edit: %q", text)
	}
	o = shell(t, s, "sed -i s/bad/good/ a.x; echo bad > b.x")
	if text := o.Result.Text(); !strings.Contains(text, "New since this change:\nb.x:1: error: bad") ||
		!strings.Contains(text, "No longer reported:\na.x:2: error") {
		t.Errorf("a command: %q", text)
	}
	if text := shell(t, s, "touch other").Result.Text(); strings.Contains(text, "diagnostics") {
		t.Errorf("told twice: %q", text)
	}
	states := s.LanguageServers()
	if len(states) != 1 || states[0].State != "running" || states[0].Log != "hello from the server" {
		t.Errorf("state: %+v", states)
	}
}

func TestNoDiagnostics(t *testing.T) {
	d := newDesk(t).withServer(t, `,"diagnostics":false`)
	s := d.withCode(t)
	defer s.Close()
	o := run(t, s, "edit", map[string]any{"file_path": filepath.Join(d.dir, "a.x"), "old_string": "fine", "new_string": "bad"})
	if text := o.Result.Text(); strings.Contains(text, "diagnostics") {
		t.Errorf("lsp.diagnostics is false: %q", text)
	}
}

// Until a server answers, the symbols of a file are found without it.
func TestSymbolsWhileStarting(t *testing.T) {
	d := newDesk(t).withServer(t, "")
	d.settle(t, `{"lsp":{"servers":{"slow":{"command":["sleep","1000"],"files":{".rb":"ruby"}}}}}`)
	d.write(t, "a.rb", "class A\nend\n")
	s, _ := d.open(t, &recording.Options{})
	defer s.Close()
	if s.Place() != permission.Overlay {
		t.Skip("there are no sandboxes here: adze doctor says why")
	}
	o := run(t, s, "code", map[string]any{"operation": "symbols", "file_path": "a.rb"})
	if text := o.Result.Text(); !strings.Contains(text, "slow is starting") || !strings.Contains(text, "\n1: class A\n") {
		t.Errorf("%s %q", o.Status, text)
	}
}

// A rename is one edit of all files: one question, refused if a rule denies a path, and undone at once.
func TestCodeRename(t *testing.T) {
	d := newDesk(t).withServer(t, "")
	d.write(t, "b.x", "old two\n")
	s := d.withCode(t)
	defer s.Close()
	args := map[string]any{"operation": "rename", "file_path": "a.x", "line": 1, "name": "old", "new_name": "newer"}
	o := run(t, s, "code", args)
	text := func() string {
		a, _ := os.ReadFile(filepath.Join(d.dir, "a.x"))
		b, _ := os.ReadFile(filepath.Join(d.dir, "b.x"))
		return string(a) + string(b)
	}
	if o.Status != tool.StatusSuccess || len(o.Changes.List) != 2 || text() != "newer one\nfine\nnewer two\n" {
		t.Fatalf("%s %q: %q", o.Status, o.Result.Text(), text())
	}
	if _, err := s.Rules.Add(s.Executor, "deny", "Edit(b.x)"); err != nil {
		t.Fatal(err)
	}
	args["name"], args["new_name"] = "newer", "old"
	if o = run(t, s, "code", args); o.Status != tool.StatusDenied || text() != "newer one\nfine\nnewer two\n" {
		t.Fatalf("with a deny rule on one path: %s %q", o.Status, text())
	}
}

// A hostile server reads no secret, writes and sends nothing, and leaves no process.
func TestHostileServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	d := newDesk(t).withServer(t, "")
	put(t, filepath.Join(d.dir, ".env"), "PASSWORD=hunter2hunter2\n")
	user := strings.TrimPrefix(d.environ[1], "HOME=")
	put(t, filepath.Join(user, ".ssh", "id_ed25519"), "hunter2hunter2\n")
	marker := strconv.Itoa(1_000_000 + os.Getpid())
	d.write(t, "a.x", strings.Join([]string{"read .env", "read " + user + "/.ssh/id_ed25519", "read " + d.home + "/settings.json",
		"write evil", "write " + user + "/evil", "write /tmp/evil", "dial " + listener.Addr().String(), "stay " + marker}, "\n"))
	s := d.withCode(t)
	closing := sync.OnceFunc(func() { s.Close() })
	defer closing()
	o := run(t, s, "code", map[string]any{"operation": "hover", "file_path": "a.x", "line": 1, "name": "read"})
	said := strings.Split(o.Result.Text(), "\n")
	if len(said) != 8 || said[7] != "stay: <nil>" {
		t.Fatalf("the server's attempts: %q", said)
	}
	for i, line := range said[:7] {
		if strings.Contains(line, "hunter2") || strings.Contains(line, "approvalMode") ||
			i > 2 && i != 5 && strings.HasSuffix(line, "<nil>") {
			t.Errorf("attempt %d succeeded: %s", i, line)
		}
	}
	for _, path := range []string{d.dir + "/evil", user + "/evil", "/tmp/evil"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	closing()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), "sleep\x00"+marker) {
			t.Errorf("a process is left: %s", path)
		}
	}
}

// In an untrusted project, and without servers, code isn't offered, and nothing starts.
func TestNoServers(t *testing.T) {
	for name, change := range map[string]func(d *desk){
		"untrusted": func(d *desk) {
			put(t, filepath.Join(d.dir, ".adze", "settings.json"), `{"tools":{"afterChange":[{"glob":"*","run":["true"]}]}}`)
		},
		"not installed": func(d *desk) {
			os.Remove(filepath.Join(strings.TrimPrefix(d.environ[1], "HOME="), "bin", scriptedServer))
		},
		"no such files": func(d *desk) { os.Remove(filepath.Join(d.dir, "a.x")) },
	} {
		d := newDesk(t).withServer(t, "")
		change(d)
		s, _ := d.open(t, &recording.Options{})
		if _, err := s.Executor.Registry.Lookup("code"); err == nil || s.Tools.LanguageServers() != nil {
			t.Errorf("%s: code is offered", name)
		}
		s.Close()
	}
}
