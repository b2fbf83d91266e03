package platforms

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the results of the platform, or the table in the README")

// machine runs programs of another platform.
type machine struct {
	system, arch string
	emulator     []string // that runs a program; nil: this machine does
	env          []string // of the emulator
	flags        []string // of go build and go test
	bin, helper  string   // programs: Adze and testdata/helper
}

// open builds the programs. The emulator is there: wanted has checked it.
func (m *machine) open(t *testing.T) {
	t.Helper()
	dir, ending := t.TempDir(), ""
	if m.system == "windows" {
		ending = ".exe"
	}
	m.bin, m.helper = filepath.Join(dir, "adze"+ending), filepath.Join(dir, "helper"+ending)
	m.build(t, m.bin, "./cmd/adze")
	if !testing.Short() {
		m.build(t, m.helper, "./internal/dev/platforms/testdata/helper")
	}
}

func (m *machine) build(t *testing.T, to, source string) {
	t.Helper()
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version=v9.8.7"}, m.flags...)
	cmd := exec.Command("go", append(args, "-o", to, source)...)
	cmd.Dir, cmd.Env = "../../..", m.goEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", source, err, out)
	}
}

// goEnv is the environment of go for programs of the machine.
func (m *machine) goEnv() []string {
	return append(os.Environ(), "GOOS="+m.system, "GOARCH="+m.arch, "CGO_ENABLED=0")
}

// native returns a path as programs of the machine write it.
func (m *machine) native(path string) string {
	if m.system == "windows" {
		return "Z:" + strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

func (m *machine) command(program string, args ...string) *exec.Cmd {
	all := append(append([]string{}, m.emulator...), program)
	return exec.Command(all[0], append(all[1:], args...)...)
}

// wanted skips a test of a platform, unless make runs it, or the emulator is missing. With CI=true that is a failure.
func wanted(t *testing.T, platform string, programs ...string) {
	t.Helper()
	if os.Getenv("ADZE_PLATFORM") != platform {
		t.Skip("run make test-" + platform)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("needs linux/amd64")
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s isn't installed: run internal/dev/platforms/emulators %s", program, platform)
		}
		t.Skipf("%s isn't installed: internal/dev/platforms/emulators %s prints the command", program, platform)
	}
}

// story is what a user does with Adze on a platform. The table in the README names its feature.
type story struct {
	feature string
	smoke   bool // it also runs in .ci/run
	run     func(t *testing.T, w *workspace)
}

// run runs stories, and compares the features that work with the recorded results.
func (m *machine) run(t *testing.T, results string, stories []story) {
	var worked []string
	for _, s := range stories {
		if testing.Short() && !s.smoke {
			continue
		}
		if t.Run(s.feature, func(t *testing.T) { s.run(t, m.workspace(t)) }) {
			worked = append(worked, s.feature)
		}
	}
	if testing.Short() || t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	got, path := strings.Join(worked, "\n")+"\n", filepath.Join("testdata", results)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("%s is stale (%v): run this test with -update", path, err)
	}
}

// workspace is a directory with its own Adze.
type workspace struct {
	*machine
	dir, home string
	more      []string // environment of Adze
}

func (m *machine) workspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{machine: m, dir: filepath.Join(t.TempDir(), "work"), home: filepath.Join(t.TempDir(), "home")}
	for _, dir := range []string{w.dir, w.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *workspace) environ() []string {
	env := append(append(os.Environ(), w.env...), "ADZE_HOME="+w.native(w.home), "ADZE_LOCAL_MODELS=off", "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=", "GEMINI_API_KEY=")
	if w.system != "windows" {
		env = append(env, "HOME="+w.home)
	}
	return append(env, w.more...)
}

func (w *workspace) command(args ...string) *exec.Cmd {
	cmd := w.machine.command(w.bin, args...)
	cmd.Dir, cmd.Env = w.dir, w.environ()
	return cmd
}

// result is what a run of Adze printed.
type result struct {
	out, err string
	code     int
}

// adze runs Adze in the workspace.
func (w *workspace) adze(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs strings.Builder
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	plain := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	return result{plain(out.String()), plain(errs.String()), cmd.ProcessState.ExitCode()}
}

// ok runs Adze, which must succeed and print some texts.
func (w *workspace) ok(t *testing.T, args []string, want ...string) string {
	t.Helper()
	r := w.adze(t, args...)
	if r.code != 0 {
		t.Errorf("adze %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	r.has(t, args, want...)
	return r.out
}

func (r result) has(t *testing.T, args []string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("adze %s: no %q in\n%s%s", strings.Join(args, " "), text, r.out, r.err)
		}
	}
}

// call returns the arguments of adze that call a tool without asking.
func call(tool string, args map[string]any) []string {
	text, _ := json.Marshal(args)
	return []string{"tool", "call", tool, string(text), "--yolo"}
}

func (w *workspace) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// holds checks the content of a file byte for byte; "" with absent means that there is none.
func (w *workspace) holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil || string(got) != want {
		t.Errorf("%s: %q, want %q (%v)", name, got, want, err)
	}
}

func (w *workspace) absent(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(w.dir, name)); err == nil {
		t.Errorf("%s is there", name)
	}
}
