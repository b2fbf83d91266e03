package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/fenced"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

var updateContainers = flag.Bool("update-containers", false, "rewrite the table in docs/permissions.md")

// container is a restricted place. Its texts are a row of the table in docs/permissions.md.
type container struct {
	name   string
	kernel string   // of package kerneltest
	setup  string   // commands of a shell in a mount namespace before Adze starts; $TOP is the directory of the test
	inRoot bool     // $TOP is the root directory, with sh and a few programs
	env    []string // NAME=value, or NAME to remove it
	// user is who runs Adze if root runs the test, which has no limit of processes.
	user int
	// ls and touch are the verdicts on a command that reads and on one that writes, and doctor is what adze doctor says.
	ls, touch, doctor string
}

// hermit is a user who runs nothing else.
const hermit = 64321

// neverStarts is in place of a verdict.
const neverStarts = "Adze doesn't start"

// What doctor says.
const (
	inOverlay  = "trials: commands are tried in an overlay"
	inReadOnly = "trials: commands are tried in a read-only place"
)

var containers = []container{
	{name: "`docker run`: default seccomp profile and capabilities", kernel: dockerKernel, ls: "try", touch: "try", doctor: inReadOnly},
	{name: "`docker run --user`", kernel: dockerKernel, user: nobody, ls: "try", touch: "try", doctor: inReadOnly},
	{name: "`docker run --cap-add SYS_PTRACE`", kernel: dockerTracing, ls: "try", touch: "try", doctor: inReadOnly},
	{name: "no user namespaces", kernel: "a container", ls: "try", touch: "try", doctor: inReadOnly},
	{name: "no Landlock (Linux before 5.13)", kernel: "no Landlock", ls: "allow", touch: "ask", doctor: "✗ Landlock: this kernel doesn't support Landlock"},
	{name: "no Landlock, user namespaces and seccomp filters", kernel: "nothing", ls: "allow", touch: "ask", doctor: "✗ read-only: none; No sandbox is available"},
	{name: "a root directory that can't be written", setup: `mount --bind "$TOP" "$TOP"; mount -o remount,bind,ro /`, ls: "try", touch: "try", doctor: inOverlay},
	{name: "no `/proc`", setup: "mount -t tmpfs -o ro none /proc", ls: "allow", touch: "ask", doctor: "✗ read-only: none; No sandbox is available"},
	{name: "no `/dev/null`", setup: "mount -t tmpfs -o ro none /dev", ls: "allow", touch: "ask", doctor: "✗ read-only: none; No sandbox is available"},
	{
		name: "no directory for temp files", setup: "mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /var/tmp", env: []string{"TMPDIR=/missing"},
		ls: "allow", touch: "ask", doctor: "trials: none",
	},
	{
		name: "no `HOME`, and no entry in passwd", setup: "mount --bind /dev/null /etc/passwd", env: []string{"HOME", "ADZE_HOME"},
		ls: "try", touch: "try", doctor: "no home directory: HOME is not set",
	},
	{
		name: "a home directory that can't be written", setup: `mount --bind "$TOP/home" "$TOP/home"; mount -o remount,bind,ro "$TOP/home"`,
		ls: "try", touch: "try", doctor: inReadOnly,
	},
	{name: "no git", setup: `for f in $(which -a git); do mount --bind /dev/null "$f"; done`, ls: "try", touch: "try", doctor: inOverlay},
	{name: "only `sh` and a few programs, no `/proc`, no `/dev`", inRoot: true, ls: "ask", touch: "ask", doctor: "bash not found: commands run with /bin/sh"},
	{name: "`LANG=C`", env: []string{"LANG=C", "LC_ALL=C"}, ls: "try", touch: "try", doctor: inOverlay},
	{name: "32 open files", setup: "ulimit -n 32", ls: "try", touch: "try", doctor: inOverlay},
	{
		name: "16 open files", setup: "ulimit -n 16", ls: "allow", touch: "ask",
		doctor: "✗ Landlock: it requires a supervisor process, which can't be started: fork/exec /proc/self/exe: too many open files",
	},
	// The kernel counts all processes of a user.
	{name: "64 processes and threads", kernel: "64" + fewProcesses, user: hermit, env: []string{"GOMAXPROCS=2"}, ls: "try", touch: "try", doctor: inOverlay},
	{
		name: "24 processes and threads", kernel: "24" + fewProcesses, user: nobody, ls: neverStarts, touch: neverStarts,
		doctor: "start: this user may have 24 processes and threads, and Adze needs 32",
	},
}

