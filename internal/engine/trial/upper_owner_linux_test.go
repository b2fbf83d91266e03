package trial

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// Root of a user namespace that lacks the owner of a directory has trials. Every command needed approval, because
// the upper of /tmp couldn't be given to that owner.
func TestUnknownOwner(t *testing.T) {
	t.Parallel()
	const variable = "TRIAL_UNKNOWN_OWNER"
	if dir := os.Getenv(variable); dir != "" {
		o := sandbox.Overlay{Lower: "/usr", Upper: filepath.Join(dir, "upper"), Work: filepath.Join(dir, "work")}
		if err := makeUpper(o, false); err != nil {
			t.Error(err)
		}
		return
	}
	dir, host := t.TempDir(), os.Getuid()
	if host == 0 {
		host = 65534
		for _, d := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestUnknownOwner$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	one := []syscall.SysProcIDMap{{HostID: host, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: one}
	cmd.SysProcAttr.Credential = &syscall.Credential{NoSetGroups: true}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Skipf("no user namespaces here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestUnknownOwner") {
		t.Errorf("%v\n%s", err, out)
	}
}
