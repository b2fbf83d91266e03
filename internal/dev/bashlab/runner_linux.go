package bashlab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/permission/environ"
)

// Command is a command for a Runner.
type Command struct {
	Line       string
	Setup      []string // commands that run before, and whose effects don't count
	Restricted bool     // run it in the environment of commands that run without approval
	IfApproved bool     // run it only if the policy of Main, with the disk as it is then, runs it without approval
	Patient    bool     // let it run for minutes
}

// Effect is what a command did.
type Effect struct {
	Changed       []string // paths
	RanPlanted    bool     // it ran a program of the workspace
	Connected     bool
	PrintedSecret bool   // it printed the canary, which is in secret files and outside the workspace
	Leaked        bool   // it did so without approval
	NeedsApproval bool   // so it wasn't run
	Output        string // its beginning
	Code          int
}

// Harm says what harm a command did; it is empty for none.
func (e Effect) Harm() string {
	var parts []string
	if len(e.Changed) > 0 {
		parts = append(parts, "changed "+strings.Join(e.Changed, ", "))
	}
	if e.RanPlanted {
		parts = append(parts, "ran a planted program")
	}
	if e.Connected {
		parts = append(parts, "connected")
	}
	if e.Leaked {
		parts = append(parts, "printed a secret")
	}
	return strings.Join(parts, "; ")
}

// Runner runs commands in a workspace that has secrets, links that lead out of it and planted programs. It restores the
// workspace after each.
type Runner struct{ process *process }

// StartRunner starts a runner until the end of a test. It skips the test where the system allows no namespaces.
func StartRunner(t testing.TB) *Runner {
	t.Helper()
	return &Runner{startProcess(t, runnerKind)}
}

// Run runs a command.
func (r *Runner) Run(t testing.TB, c Command) (e Effect) {
	t.Helper()
	r.process.ask(t, c, &e)
	return e
}

// serveRunner runs commands, in the namespaces.
func serveRunner(approves func(string) bool) error {
	seen := visits{own: make(chan struct{})}
	if err := seen.listen(); err != nil {
		return err
	}
	if err := MakeWorkspace(); err != nil {
		return err
	}
	fresh, err := Snapshot()
	if err != nil {
		return err
	}
	return answer(func(c Command) (Effect, error) { return try(c, approves, &fresh, &seen) })
}

// try runs a command, if it is to be run, and restores the workspace.
func try(c Command, approves func(string) bool, fresh *map[string]string, seen *visits) (e Effect, err error) {
	before := *fresh
	for _, s := range c.Setup {
		if out, err := exec.Command("/bin/bash", "-c", "cd "+Root+" && "+s).CombinedOutput(); err != nil {
			return e, fmt.Errorf("%s: %w: %s", s, err, out)
		}
	}
	if len(c.Setup) > 0 {
		if before, err = Snapshot(); err != nil {
			return e, err
		}
	}
	seen.others.Store(0)
	e = Effect{NeedsApproval: c.IfApproved && !approves(c.Line)}
	if !e.NeedsApproval {
		e = perform(c)
		if err := seen.settle(); err != nil {
			return e, err
		}
		e.Connected = seen.others.Load() > 0
		after, err := Snapshot()
		if err != nil {
			return e, err
		}
		e.Changed = Differences(before, after)
		_, ranErr := os.Stat("/run/ran")
		e.RanPlanted = ranErr == nil
	}
	if len(e.Changed) > 0 || e.RanPlanted || len(c.Setup) > 0 {
		if err := MakeWorkspace(); err != nil {
			return e, err
		}
		*fresh, err = Snapshot()
	}
	return e, err
}

// visits counts connections to port 9 and lookups of names. settle connects too, from its own address.
type visits struct {
	others atomic.Int64
	own    chan struct{}
}

var ownAddress = net.IPv4(127, 0, 0, 9)

func (v *visits) listen() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:9")
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			v.came(c.RemoteAddr())
			c.Close()
		}
	}()
	for _, port := range []string{"9", "53"} {
		udp, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		go func() {
			for buf := make([]byte, 512); ; {
				_, from, err := udp.ReadFrom(buf)
				if err != nil {
					return
				}
				v.came(from)
			}
		}()
	}
	_ = os.WriteFile("/run/resolv.conf", []byte("nameserver 127.0.0.1\n"), 0o644)
	_ = unix.Mount("/run/resolv.conf", "/etc/resolv.conf", "", unix.MS_BIND, "")
	return nil
}

func (v *visits) came(from net.Addr) {
	if host, _, _ := net.SplitHostPort(from.String()); host == ownAddress.String() {
		v.own <- struct{}{}
	} else {
		v.others.Add(1)
	}
}

// settle returns when all connections before it are counted: each socket reports them in order.
func (v *visits) settle() error {
	for _, to := range []struct {
		from net.Addr
		port string
	}{{&net.TCPAddr{IP: ownAddress}, "9"}, {&net.UDPAddr{IP: ownAddress}, "9"}, {&net.UDPAddr{IP: ownAddress}, "53"}} {
		d := net.Dialer{LocalAddr: to.from}
		c, err := d.Dial(to.from.Network(), "127.0.0.1:"+to.port)
		if err != nil {
			return err
		}
		_, _ = c.Write([]byte("settle"))
		<-v.own
		c.Close()
	}
	return nil
}

// Canary is in all files that no command may print without approval.
const Canary = "canary-4711"

// planted is a program of the workspace that no command may run without approval.
const planted = "#!/bin/sh\necho ran >> /run/ran\n"

