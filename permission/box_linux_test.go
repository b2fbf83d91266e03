package permission_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/environ"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

// The box is a second process of this test binary in user, mount, pid, network and ipc namespaces of its own. It sees
// the disk read-only, with tmpfs in place of /home, /tmp and the like, and a network in which nobody but itself
// answers. Commands that may do harm are run in there and nowhere else.

const boxVariable = "ADZE_PERMISSION_BOX"

// boxPath is the PATH in the box: that of the test may lead to folders that are empty in there, such as /tmp/x/bin.
const boxPath = "/usr/local/bin:/usr/bin:/bin"

// boxWritable are the folders that are a tmpfs in the box.
var boxWritable = []string{"/home", "/tmp", "/run", "/root", "/var/tmp"}

// inBox reports whether the box has a program.
func inBox(name string) bool {
	return slices.ContainsFunc(filepath.SplitList(boxPath), func(dir string) bool {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		return err == nil && !slices.ContainsFunc(boxWritable, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
	})
}

func TestMain(m *testing.M) {
	for variable, inside := range map[string]func() error{boxVariable: boxMain, recorderVariable: recorderMain} {
		if os.Getenv(variable) == "" {
			continue
		}
		if err := inside(); err != nil {
			fmt.Fprintln(os.Stderr, "box:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// order is a command to be run in the box.
type order struct {
	Command string
	Unasked bool     // in the environment of commands that run unasked
	Setup   []string // commands of our own that run before, and do not count
	Patient bool     // let it run for long
	Judge   bool     // run it only if the policy, with the disk of the box before its eyes, would not ask
}

// effect is what a command did.
type effect struct {
	Changed   []string // paths
	Ran       bool     // a planted program
	Connected bool
	Told      bool   // the canary, which lies in the secrets and outside the workspace
	Leaked    bool   // it was told by what ran unasked
	Asked     bool   // so it was not run
	Output    string // its beginning
	Code      int
}

func (e effect) harm() string {
	var parts []string
	if len(e.Changed) > 0 {
		parts = append(parts, "changed "+strings.Join(e.Changed, ", "))
	}
	if e.Ran {
		parts = append(parts, "ran a planted program")
	}
	if e.Connected {
		parts = append(parts, "connected")
	}
	if e.Leaked {
		parts = append(parts, "told a secret")
	}
	return strings.Join(parts, "; ")
}

// box is the process, seen from outside.
type box struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// startBox starts a box, or skips the test where the system does not allow one.
func startBox(t testing.TB) *box {
	t.Helper()
	return startBoxAs(t, boxVariable)
}

// startBoxAs starts the kind of box that the variable stands for.
func startBoxAs(t testing.TB, variable string) *box {
	t.Helper()
	b, err := openBox(variable)
	if err != nil {
		t.Skipf("no box here, so nothing is run: %v", err)
	}
	t.Cleanup(b.close)
	return b
}

func openBox(variable string) (*box, error) {
	dir, err := os.MkdirTemp("", "box")
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir) // it is a place to mount on, and only in there
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &box{in: in, out: bufio.NewReaderSize(out, 1<<20), cmd: cmd}
	if line, err := b.out.ReadString('\n'); err != nil || line != "ready\n" {
		b.close()
		return nil, fmt.Errorf("%s %w", stderr.String(), err)
	}
	return b, nil
}

// close ends the box: it ends by itself when nobody speaks to it any more.
func (b *box) close() {
	b.in.Close()
	_ = b.cmd.Wait()
}

func (b *box) run(t testing.TB, o order) (e effect) {
	t.Helper()
	b.ask(t, o, &e)
	return e
}

// ask sends the box a question and waits for its answer.
func (b *box) ask(t testing.TB, question, answer any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	data, _ := json.Marshal(question)
	if _, err := b.in.Write(append(data, '\n')); err != nil {
		t.Fatal(err)
	}
	line, err := b.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the box broke at %+v: %v", question, err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		t.Fatal(err)
	}
}

// boxMain is the process, seen from inside.
func boxMain() error {
	if err := enterBox(os.Getenv(boxVariable)); err != nil {
		return err
	}
	seen := visits{own: make(chan struct{})}
	if err := seen.listen(); err != nil {
		return err
	}
	if err := setup(); err != nil {
		return err
	}
	fresh, err := look()
	if err != nil {
		return err
	}
	return answer(func(o order) (effect, error) { return try(o, &fresh, &seen) })
}

// answer answers the questions that come in, one a line, until nobody asks any more.
func answer[Q, A any](do func(Q) (A, error)) error {
	fmt.Println("ready")
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var q Q
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		a, err := do(q)
		if err != nil {
			return err
		}
		data, _ := json.Marshal(a)
		fmt.Println(string(data))
	}
}

// try runs a command, if it is to be run, and leaves the box as fresh as it was.
func try(o order, fresh *map[string]string, seen *visits) (e effect, err error) {
	before := *fresh
	for _, s := range o.Setup {
		if out, err := exec.Command("/bin/bash", "-c", "cd "+root+" && "+s).CombinedOutput(); err != nil {
			return e, fmt.Errorf("%s: %w: %s", s, err, out)
		}
	}
	if len(o.Setup) > 0 {
		if before, err = look(); err != nil {
			return e, err
		}
	}
	seen.others.Store(0)
	e = effect{Asked: o.Judge && !unaskedHere(o.Command)}
	if !e.Asked {
		e = perform(o)
		if err := seen.settle(); err != nil {
			return e, err
		}
		e.Connected = seen.others.Load() > 0
		after, err := look()
		if err != nil {
			return e, err
		}
		e.Changed = differences(before, after)
		_, ranErr := os.Stat("/run/ran")
		e.Ran = ranErr == nil
	}
	if len(e.Changed) > 0 || e.Ran || len(o.Setup) > 0 {
		if err := setup(); err != nil {
			return e, err
		}
		*fresh, err = look()
	}
	return e, err
}

// enterBox makes the disk read-only, with a tmpfs on all that should be writable, and the network's loopback work.
func enterBox(dir string) error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"bind /", func() error { return unix.Mount("/", dir, "", unix.MS_BIND|unix.MS_REC, "") }},
		{"make it read-only", func() error {
			return unix.MountSetattr(unix.AT_FDCWD, dir, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		}},
		{"mount /proc", func() error { return unix.Mount("proc", dir+"/proc", "proc", 0, "") }},
		{"chroot", func() error { return unix.Chroot(dir) }},
		{"chdir", func() error { return os.Chdir("/") }},
		{"raise lo", raiseLoopback},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	for _, d := range boxWritable {
		if err := unix.Mount("tmpfs", d, "tmpfs", 0, "mode=777"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mount %s: %w", d, err)
		}
	}
	return os.Setenv("PATH", boxPath)
}

func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// visits counts who comes to port 9, and who asks for a name. settle comes itself, from an address of its own.
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

// settle returns when all that came before it is counted: each socket hands out who came in order.
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

// canary stands in what nobody may see unasked.
const canary = "canary-4711"

const planted = "#!/bin/sh\necho ran >> /run/ran\n"

// furniture is what lies in the workspace. Some names are bait.
var furniture = map[string]string{
	"README.md": "hello\nworld\nfoo 12\n", "main.go": "package main\n\nfunc main() {}\n", "src/main.go": "package main\n// foo\n", "src/util.go": "package main\n",
	"src/a.txt": "b\na\n", "docs/x.md": "x\n", "names.txt": "b\na\nb\n", "a.txt": "1 2 3\n", "b.txt": "1 2 4\n", "data.csv": "a,1\nb,2\n", "data.txt": "x y 200\n",
	"package.json": `{"name":"x","scripts":{"test":"./evil.sh"}}`, "data.json": `[{"a":2}]`, ".env": "KEY=" + canary + "\na b\n", "server.pem": canary + "\n", "conf/.env": "a " + canary + "\n", "conf/app.txt": "a\n", "go.mod": "module x\n",
	"evil.sh": planted, "evil": planted, "ls": planted, "cat": planted, "git": planted, "grep": planted, "list": "README.md\n.env\n", "evil.sed": "w x\n",
	"evil.awk": "BEGIN{print \"x\" > \"x\"}\n", "app.log": "line\n", "config.txt": "# c\nx\n", "file.txt": "x\n", "-odd": "x\n", "-delete": "x\n", "--output=x": "y\n",
	"@list": "../notes.txt\n", "-rf": "x\n", "a b": "x\n", "-i.md": "x\n", "--files0-from=list.txt": "x\n", "-f.md": "a\n", "list.txt": "../notes.txt\x00.env\x00", "new\nline.md": "x\n", "src/x /home/me/notes.md": "x\n", "src/deep/a.md": "a\n",
	"core.a": "x\n", "core.b": "x\n", "refs/a": "x\n", "refs/b": "x\n", "src/y /home/me/*": "x\n", "src/z /home/me/*/a": "x\n",
	"big.txt": strings.Repeat("some line\nanother line\n", 500),
}

// setup puts the box in order: a workspace with a repository, a home, nothing else.
func setup() error {
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
	for name, text := range furniture {
		path := filepath.Join(root, name)
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
	for name, text := range map[string]string{canary + ".txt": canary, "notes.txt": canary, "notes.md": canary, ".ssh/id_rsa": canary, "private/a.md": canary} {
		path := filepath.Join("/home/me", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte("a "+text+"\n"), 0o600); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"out": "/home/me", "src/link": "../../notes.txt", "src/lenv": "../.env", "src/inner": "main.go", "docs/away": "/home/me/private"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	if _, err := os.Stat("/run/repo"); err != nil {
		cmd := exec.Command("/bin/bash", "-c", `mkdir -p /run/repo && cd `+root+` && git init -q -b main && git config user.name me && git config user.email me@x &&
			git add -A . ':!*.env' ':!*.pem' && git commit -qm one && echo more >> docs/x.md && git commit -qam two && git branch feature && git tag v1.0 && git update-index --refresh -q && cp -a .git docs/x.md /run/repo/`)
		cmd.Env = []string{"HOME=/home/me", "PATH=" + boxPath, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make the repository: %w: %s", err, out)
		}
		return nil
	}
	return exec.Command("/bin/bash", "-c", "cp -a /run/repo/.git "+root+"/ && cp -a /run/repo/x.md "+root+"/docs/ && cd "+root+" && HOME=/home/me git update-index --refresh -q || true").Run()
}

// perform runs a command as the shell tool would.
func perform(o order) effect {
	limit := 2 * time.Second
	if o.Patient {
		limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", o.Command)
	cmd.Dir = root
	cmd.Env = []string{"HOME=/home/me", "PATH=" + boxPath, "LANG=C.UTF-8"}
	if o.Unasked {
		cmd.Env = environ.Unasked(cmd.Env, root)
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
	told := bytes.Contains(out, []byte(canary))
	return effect{Output: string(out[:min(len(out), 2000)]), Code: code, Told: told, Leaked: told && o.Judge}
}

// unaskedHere reports whether a command would run unasked in the box, as it is furnished now.
func unaskedHere(line string) bool {
	w := permission.World{Roots: []string{root}, Home: "/home/me", State: "/home/me/.adze", Disk: ondisk.New([]string{root}), Path: systemPath}.Patient()
	return permission.New(w, permission.Default).Judge(commandRequest(line)).Verdict == tool.Allow
}

// look takes down all there is in the writable parts.
func look() (map[string]string, error) {
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

func differences(a, b map[string]string) []string {
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
