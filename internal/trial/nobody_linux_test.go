package trial

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/waittest"
)

// asNobody are the tests that an ordinary user runs too.
const asNobody = "^(TestTryKeepDrop|TestKeepEqualsRunning|TestKilledWhileKeeping|TestKilledChild|TestEffects|TestNetwork|TestMasked|TestCorpus|TestPlaces|TestForeign|TestBelowTemp|TestPlantedInTemp)$"

// An ordinary user has the same trials.
func TestAsNobody(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	dir, err := os.MkdirTemp("", "adze-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	copyProgram(t, filepath.Join(dir, "trial.test"))
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Chown(work, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	var text []byte
	waittest.Until(t, "the copy can be started", func() bool {
		c := exec.CommandContext(t.Context(), filepath.Join(dir, "trial.test"), "-test.run="+asNobody, "-test.v")
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "TMPDIR=" + work, "GORACE=atexit_sleep_ms=0", "ADZE_SOAK=" + os.Getenv("ADZE_SOAK"), "TRIAL_TESTDATA=" + testdata(t)}
		c.Dir = work
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		// A process that is just being started elsewhere may hold the copy open for
		// writing.
		text, err = c.CombinedOutput()
		return !errors.Is(err, syscall.ETXTBSY)
	})
	if errors.Is(err, syscall.EPERM) {
		t.Skip("cannot become another user here")
	}
	if err != nil || !strings.Contains(string(text), "--- PASS: TestTryKeepDrop") && !strings.Contains(string(text), "--- SKIP: TestTryKeepDrop") {
		t.Errorf("%v\n%s", err, text)
	}
}

func copyProgram(t testing.TB, path string) {
	t.Helper()
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}

// testdata is the directory with the lists of commands, readable by everyone.
func testdata(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("TRIAL_TESTDATA"); dir != "" {
		return dir
	}
	dir, err := os.MkdirTemp("", "adze-testdata-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	for _, name := range []string{"attacks.txt", "harmless.txt"} {
		text, err := os.ReadFile(filepath.Join("../../permission/testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
