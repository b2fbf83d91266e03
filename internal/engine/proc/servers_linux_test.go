package proc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// servers are programs that listen on their own sockets. Each line is a
// its own command.
var servers = []struct {
	needs   string // programs
	files   map[string]string
	lines   []string
	notRoot bool // the program refuses to run as root
	home    bool // needs a home directory with caches
}{
	{
		needs: "tmux",
		lines: []string{
			`tmux -f /dev/null -S tmux new-session -d -s x 'PS1=\$ exec sh'`,
			// A shell that is just starting may drop what is typed.
			`until tmux -S tmux capture-pane -p -t x | grep -q ^23done; do tmux -S tmux send-keys -t x 'echo $((20+3))done' Enter; sleep 0.2; done`,
			`tmux -S tmux kill-server`,
		},
	},
	{
		needs: "tmux", // where it puts its socket by itself
		lines: []string{`mkdir -p t && export TMUX_TMPDIR=$PWD/t && tmux -f /dev/null new-session -d -s x 'sleep 600' && tmux ls`, `TMUX_TMPDIR=$PWD/t tmux kill-server`},
	},
	{
		needs: "gpg",
		lines: []string{
			`mkdir -m 700 g && GNUPGHOME=$PWD/g gpg --batch -q --passphrase '' --quick-gen-key a@example.test ed25519 sign never`,
			`echo text > text && GNUPGHOME=$PWD/g gpg --batch -q -b -u a@example.test text && GNUPGHOME=$PWD/g gpg --batch -q --verify text.sig text`,
			`GNUPGHOME=$PWD/g gpgconf --kill gpg-agent`,
		},
	},
	{
		needs: "ssh-agent ssh-add ssh-keygen",
		lines: []string{
			`ssh-agent -a agent >/dev/null && ssh-keygen -q -t ed25519 -N '' -C someone -f key`,
			`SSH_AUTH_SOCK=$PWD/agent ssh-add -q key && SSH_AUTH_SOCK=$PWD/agent ssh-add -l | grep someone`,
		},
	},
	{
		needs: "initdb postgres psql", notRoot: true,
		lines: []string{
			`initdb -D data -U me --auth=trust -N >/dev/null 2>&1; nohup postgres -D data -k $PWD -h 127.0.0.1 -p 54329 >log 2>&1 & true`,
			`until psql -qAt -h $PWD -p 54329 -U me postgres -c 'create table t (n int)' 2>/dev/null; do sleep 0.1; done`,
			`psql -qAt -h 127.0.0.1 -p 54329 -U me postgres -c 'insert into t values (7)' -c 'select n from t' | grep -x 7`,
			`kill $(head -1 data/postmaster.pid) 2>/dev/null; psql -h $PWD -p 54329 -U me postgres -c 'select 1' | grep -q 1`,
		},
	},
	{
		needs: "python3 curl",
		lines: []string{`nohup python3 -m http.server 8123 --bind 127.0.0.1 >log 2>&1 & true`, `echo served > page; until curl -s http://127.0.0.1:8123/page; do sleep 0.1; done | grep served`},
	},
	{
		needs: "python3",
		files: map[string]string{"server.py": "import socketserver as s\nclass H(s.StreamRequestHandler):\n    def handle(self): self.wfile.write(self.rfile.readline().upper())\ns.ThreadingUnixStreamServer('sock', H).serve_forever()\n",
			"client.py":  "import socket\nc = socket.socket(socket.AF_UNIX)\nc.connect('sock')\nc.sendall(b'hello\\n')\nassert c.recv(9) == b'HELLO\\n'\n",
			"manager.py": "from multiprocessing import Manager, set_start_method\nif __name__ == '__main__':\n    set_start_method('forkserver')\n    with Manager() as m:\n        d = m.dict(); d['a'] = 1; assert d['a'] == 1\n"},
		lines: []string{`nohup python3 server.py >log 2>&1 & until [ -S sock ]; do sleep 0.1; done`, `until python3 client.py 2>err; do sleep 0.1; done`, `python3 manager.py`},
	},
	{
		needs: "node",
		files: map[string]string{"cluster.js": `
const cluster = require('cluster'), net = require('net');
if (cluster.isPrimary) {
  const w = cluster.fork();
  w.on('listening', () => {
    net.connect('node.sock').on('data', d => { console.log(String(d)); w.kill(); process.exit(0); });
  });
} else net.createServer(c => c.end('from a worker')).listen('node.sock');
`},
		lines: []string{`node cluster.js | grep 'from a worker'`},
	},
	{
		needs: "go", home: true,
		files: map[string]string{"go.mod": "module example.test/s\n\ngo 1.21\n", "s_test.go": `package s

import ("net"; "os"; "path/filepath"; "testing")

func TestSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil { t.Fatal(err) }
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil { t.Fatal(err) }
	go func() { c, _ := l.Accept(); c.Close() }()
	if _, err := net.Dial("unix", l.Addr().String()); err != nil { t.Fatal(err) }
}
`},
		lines: []string{`GOTOOLCHAIN=local GOFLAGS=-mod=mod go test -count=1 .`},
	},
}