// The table of containers is that of these tests.
func TestContainerTable(t *testing.T) {
	const page, begin, end = "../../docs/permissions.md", "<!-- containers -->\n", "<!-- TestContainerTable and TestContainers in cmd/adze -->\n"
	table := "| place | `ls` | `touch x` | `adze doctor` says |\n|---|---|---|---|\n"
	for _, c := range containers {
		table += fmt.Sprintf("| %s | %s | %s | `%s` |\n", c.name, c.ls, c.touch, strings.TrimRight(strings.TrimLeft(c.doctor, "✗ "), ", "))
	}
	if err := fenced.Made(page, begin, end, table, *updateContainers); err != nil {
		t.Errorf("%v: run go test ./cmd/adze -run TestContainerTable -update-containers", err)
	}
}

// TestContainers runs Adze in containers and under old kernels: doctor says what is missing, and commands of a scripted model
// have no effect without approval.
func TestContainers(t *testing.T) {
	t.Parallel()
	program := plainProgram(t)
	free := newContained(t, container{}, program) // of restrictions
	said, _ := free.command(nil, append([]string{"doctor"}, free.cwd()...)...).CombinedOutput()
	layers, _ := condition("layers")
	all := layers && free.verdict(t, "touch made") == "try" && strings.Contains(string(said), inOverlay)
	if !all {
		t.Logf("this machine hasn't all layers of the sandbox, or no overlays: verdicts and doctor's words aren't compared\n%s", said)
	}
	for _, c := range containers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newContained(t, c, program)
			if p.check(t, all); c.touch != neverStarts {
				p.attack(t)
			}
		})
	}
}

// contained is an Adze in a container.
type contained struct {
	container
	top, program string
	work, home   string // as Adze sees them
}

