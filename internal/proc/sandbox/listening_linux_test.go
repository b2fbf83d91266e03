package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// openFile opens a path, for nothing but its name.
func openFile(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// Files of sockets are found by what they are, and those without a name make
// room for others.
func TestSockets(t *testing.T) {
	dir := t.TempDir()
	make := func(name string) (path string, file int) {
		path = filepath.Join(dir, name)
		if err := unix.Mknod(path, unix.S_IFSOCK|0o600, 0); err != nil {
			t.Fatal(err)
		}
		return path, openFile(t, path)
	}
	s := NewSockets()
	_, first := make("first")
	id, ok := s.Put(first)
	if !ok || id == (ID{}) {
		t.Fatal("it was not added")
	}
	for range 2 { // again is no other
		s.Add(first)
	}
	got, ok := s.Find(id)
	if !ok || len(s.files) != 1 {
		t.Fatal("it is not found", s.files)
	}
	if same, _ := socketID(got); same != id {
		t.Error("another one is found")
	}
	unix.Close(got)
	if _, ok := s.Find(ID{Dev: id.Dev, Ino: id.Ino + 1}); ok {
		t.Error("what was not added is found")
	}
	if _, ok := s.Put(openFile(t, dir)); ok {
		t.Error("a directory was added")
	}
	last, n := "", 0
	for s.most = 10; len(s.files) < s.most; n++ {
		path, file := make(strconv.Itoa(n))
		s.Put(file)
		last = path
	}
	path, file := make("more")
	if _, ok := s.Put(file); ok {
		t.Error("there is no bound")
	}
	os.Remove(last)
	if _, ok := s.Put(file); !ok {
		t.Errorf("%s was not added", path)
	}
	for _, fd := range s.files {
		unix.Close(fd)
	}
}

// The sockets of other programs are those in writable directories.
func TestHostSocketsFound(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for _, path := range []string{in + "/a b", out + "/s"} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	s := &Spec{Mode: Workspace, Roots: []string{in}}
	if got := s.WithHostSockets().HostSockets; len(got) != 1 || got[0] != in+"/a b" || s.HostSockets != nil {
		t.Errorf("%q, and the Spec has %q", got, s.HostSockets)
	}
}