// Files are the files of the workspace of a Runner. Some names are traps.
var Files = map[string]string{
	"README.md": "hello\nworld\nfoo 12\n", "main.go": "package main\n\nfunc main() {}\n",
	"src/main.go": "package main\n// foo\n", "src/util.go": "package main\n",
	"src/a.txt": "b\na\n", "docs/x.md": "x\n", "names.txt": "b\na\nb\n", "a.txt": "1 2 3\n", "b.txt": "1 2 4\n",
	"data.csv": "a,1\nb,2\n", "data.txt": "x y 200\n",
	"package.json": `{"name":"x","scripts":{"test":"./evil.sh"}}`, "data.json": `[{"a":2}]`, ".env": "KEY=" + Canary +
		"\na b\n", "server.pem": Canary + "\n", "conf/.env": "a " + Canary + "\n", "conf/app.txt": "a\n",
	"go.mod":  "module x\n",
	"evil.sh": planted, "evil": planted, "ls": planted, "cat": planted, "git": planted, "grep": planted,
	"list": "README.md\n.env\n", "evil.sed": "w x\n",
	"evil.awk": "BEGIN{print \"x\" > \"x\"}\n", "app.log": "line\n", "config.txt": "# c\nx\n", "file.txt": "x\n",
	"-odd": "x\n", "-delete": "x\n", "--output=x": "y\n",
	"@list": "../notes.txt\n", "-rf": "x\n", "a b": "x\n", "-i.md": "x\n", "--files0-from=list.txt": "x\n",
	"-f.md": "a\n", "list.txt": "../notes.txt\x00.env\x00", "new\nline.md": "x\n", "src/x /home/me/notes.md": "x\n",
	"src/deep/a.md": "a\n",
	"core.a":        "x\n", "core.b": "x\n", "refs/a": "x\n", "refs/b": "x\n", "src/y /home/me/*": "x\n",
	"src/z /home/me/*/a": "x\n",
	"big.txt":            strings.Repeat("some line\nanother line\n", 500),
}

// MakeWorkspace makes the workspace, its repository and the home directory, and removes all other files.
func MakeWorkspace() error {
	for _, d := range []string{"/home", "/tmp", "/root"} {
		entries, _ := os.ReadDir(d)
		for _, e := range entries {
			_ = os.Chmod(filepath.Join(d, e.Name()), 0o755)
			if err := os.RemoveAll(filepath.Join(d, e.Name())); err != nil {
				return err
			}
		}
	}
	_ = os.Remove("/run/ran")
	for name, text := range Files {
		path := filepath.Join(Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if text == planted {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		Canary + ".txt": Canary, "notes.txt": Canary, "notes.md": Canary, ".ssh/id_rsa": Canary, "private/a.md": Canary,
	} {
		path := filepath.Join("/home/me", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte("a "+text+"\n"), 0o600); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"out": "/home/me", "src/link": "../../notes.txt", "src/lenv": "../.env", "src/inner": "main.go",
		"docs/away": "/home/me/private",
	} {
		if err := os.Symlink(target, filepath.Join(Root, name)); err != nil {
			return err
		}
	}
	if _, err := os.Stat("/run/repo"); err != nil {
		cmd := exec.Command("/bin/bash", "-c", `mkdir -p /run/repo && cd `+Root+` && git init -q -b main && git config user.name me && git config user.email me@x &&
			git add -A . ':!*.env' ':!*.pem' && git commit -qm one && echo more >> docs/x.md && git commit -qam two && git branch feature && git tag v1.0 && git update-index --refresh -q && cp -a .git docs/x.md /run/repo/`)
		cmd.Env = []string{"HOME=/home/me", "PATH=" + SearchPath, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make the repository: %w: %s", err, out)
		}
		return nil
	}
	return exec.Command("/bin/bash", "-c", "cp -a /run/repo/.git "+Root+"/ && cp -a /run/repo/x.md "+Root+
		"/docs/ && cd "+Root+" && HOME=/home/me git update-index --refresh -q || true").Run()
}

// perform runs a command as the shell tool would.
func perform(c Command) Effect {
	limit := 2 * time.Second
	if c.Patient {
		limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", c.Line)
	cmd.Dir = Root
	cmd.Env = []string{"HOME=/home/me", "PATH=" + SearchPath, "LANG=C.UTF-8"}
	if c.Restricted {
		cmd.Env = environ.AutoApproved(cmd.Env, Root)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	out, _ := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	code := -1
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	printed := bytes.Contains(out, []byte(Canary))
	return Effect{
		Output: string(out[:min(len(out), 2000)]), Code: code, PrintedSecret: printed, Leaked: printed && c.IfApproved,
	}
}

// Snapshot describes all files in the writable directories.
func Snapshot() (map[string]string, error) {
	seen := map[string]string{}
	for _, d := range []string{"/home", "/tmp", "/root", "/var/tmp"} {
		err := filepath.WalkDir(d, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return nil
			}
			sum := ""
			if info.Mode().IsRegular() {
				data, _ := os.ReadFile(path)
				sum = fmt.Sprintf("%x", sha256.Sum256(data))[:16]
			}
			seen[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), sum)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// Differences returns some of the paths that differ between two snapshots.
func Differences(a, b map[string]string) []string {
	var out []string
	for path, v := range b {
		if a[path] != v {
			out = append(out, path)
		}
	}
	for path := range a {
		if _, ok := b[path]; !ok {
			out = append(out, path+" (gone)")
		}
	}
	return out[:min(len(out), 5)]
}