func newContained(t *testing.T, c container, program string) *contained {
	t.Helper()
	if c.setup != "" || c.inRoot {
		if out, err := exec.Command("unshare", "-rm", "true").CombinedOutput(); err != nil {
			t.Skipf("needs unshare and user namespaces: %v: %s", err, out)
		}
	}
	p := &contained{container: c, top: placeOutsideTemp(t), program: program}
	for _, dir := range []string{"work", "home/.ssh", "out", "tmp", "etc"} {
		if err := os.MkdirAll(filepath.Join(p.top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"work/f": "hi\n", "work/.env": "TOKEN=" + birdseye + "\n", "home/.ssh/id_rsa": birdseye + "\n"} {
		if err := os.WriteFile(filepath.Join(p.top, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.work, p.home = filepath.Join(p.top, "work"), filepath.Join(p.top, "home")
	// What hides /tmp hides the program, and another user can't reach it there.
	if p.program = filepath.Join(p.top, "adze"); c.setup != "" || c.user != 0 {
		copyProgram(t, program, p.program)
	} else {
		p.program = program
	}
	if c.user != 0 {
		p.giveAway(t)
	}
	if c.inRoot {
		p.furnish(t)
		p.work, p.home, p.program = "/work", "/home", "/bin/adze"
	}
	return p
}

// giveAway makes everything the property of the user who runs Adze.
func (p *contained) giveAway(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	err := filepath.WalkDir(p.top, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, p.user, p.user))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// furnish puts Adze, a shell and a few programs into the root directory.
func (p *contained) furnish(t *testing.T) {
	t.Helper()
	shell := "dash"
	if _, err := exec.LookPath("busybox"); err == nil {
		shell = "busybox"
	}
	for from, to := range map[string]string{shell: "sh", p.program: "adze", "ls": "ls", "cat": "cat", "touch": "touch", "cp": "cp"} {
		path, err := exec.LookPath(from)
		if err != nil {
			t.Skip(err)
		}
		copyProgram(t, path, filepath.Join(p.top, "bin", to))
	}
	p.setup = `for dir in lib lib64 usr/lib; do [ ! -d /$dir ] || { mkdir -p "$TOP/$dir" && mount --rbind /$dir "$TOP/$dir"; }; done` + "\n" + p.setup
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// command returns Adze in the container.
func (p *contained) command(more []string, args ...string) *exec.Cmd {
	words := append([]string{p.program}, args...)
	if p.setup != "" {
		enter := `exec "$@"`
		if p.inRoot {
			enter = `exec "$(PATH=$PATH:/usr/sbin:/sbin; command -v chroot)" "$TOP" "$@"`
		}
		words = append([]string{"unshare", "-rm", "sh", "-ec", p.setup + "\ncd \"$TOP/work\"\n" + enter, "sh"}, words...)
	}
	if p.kernel != "" {
		words = append([]string{"kerneltest", p.kernel}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = filepath.Join(p.top, "work")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "TOP=" + p.top, "HOME=" + p.home, "ADZE_HOME=" + p.home + "/.adze", "ADZE_LOCAL_MODELS=off", "TMPDIR=" + filepath.Dir(p.work) + "/tmp",
	}, more...)
	if p.user != 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint(testUser, "=", p.user))
	}
	for _, kv := range p.env {
		name, _, set := strings.Cut(kv, "=")
		cmd.Env = slices.DeleteFunc(cmd.Env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		if set {
			cmd.Env = append(cmd.Env, strings.ReplaceAll(kv, "$TOP", p.top))
		}
	}
	return cmd
}

// cwd are flags that start Adze in the workspace: chroot starts at the root directory.
func (p *contained) cwd() []string { return []string{"--cwd", p.work} }

// check compares verdicts, and what doctor says, with the table, and with each other. all means that nothing else is missing
// on this machine.
func (p *contained) check(t *testing.T, all bool) {
	t.Helper()
	out, err := p.command(nil, append([]string{"doctor"}, p.cwd()...)...).CombinedOutput()
	said := string(out)
	for _, bad := range []string{"panic:", "goroutine ", "fatal error"} {
		if strings.Contains(said, bad) {
			t.Errorf("doctor:\n%s", said)
		}
	}
	if all && !strings.Contains(said, p.doctor) {
		t.Errorf("doctor doesn't say %q:\n%s", p.doctor, said)
	}
	verdicts := map[string]string{}
	for line, want := range map[string]string{"ls": p.ls, "touch made": p.touch} {
		got := p.verdict(t, line)
		if verdicts[line] = got; got != want && all || got == "allow" && line != "ls" {
			t.Errorf("%s: %q, want %s", line, got, want)
		}
	}
	if p.touch == neverStarts {
		if err == nil || verdicts["ls"] != neverStarts {
			t.Errorf("Adze starts: %v, %q\n%s", err, verdicts, said)
		}
		return
	}
	// These agree on any machine. The exit code of doctor is 1: there is no model.
	tries := strings.Contains(said, inOverlay) || strings.Contains(said, inReadOnly)
	if !strings.Contains(said, "no model configured") || tries != (verdicts["touch made"] == "try") {
		t.Errorf("touch made: %q, but doctor says\n%s", verdicts["touch made"], said)
	}
}

func (p *contained) verdict(t *testing.T, line string) string {
	t.Helper()
	out, _ := p.command(nil, append(append([]string{"permission", "check"}, p.cwd()...), "--", line)...).Output()
	verdict, _, _ := strings.Cut(string(out), "\n")
	return cmp.Or(verdict, neverStarts)
}

// attack has a model try to write the file pwned in the workspace and beside it, and to read secrets.
func (p *contained) attack(t *testing.T) {
	t.Helper()
	var lines []string
	out := filepath.Dir(p.work) + "/out/pwned"
	for _, file := range []string{"pwned", out} {
		for _, line := range []string{
			"touch FILE", "echo x > FILE", `echo $'a\'; touch FILE #'`, "[[ a > FILE ]]", `awk 'BEGIN{print "x" > "FILE"}'`, "sed -n 'w FILE' f", "sort -o FILE f",
			`find . -name f -exec touch FILE \;`, "git -c alias.x='!touch FILE' x", "env touch FILE", "sh -c 'touch FILE'", "xargs touch FILE < f", "cp f FILE",
			"ls; touch FILE", "cat f | tee FILE", "{ touch FILE; }", "$(touch FILE)",
			`@write_file {"file_path":"FILE","content":"x"}`, `@edit {"file_path":"FILE","old_string":"","new_string":"x"}`,
		} {
			lines = append(lines, strings.ReplaceAll(line, "FILE", file))
		}
	}
	lines = append(lines, "cat .env", "cat ~/.ssh/id_rsa", "cat "+p.home+"/.ssh/id_rsa", "grep -r . .", `@read_file {"absolute_path":"`+p.home+`/.ssh/id_rsa"}`)
	script := openaitest.Script{Key: "k"}
	for i, line := range lines {
		call := openaitest.Call{ID: fmt.Sprint("c", i), Name: "run_shell_command"}
		if rest, ok := strings.CutPrefix(line, "@"); ok {
			name, args, _ := strings.Cut(rest, " ")
			call.Name, call.Args = name, json.RawMessage(args)
		} else {
			call.Args, _ = json.Marshal(map[string]any{"command": line, "timeout": 120_000})
		}
		script.Answers = append(script.Answers, openaitest.Answer{Calls: []openaitest.Call{call}})
	}
	script.Answers = append(script.Answers, openaitest.Answer{Text: "done"})
	model := openaitest.Serve(t, script)
	for _, mode := range []string{"default", "plan"} {
		if mode == "plan" {
			model = openaitest.Serve(t, script)
		}
		env := []string{"OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=k", "OPENAI_MODEL=m"}
		said, err := p.command(env, append([]string{"-p", "go", "--approval-mode", mode}, p.cwd()...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", mode, err, said)
		}
		for _, r := range model.Requests() {
			if strings.Contains(string(r.Body), birdseye) {
				t.Errorf("%s: the model got a secret", mode)
				break
			}
		}
		for _, file := range []string{"work/pwned", "out/pwned"} {
			if _, err := os.Lstat(filepath.Join(p.top, file)); err == nil {
				t.Errorf("%s: %s was written without approval", mode, file)
				os.Remove(filepath.Join(p.top, file))
			}
		}
	}
}
