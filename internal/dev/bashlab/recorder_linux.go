package bashlab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// recordedLine is a line for a recorder, its locale, and how long it may run.
type recordedLine struct {
	Line    []byte
	Locale  string
	MaxTime time.Duration
}

// recording is what happened when the line ran.
type recording struct {
	Calls  []call
	Opened []string // files, without directories
	Wrote  []string // those opened for writing
	Late   bool     // it didn't end in time
}

// call is a program that ran.
type call struct {
	Script bool   // bash or a wrapper found it as a file: the name is its path
	Dir    string // without links
	State  string // variables and options of the shell
	Argv   []string
}

// realPrograms run the command in their arguments.
var realPrograms = []string{"bash", "sh", "env", "xargs", "find", "timeout", "nice", "nohup"}

// recorded are the programs that wrappers find as files. Bash gives all other names to its handler, which is faster.
var recorded = []string{"run1", "run2", "touch"}

const (
	recordDir = "/run/log"
	recordRC  = "/run/recorder.sh"
)

// recorderScript is read by every bash before its line. Builtins that only print or test something are disabled, so
// that they are recorded.
const recorderScript = `enable ulimit
ulimit -v 2000000 -t 2 -f 4096
FUNCNEST=30
enable -n echo printf test [ true false pwd kill type hash help times umask ulimit jobs fg bg disown history fc bind compgen complete compopt caller :
command_not_found_handle() { adze_record shell "$@"; }
adze_record() {
	enable printf echo test [ cd
	builtin cd -P .
	builtin printf '%s\0' "$1" "$PWD" "${IFS-unset}|${PATH-}|${HOME-}|${CDPATH-}|${BASHOPTS-}|${SHELLOPTS-}" "$(($#-1))" "${@:2}" >> /run/log/$BASHPID
	case $2 in
	false) return 1 ;;
	echo | printf | test | '[') builtin "${@:2}" ;;
	esac
}
`

const recorderStub = "#!/usr/bin/bash\nBASH_ENV= . " + recordRC + "\nadze_record script \"$0\" \"$@\"\n"

// recorderFiles are the files of the workspace: names that patterns, braces and redirections may match.
var recorderFiles = map[string]string{
	"README.md": "hello\n", "a.txt": "a b\n", "b.txt": "-n\n", "src/main.go": "x\n", "src/a.txt": "x\n",
	"docs/x.md": "x\n", "-n": "x\n", "a b": "x\n", "{1..3}": "x\n", "1": "x\n", "x\r": "x\n",
	"evil.sh": recorderStub, "list": "run1 x\n",
}

// recorderLinks are the links of the workspace. In src/far, cd .. and cat ../a.txt have different parents.
var recorderLinks = map[string]string{Root + "/link": Root + "/src", Root + "/src/far": Root + "/docs"}