// Programs with sockets of their own work, with their servers in one command and
// their clients in the next.
func TestServers(t *testing.T) {
	for _, s := range servers {
		t.Run(strings.ReplaceAll(s.needs, " ", "+"), func(t *testing.T) {
			if why := missing(s.needs); why != "" {
				t.Skip(why)
			}
			if s.notRoot && os.Getuid() == 0 || s.home && os.Getenv("HOME") == "/nonexistent" {
				t.Skip("is tested as another user")
			}
			inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
				if s.home {
					spec.Write = append(spec.Write, places.Caches(os.Environ())...)
				}
				for name, text := range s.files {
					if err := os.WriteFile(filepath.Join(f.in, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				for _, line := range s.lines {
					o := run(t, r, Command{Line: line, Dir: f.in, Env: f.env, Sandbox: spec, Timeout: 5 * time.Minute})
					if o.Exit != 0 {
						log, _ := os.ReadFile(f.in + "/log")
						t.Fatalf("%s: exit %d: %s (%s, %s) %s", line, o.Exit, o.Output, o.Suspect, o.Remedy, log)
					}
				}
			})
		})
	}
}

// Without a session process, each command has its own network and sockets, with a note.
func TestNoSession(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		r.keeper.breaks(inSession, errors.New("a test says so"))
		o := run(t, r, f.playing(t, spec, "listen"))
		if o.Exit != 0 || !strings.Contains(strings.Join(o.Notes, " "), "Commands can't reach servers of other commands: a test says so.") {
			t.Errorf("%+v", o)
		}
	})
}

// When the session process is killed, so are its commands, because it kept what
// they must not do without. The next command is in a new session.
func TestSessionKilled(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		server, err := r.Start(context.Background(), f.playing(t, spec, "serve"))
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the server is up", func() bool { return server.Read(0, 0).Text != "" })
		r.keeper.session.one.process.Kill()
		within(t, server, server.gone)
		f.play(t, r, spec, "listen")
		f.play(t, r, spec, "listen")
	})
}

// A session process that was killed after it had started a keeper, and before it said so, left that keeper with the
// control socket of the next one. It could take the command, and the program waited for ever.
func TestSessionKilledWhileStarting(t *testing.T) {
	inSandboxes(t, func(t *testing.T, r *Runner, f *field, spec *sandbox.Spec) {
		ours, theirs, err := packets()
		if err != nil {
			t.Fatal(err)
		}
		sleep := exec.Command("sleep", "1000")
		if err := sleep.Start(); err != nil {
			t.Fatal(err)
		}
		r.keeper.session.one = &session{process: sleep.Process, ctl: ours}
		received := make(chan string, 1)
		go func() {
			conn, err := net.FileConn(theirs)
			theirs.Close()
			if err != nil {
				received <- err.Error()
				return
			}
			_, fds, err := receiveFiles(conn.(*net.UnixConn))
			conn.Close()
			if err != nil || len(fds) != 2 {
				received <- fmt.Sprint(fds, err)
				return
			}
			ctl := os.NewFile(uintptr(fds[0]), "control")
			unix.Close(fds[1])
			kind, _, err := receive(ctl)
			ctl.Close()
			received <- fmt.Sprint(string(kind), err)
		}()
		f.play(t, r, spec, "listen")
		if got := <-received; got != "\x00EOF" {
			t.Errorf("the keeper of the killed session received %q", got)
		}
	})
}

