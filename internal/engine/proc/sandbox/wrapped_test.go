package sandbox

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBubblewrapArgs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are written with forward slashes")
	}
	s := Spec{Mode: Workspace}
	want := strings.Fields("/usr/bin/bwrap --ro-bind / / --dev /dev --proc /proc --remount-ro /proc --cap-drop ALL --unshare-user-try --unshare-ipc --unshare-pid --die-with-parent --unshare-net " +
		"--bind-try /tmp /tmp --bind-try /w /w --bind /w/.git /w/.git --ro-bind /w/.git/config /w/.git/config --seccomp 3 --chdir /w --")
	if d := cmp.Diff(want, s.bubblewrapArgs(wrapping{bwrap: "/usr/bin/bwrap", dir: "/w", write: []string{"/tmp", "/w"}, protect: []string{"/w/.git/config"}, seccomp: "3", dieWithParent: true})); d != "" {
		t.Error(d)
	}
}

func TestSeatbeltProfile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are written with forward slashes")
	}
	s := Spec{Mode: Workspace, Roots: []string{`/no/such "place"`}, Protect: []string{"/no/such/.git/config"}}
	text := s.seatbeltProfile("")
	for _, line := range []string{
		"(deny file-write*)", `(allow file-write* (subpath "/no/such \"place\""))`, `(deny file-write* (subpath "/no/such/.git/config"))`,
		"(deny network*)", `(allow network* (local ip "localhost:*"))`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is not in\n%s", line, text)
		}
	}
	if s.Mode = WorkspaceNetwork; strings.Contains(s.seatbeltProfile(""), "(deny network*)") {
		t.Error("the network is denied")
	}
	if strings.Count(text, "(")-strings.Count(text, `\(`) != strings.Count(text, ")") {
		t.Error("brackets do not match")
	}
}
