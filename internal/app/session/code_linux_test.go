package session

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/plainadze"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/lsp"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// scriptedServer is the name by which this test program is a language server: see serveScripted.
const scriptedServer = "scripted-server"

// withServer installs the scripted server for files *.x.
func (d *desk) withServer(t *testing.T, more string, args ...string) *desk {
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
	command, err := json.Marshal(append([]string{scriptedServer}, args...))
	if err != nil {
		t.Fatal(err)
	}
	d.settle(t, `{"tools":{"approvalMode":"yolo"},"lsp":{"servers":{"scripted":{"command":`+string(command)+
		`,"files":{".x":"x"}}}`+more+`}}`)
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

// A server of the user's settings needn't be in PATH. Its sandbox didn't let it start.
func TestServerByPath(t *testing.T) {
	d := newDesk(t).withServer(t, "")
	bin, _, _ := strings.Cut(strings.TrimPrefix(d.environ[0], "PATH="), ":")
	d.environ[0] = "PATH=" + os.Getenv("PATH")
	text, _ := os.ReadFile(filepath.Join(d.home, "settings.json"))
	d.settle(t, strings.Replace(string(text), `"scripted-server"`, strconv.Quote(filepath.Join(bin, scriptedServer)), 1))
	d.withCode(t)
}

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

// A rename of more than three files: the user sees a diff of each file, the model a list of files, and undo restores them all.
func TestCodeRenameOfManyFiles(t *testing.T) {
	d := newDesk(t).withServer(t, "")
	before := map[string]string{}
	for _, name := range []string{"a.x", "b.x", "c.x", "d.x", "e.x"} {
		before[name] = "old " + name + "\n"
		d.write(t, name, before[name])
	}
	s := d.withCode(t)
	defer s.Close()
	o := run(t, s, "code", map[string]any{"operation": "rename", "file_path": "a.x", "line": 1, "name": "old", "new_name": "newer"})
	var want strings.Builder
	want.WriteString("rename old to newer (a.x:1) changed:")
	for _, name := range []string{"a.x", "b.x", "c.x", "d.x", "e.x"} {
		want.WriteString("\n" + filepath.Join(d.dir, name) + ": 1 place")
		if text, _ := os.ReadFile(filepath.Join(d.dir, name)); string(text) != "newer "+name+"\n" {
			t.Errorf("%s: %q", name, text)
		}
	}
	if o.Result.Text() != want.String() {
		t.Errorf("the model reads\n%s\nwant\n%s", o.Result.Text(), want.String())
	}
	shown, ok := o.Result.Display.(tool.FileDiff)
	if !ok || shown.File != "5 files" || strings.Count(shown.Diff, "\n-old ") != 5 || strings.Count(shown.Diff, "\n+newer ") != 5 ||
		strings.Count(shown.Diff, "--- ") != 5 {
		t.Errorf("the user sees %+v", o.Result.Display)
	}
	if len(o.Changes.List) != 5 {
		t.Errorf("changes: %+v", o.Changes.List)
	}
}

// Broken servers: a clear result each, the session goes on and ends at once, and no process is left.
func TestBrokenServers(t *testing.T) {
	for way, want := range map[string]string{
		"garbage": "printed text that isn't a message", "header": "announced a message of 1073741824 bytes", "exits": "it exited",
		"deaf": "No answer yet: scripted is starting", "forks": "one:",
	} {
		t.Run(way, func(t *testing.T) {
			marker := strconv.Itoa(2_000_000 + os.Getpid())
			d := newDesk(t).withServer(t, "", way, marker)
			d.write(t, "a.x", "one\n")
			s, _ := d.open(t, &recording.Options{})
			closing := sync.OnceFunc(func() { s.Close() })
			defer closing()
			if s.Place() != permission.Overlay {
				t.Skip("there are no sandboxes here: adze doctor says why")
			}
			var text string
			waittest.Until(t, "the answer", func() bool {
				o := run(t, s, "code", map[string]any{"operation": "hover", "file_path": "a.x", "line": 1, "name": "one"})
				text = o.Result.Text()
				if o.Error != nil {
					text += o.Error.Message
				}
				return way == "deaf" || !strings.Contains(text, "No answer yet")
			})
			if !strings.Contains(text, want) {
				t.Errorf("got %q, want %q", text, want)
			}
			o := run(t, s, "edit", map[string]any{"file_path": filepath.Join(d.dir, "a.x"), "old_string": "one", "new_string": "two"})
			if o.Status == tool.StatusSuccess {
				t.Error("an edit of a file that wasn't read")
			}
			run(t, s, "read_file", map[string]any{"absolute_path": filepath.Join(d.dir, "a.x")})
			if o = run(t, s, "edit", map[string]any{"file_path": filepath.Join(d.dir, "a.x"), "old_string": "one", "new_string": "two"}); o.Status != tool.StatusSuccess {
				t.Errorf("an edit: %s %q", o.Status, o.Result.Text())
			}
			closing()
			noProcess(t, marker)
		})
	}
}

// noProcess reports processes with an argument.
func noProcess(t *testing.T, marker string) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), "\x00"+marker) && filepath.Base(filepath.Dir(path)) != strconv.Itoa(os.Getpid()) {
			t.Errorf("a process is left: %s %q", path, text)
		}
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
	noProcess(t, marker)
}

// The same as an ordinary user.
func TestHostileServerAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestHostileServer is that test")
	}
	dir, err := os.MkdirTemp("", "adze-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "test"), self, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o777),
			os.Chmod(filepath.Join(dir, "tmp"), 0o777), os.Chmod(dir, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.run=^TestHostileServer$", "-test.v")
	child.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=" + dir + "/tmp",
		plainadze.Variable + "=" + os.Getenv(plainadze.Variable)}
	child.Dir, child.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") && !strings.Contains(string(out), "there are no sandboxes here") {
		t.Errorf("%v\n%s", err, out)
	}
}

// In an untrusted project, without servers and without a sandbox, code isn't offered, and nothing starts. It was offered
// without a sandbox, and each call failed.
func TestNoServers(t *testing.T) {
	for name, change := range map[string]func(d *desk){
		"untrusted": func(d *desk) {
			put(t, filepath.Join(d.dir, ".adze", "settings.json"), `{"tools":{"afterChange":[{"glob":"*","run":["true"]}]}}`)
		},
		"not installed": func(d *desk) {
			os.Remove(filepath.Join(strings.TrimPrefix(d.environ[1], "HOME="), "bin", scriptedServer))
		},
		"no sandbox": func(d *desk) {
			text, _ := os.ReadFile(filepath.Join(d.home, "settings.json"))
			d.settle(t, strings.Replace(string(text), `{"tools":{`, `{"tools":{"sandbox":"off",`, 1))
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
