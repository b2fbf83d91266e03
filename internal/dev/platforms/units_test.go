package platforms

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// unit is a package whose tests run on a platform.
type unit struct {
	dir string
	// skip are tests that this way of running them can't pass, with the reason.
	skip map[string]string
}

func notShort(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the tests of packages")
	}
}

// test runs tests of packages. Those that skip themselves are counted.
func (m *machine) test(t *testing.T, units []unit) {
	notShort(t)
	for _, u := range units {
		t.Run(strings.NewReplacer("/", "_", "_...", "").Replace(u.dir), func(t *testing.T) { m.testUnit(t, u) })
	}
}

var verdicts = regexp.MustCompile(`(?m)^--- (PASS|SKIP|FAIL): `)

// testUnit runs the tests of a package with go test -exec.
func (m *machine) testUnit(t *testing.T, u unit) {
	t.Helper()
	args := append([]string{"test", "-trimpath", "-ldflags=-w", "-vet=off", "-v", "-count=1", "-timeout=15m"}, m.flags...)
	if len(m.emulator) > 0 {
		args = append(args, "-exec", strings.Join(m.emulator, " "))
	}
	var names []string
	for name := range u.skip {
		names = append(names, "^"+name+"$")
	}
	if len(names) > 0 {
		args = append(args, "-skip", strings.Join(names, "|"))
	}
	cmd := exec.Command("go", append(args, "./"+u.dir)...)
	cmd.Dir, cmd.Env = "../../..", append(m.goEnv(), m.env...)
	out, err := cmd.CombinedOutput()
	count := map[string]int{}
	for _, v := range verdicts.FindAllStringSubmatch(string(out), -1) {
		count[v[1]]++
	}
	t.Logf("%d passed, %d skipped themselves, %d are left out", count["PASS"], count["SKIP"], len(u.skip))
	for name, why := range u.skip {
		t.Logf("%s: %s", name, why)
	}
	if err != nil || count["PASS"] == 0 {
		t.Errorf("go test ./%s: %v\n%s", u.dir, err, failures(string(out)))
	}
}

// failures returns the output of failed tests, and the end.
func failures(out string) string {
	var b strings.Builder
	for _, part := range regexp.MustCompile(`(?m)^=== (RUN|CONT|PAUSE|NAME)\s.*$`).Split(out, -1) {
		if strings.Contains(part, "--- FAIL") || strings.Contains(part, "panic: ") || strings.Contains(part, "_test.go:") {
			b.WriteString(part)
		}
	}
	text := b.String()
	return text[:min(len(text), 6000)] + "\n…\n" + out[max(0, len(out)-1500):]
}