// serveRecorder runs lines, in the namespaces, and records what they do.
func serveRecorder() error {
	real := map[string][]byte{}
	for _, name := range realPrograms {
		if path, err := exec.LookPath(name); err == nil {
			if real[name], err = os.ReadFile(path); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{"/usr/bin", "/bin"} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	for name, data := range real {
		if err := os.WriteFile("/usr/bin/"+name, data, 0o755); err != nil {
			return err
		}
	}
	for _, name := range recorded {
		if err := os.WriteFile("/usr/bin/"+name, []byte(recorderStub), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(recordRC, []byte(recorderScript), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(recordDir, 0o777); err != nil {
		return err
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	w := &watcher{fd: fd}
	if err := w.setup(); err != nil {
		return err
	}
	return answer(func(l recordedLine) (recording, error) { return record(l, w) })
}

// restore writes a file of the workspace again, or removes one that isn't part of it.
func restore(path string) error {
	name, _ := filepath.Rel(Root, path)
	text, ours := recorderFiles[name]
	if !ours {
		return os.RemoveAll(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if text == recorderStub {
		mode = 0o755
	}
	return os.WriteFile(path, []byte(text), mode)
}

// record runs a line as the shell tool does, until all processes that it starts have ended.
func record(l recordedLine, w *watcher) (recording, error) {
	var r recording
	cmd := exec.Command("/usr/bin/bash", "-c", string(l.Line))
	cmd.Dir = Root
	cmd.Env = []string{"HOME=/home/me", "PATH=/usr/bin", "LANG=" + l.Locale, "BASH_ENV=" + recordRC}
	if err := cmd.Start(); err != nil {
		return r, nil // the line has a NUL
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	deadline := time.Now().Add(l.MaxTime)
	select {
	case <-ended:
	case <-time.After(l.MaxTime):
		r.Late = true
		_ = syscall.Kill(-1, syscall.SIGKILL) // all but this process, the first of its namespace
		<-ended
	}
	for { // background processes are children of this process by now
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil {
			break
		}
		if time.Now().After(deadline) {
			r.Late = true
			_ = syscall.Kill(-1, syscall.SIGKILL)
		}
		if pid == 0 {
			time.Sleep(200 * time.Microsecond) // not synchronization: the loop polls for a child that has ended
		}
	}
	var err error
	if r.Calls, err = calls(); err != nil {
		return r, err
	}
	r.Opened, r.Wrote = w.events()
	for _, path := range r.Wrote {
		if err := restore(path); err != nil {
			return r, err
		}
	}
	if w.lost {
		err = w.setup() // find -delete
	}
	w.events() // of restoring
	w.lost = false
	return r, err
}

// calls reads and removes the records: a file for each process.
func calls() ([]call, error) {
	entries, err := os.ReadDir(recordDir)
	if err != nil {
		return nil, err
	}
	var all []call
	for _, e := range entries {
		path := filepath.Join(recordDir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		_ = os.Remove(path)
		fields := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
		for len(fields) >= 4 {
			n, err := strconv.Atoi(fields[3])
			if err != nil || len(fields) < 4+n {
				break // the process was killed while it wrote
			}
			all = append(all, call{fields[0] == "script", fields[1], fields[2], fields[4 : 4+n]})
			fields = fields[4+n:]
		}
	}
	return all, nil
}

// watcher sees which files are opened in a few directories.
type watcher struct {
	fd   int
	dirs map[int32]string
	lost bool // a file was deleted
}

// setup writes the files of the workspace, and watches them.
func (w *watcher) setup() error {
	for name := range recorderFiles {
		if err := restore(filepath.Join(Root, name)); err != nil {
			return err
		}
	}
	for name, target := range recorderLinks {
		if err := os.Symlink(target, name); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	w.dirs = map[int32]string{}
	for _, d := range []string{Root, Root + "/src", Root + "/docs", "/home/me", "/home", "/tmp"} {
		id, err := unix.InotifyAddWatch(w.fd, d, unix.IN_OPEN|unix.IN_CLOSE_WRITE|unix.IN_CREATE|unix.IN_DELETE)
		if err != nil {
			return err
		}
		w.dirs[int32(id)] = d
	}
	return nil
}

// events returns the files that were opened, and opened for writing, since the last call.
func (w *watcher) events() (opened, wrote []string) {
	seen := map[string]bool{}
	add := func(list *[]string, kind, path string) {
		if !seen[kind+path] {
			seen[kind+path] = true
			*list = append(*list, path)
		}
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		if n <= 0 || err != nil {
			return opened, wrote
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&b[0]))
			name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+e.Len], "\x00"))
			b = b[unix.SizeofInotifyEvent+e.Len:]
			w.lost = w.lost || e.Mask&unix.IN_DELETE != 0
			if e.Mask&(unix.IN_ISDIR|unix.IN_DELETE) != 0 || name == "" {
				continue
			}
			path := filepath.Join(w.dirs[e.Wd], name)
			add(&opened, "r", path)
			if e.Mask&(unix.IN_CLOSE_WRITE|unix.IN_CREATE) != 0 {
				add(&wrote, "w", path)
			}
		}
	}
}
