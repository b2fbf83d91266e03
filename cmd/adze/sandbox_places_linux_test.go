package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// place is a script that creates a workspace and runs sandboxed commands in it: call NAME COMMAND [MODE].
type place struct {
	script string
	attr   *syscall.SysProcAttr
}

// run runs the script in a directory, and returns the output of each command.
func (p place) run(t *testing.T, base string) map[string]string {
	t.Helper()
	if !sandbox.Probe().Layers().Has(sandbox.Landlock | sandbox.Seccomp | sandbox.Namespaces) {
		t.Skip("not all layers of the sandbox work here")
	}
	const library = `
call() { echo "== $1"; adze tool call run_shell_command "{\"command\":\"$2\"}" --yolo --sandbox "${3:-workspace}" 2>&1; }
`
	cmd := exec.Command("bash", "-c", library+p.script)
	cmd.Dir, cmd.SysProcAttr = base, p.attr
	cmd.Env = append(os.Environ(), "HOME="+base+"/home", "ADZE_HOME="+base+"/home/.adze", "GIT_CONFIG_SYSTEM=/dev/null", "GORACE=atexit_sleep_ms=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
	text, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() == 9) {
		t.Skipf("no namespaces for the test: %v: %s", err, text)
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(string(text), "== ") {
		name, printed, _ := strings.Cut(part, "\n")
		out[name] = printed
	}
	return out
}

// printed checks what commands printed.
func printed(t *testing.T, out, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if !strings.Contains(out[name], text) {
			t.Errorf("%s: no %q in:\n%s", name, text, out[name])
		}
	}
}

// In 100,000 files all protected paths are found, however deep they are.
func TestSandboxOfManyFiles(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for d := range 500 {
		dir := filepath.Join(base, "work", fmt.Sprintf("d%d", d), "deep")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(base, "work", fmt.Sprintf("d%d", d), "file")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		for f := range 200 {
			if err := os.Link(file, filepath.Join(dir, fmt.Sprint(f))); err != nil { // which takes less time than a new file
				t.Fatal(err)
			}
		}
	}
	p := place{script: `
mkdir -p home work/d499/deep/.vscode; cd work && git init -q . && echo mine >d499/deep/.vscode/tasks.json || exit 1
call deep 'echo x | tee d499/deep/.vscode/tasks.json'
call hooks 'echo x | tee .git/hooks/pre-commit'
call work 'echo x >made && cat made'
call look 'ls d499/deep/.vscode' read-only
echo '== state'; cat d499/deep/.vscode/tasks.json; ls .git/hooks/pre-commit made
`}
	out := p.run(t, base)
	printed(t, out, map[string]string{"deep": "Read-only file system", "hooks": "Exit Code: 1", "work": "Output: x\n", "look": "Output: tasks.json\n", "state": "mine\n"})
	if strings.Contains(out["state"], "\n.git/hooks/pre-commit\n") || !strings.Contains(out["state"], "made\n") {
		t.Error(out["state"])
	}
}

// In a container, which is namespaces that Adze didn't make, and where git directories are mounts: the layers are complete, or
// the command is denied with the reason.
func TestSandboxInAContainer(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	own := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	p := place{
		attr: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
			UidMappings: own(os.Getuid()), GidMappings: own(os.Getgid()),
		},
		script: `
mount -t proc proc /proc || exit 9
mkdir -p home separate work mounted/.git disk && mount -t tmpfs git mounted/.git && mount -t tmpfs git disk || exit 9
git init -q mounted && git init -q --separate-git-dir disk/g work && mkdir mounted/.vscode && echo mine >mounted/.vscode/tasks.json || exit 1
cd mounted
call hooks 'echo x | tee .git/hooks/pre-commit'
call config 'echo x | tee -a .git/config'
call editor 'echo x | tee .vscode/tasks.json'
call commit 'git commit -q --allow-empty -m first && git log --oneline'
call look 'git status --short' read-only
cd ../work
call separate 'echo x | tee ../disk/g/hooks/pre-commit'
call redirected 'echo gitdir: x | tee .git'
call note 'echo x >note && cat note'
echo '== state'; cd ..; ls mounted/.git/hooks/pre-commit disk/g/hooks/pre-commit; cat mounted/.vscode/tasks.json work/.git; grep x mounted/.git/config
`,
	}
	out := p.run(t, base)
	printed(t, out, map[string]string{
		"hooks": "Exit Code: 1", "config": "Exit Code: 1", "editor": "Exit Code: 1", "separate": "Exit Code: 1",
		"redirected": "Exit Code: 1", "commit": "Exit Code: 0", "look": "Exit Code: 0", "note": "Output: x\n", "state": "mine\ngitdir: " + base + "/disk/g\n",
	})
	for line := range strings.Lines(out["state"]) {
		if strings.HasSuffix(line, "/pre-commit\n") || line == "x\n" {
			t.Errorf("what is protected was written:\n%s", out["state"])
		}
	}
}