// A session that keeps too much is left to its commands.
func TestSessionFull(t *testing.T) {
	needsSockets(t)
	m := newMeeting()
	m.kept = make([]int, maxKept)
	if pid, errno := startKeeper(inSession, []int{0, 1}, m); pid != 0 || errno == 0 {
		t.Error(pid, errno)
	}
}

// The session process exits with the program, whatever ends that.
func TestSessionEndsWithProgram(t *testing.T) {
	needsSockets(t)
	t.Parallel()
	cmd, keeper, tag := program(t, "keeper", t.TempDir(), "PROC_TEST_SANDBOX=workspace")
	var session int
	for _, d := range descendants(cmd.Process.Pid) {
		if line, _ := os.ReadFile(procFile(d.pid, "cmdline")); strings.Contains(string(line), sessionArg) {
			session = d.pid
		}
	}
	if session == 0 || keeper == 0 {
		t.Fatal("the program has no session process")
	}
	kill(t, cmd)
	for _, pid := range []int{session, keeper} {
		waittest.Until(t, strconv.Itoa(pid)+" is gone", func() bool {
			s, ok := statusOf(pid)
			return !ok || s.zombie
		})
	}
	if left := tagsLeft(t, tag); left != nil {
		t.Errorf("left %q", left)
	}
}

// A command in the foreground has sockets of its own too.
func TestSocketsHere(t *testing.T) {
	needsSockets(t)
	f := ground(t)
	out := filepath.Join(t.TempDir(), "out")
	o, err := withStreams(t, os.DevNull, out, func() (Outcome, error) {
		return Here(context.Background(), helper, f.playing(t, f.spec(sandbox.Workspace), "listen"), nil)
	})
	if text, _ := os.ReadFile(out); err != nil || o.Exit != 0 {
		t.Errorf("%v %+v %s", err, o, text)
	}
}

// The session process keeps the mount namespace of a command exactly as long as
// a command runs that has met it or another one that has.
func TestMeetingKeeps(t *testing.T) {
	m := newMeeting()
	dir := t.TempDir()
	join := func() *member { return &member{mounts: -1} }
	mounts := func() int {
		fd, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	ns := mounts()
	listen := func(one *member, name string) []byte {
		if err := unix.Mknod(filepath.Join(dir, name), unix.S_IFSOCK|0o600, 0); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		if _, ok := m.answer(one, []byte{askAdd}, []int{ns, fd}); !ok {
			t.Fatal("it may not listen")
		}
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{askFind}, st.Dev), st.Ino)
	}
	find := func(one *member, what []byte) {
		file, ok := m.answer(one, what, []int{ns})
		if !ok || file < 0 {
			t.Fatal("it is not found")
		}
		unix.Close(file)
	}
	if _, ok := m.answer(join(), []byte{askMeet}, nil); ok {
		t.Error("a command without a mount namespace meets others")
	}
	server, client, lonely := join(), join(), join()
	socket := listen(server, "server")
	find(server, socket) // itself
	find(lonely, listen(lonely, "lonely"))
	m.leave(lonely)
	if len(m.kept) != 0 {
		t.Error("a command that met no one is kept")
	}
	find(client, socket)
	m.leave(server)
	if len(m.kept) != 1 {
		t.Fatal("the server is not kept")
	}
	third := join()
	if _, ok := m.answer(third, []byte{askMeet}, []int{ns}); !ok {
		t.Fatal("it may not connect")
	}
	m.leave(client)
	if len(m.kept) != 2 {
		t.Error("the client is not kept")
	}
	m.leave(third)
	if len(m.kept) != 0 {
		t.Error("the last one has left, and they are kept")
	}
}
