package permission_test

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

// The recorder is a box in which no program does anything but write down how it was called. Bash itself and a few
// wrappers are real. So what bash makes of a line can be held against what was read in it.

const recorderVariable = "ADZE_PERMISSION_RECORDER"

// take is a line to be run.
type take struct {
	Line []byte
	Lang string
}

// recording is what happened then.
type recording struct {
	Calls  []call
	Opened []string // files, other than folders
	Wrote  []string // those opened for writing
	Late   bool     // it did not come to an end
}

// call is a program that was run.
type call struct {
	Script bool   // it was found as a file: the name is its path
	Dir    string // physical
	State  string // what the shell had been made to be by then
	Argv   []string
}

// realPrograms run what their words say.
var realPrograms = []string{"bash", "sh", "env", "xargs", "find", "timeout", "nice", "nohup"}

// recorded are the programs that wrappers find as files. Bash gives all other names to its handler, which costs less.
var recorded = []string{"run1", "run2", "touch"}

const (
	recordDir = "/run/log"
	recordRC  = "/run/recorder.sh"
)

// recorderScript is read by every bash before its line. Builtins that only tell something are no longer builtin.
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

// recorderFiles is the workspace: names that globs, braces and redirections may meet.
var recorderFiles = map[string]string{
	"README.md": "hello\n", "a.txt": "a b\n", "b.txt": "-n\n", "src/main.go": "x\n", "src/a.txt": "x\n", "docs/x.md": "x\n", "-n": "x\n", "a b": "x\n", "{1..3}": "x\n", "1": "x\n", "x\r": "x\n",
	"evil.sh": recorderStub, "list": "run1 x\n",
}

func recorderMain() error {
	real := map[string][]byte{}
	for _, name := range realPrograms {
		if path, err := exec.LookPath(name); err == nil {
			if real[name], err = os.ReadFile(path); err != nil {
				return err
			}
		}
	}
	if err := enterBox(os.Getenv(recorderVariable)); err != nil {
		return err
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
	return answer(func(t take) (recording, error) { return record(t, w) })
}

// restore puts a file of the workspace back, or removes what is none.
func restore(path string) error {
	name, _ := filepath.Rel(root, path)
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

// record runs a line as the shell tool would, to the end of all that it starts.
func record(t take, w *watcher) (recording, error) {
	var r recording
	cmd := exec.Command("/usr/bin/bash", "-c", string(t.Line))
	cmd.Dir = root
	cmd.Env = []string{"HOME=/home/me", "PATH=/usr/bin", "LANG=" + t.Lang, "BASH_ENV=" + recordRC}
	if err := cmd.Start(); err != nil {
		return r, nil // a NUL in it
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	deadline := time.Now().Add(time.Second)
	select {
	case <-ended:
	case <-time.After(time.Second):
		r.Late = true
		_ = syscall.Kill(-1, syscall.SIGKILL) // all but this process, which is the first of its namespace
		<-ended
	}
	for { // what goes on in the background is a child of this process by now
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
	w.events() // of our own doing
	w.lost = false
	return r, err
}

// calls reads and removes what was written down: a file for each process.
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
				break // it was ended while it wrote
			}
			all = append(all, call{fields[0] == "script", fields[1], fields[2], fields[4 : 4+n]})
			fields = fields[4+n:]
		}
	}
	return all, nil
}

// watcher sees which files are opened in a few folders.
type watcher struct {
	fd   int
	dirs map[int32]string
	lost bool // something is gone
}

// setup puts the workspace in order, and watches it.
func (w *watcher) setup() error {
	for name := range recorderFiles {
		if err := restore(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	if err := os.Symlink("src", root+"/link"); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	w.dirs = map[int32]string{}
	for _, d := range []string{root, root + "/src", root + "/docs", "/home/me", "/home", "/tmp"} {
		id, err := unix.InotifyAddWatch(w.fd, d, unix.IN_OPEN|unix.IN_CLOSE_WRITE|unix.IN_CREATE|unix.IN_DELETE)
		if err != nil {
			return err
		}
		w.dirs[int32(id)] = d
	}
	return nil
}

// events are the files that were opened, and opened for writing, since the last time.
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
