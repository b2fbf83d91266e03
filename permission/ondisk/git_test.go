package ondisk

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stage is a repository with a program that leaves a mark when it runs.
type stage struct {
	t       *testing.T
	base    string // directory of all files
	repo    string
	program string
	mark    string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs git and a shell")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, base: base, repo: filepath.Join(base, "repo"), mark: filepath.Join(base, "mark"), program: filepath.Join(base, "bin", "git-remote-evil")}
	s.write("bin/git-remote-evil", "#!/bin/sh\necho ran >>'"+s.mark+"'\n", 0o755)
	from, err := template()
	if err == nil {
		err = os.CopyFS(s.repo, os.DirFS(from))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.write("repo/a.txt", "two\n", 0o644)
	return s
}

// template is a repository with one commit. It is made once, because git takes long to start.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "adze-disk-")
	if err != nil {
		return "", err
	}
	s := &stage{base: dir}
	for _, name := range []string{"a.txt", ".keep"} { // the second doesn't change, and makes status write the index again
		if err := os.WriteFile(filepath.Join(dir, name), []byte("one\n"), 0o644); err != nil {
			return dir, err
		}
	}
	for _, args := range []string{"init -q -b main", "add .", "commit -q -m one"} {
		c := exec.Command("git", strings.Fields(args)...)
		c.Dir, c.Env = dir, s.environ()
		if out, err := c.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("git %s: %w\n%s", args, err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("ADZE_TEST_NOBODY") == "" {
		if dir, _ := template(); dir != "" {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

// write writes a file below the base, with $PROGRAM and $BASE replaced.
func (s *stage) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	full := filepath.Join(s.base, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	text = strings.NewReplacer("$PROGRAM", s.program, "$BASE", s.base).Replace(text)
	// A process that is forked for another test meanwhile would have the file open for writing until it executes its own
	// program, and this file could not be executed ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(full, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) environ() []string {
	return []string{
		"PATH=" + filepath.Join(s.base, "bin") + ":" + os.Getenv("PATH"), "HOME=" + s.base, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_TERMINAL_PROMPT=0", "TERM=dumb", "LC_ALL=C",
	}
}

// try runs git, which may fail, and returns its output.
func (s *stage) try(dir, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	if dir == "" {
		dir = s.repo
	}
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Env, c.Stdin = dir, s.environ(), strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

func (s *stage) git(dir string, args ...string) {
	s.t.Helper()
	if out, err := s.try(dir, "", args...); err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (s *stage) config(text string) {
	s.t.Helper()
	old, err := os.ReadFile(filepath.Join(s.repo, ".git", "config"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("repo/.git/config", string(old)+text+"\n", 0o644)
}

func (s *stage) ran() bool {
	_, err := os.Stat(s.mark)
	return err == nil
}

// hostile are settings, and a command that shows what they can do. It is empty if that would need a terminal or a network.
var hostile = []struct {
	name, config string
	files        string // name and text, cut at the first space
	command      string
	stdin        string
}{
	{name: "fsmonitor", config: "[core]\nfsmonitor=$PROGRAM", command: "status"},
	{name: "fsmonitor, other case", config: "[CORE]\nFsMonitor = \"$PROGRAM\" ; x", command: "status"},
	{name: "fsmonitor, continued line", config: "[core]fsmonitor=$PRO\\\nGRAM", command: ""},
	{name: "hooksPath", config: "[core]hooksPath=$BASE/hooks", files: "hooks/post-index-change #!/bin/sh\n$PROGRAM", command: "status"},
	{name: "hook", files: "repo/.git/hooks/post-index-change #!/bin/sh\n$PROGRAM", command: "status"},
	{name: "diff.external", config: "[diff]external=$PROGRAM", command: "diff"},
	{name: "diff driver", config: "[diff \"x\"]command=$PROGRAM", files: "repo/.gitattributes *.txt diff=x", command: "diff"},
	{name: "diff driver in old style", config: "[diff.x]command=$PROGRAM", files: "repo/.gitattributes *.txt diff=x", command: "diff"},
	{name: "textconv, diff", config: "[diff \"x\"]textconv=$PROGRAM", files: "repo/.gitattributes *.txt diff=x", command: "diff"},
	{name: "textconv, blame", config: "[diff \"x\"]textconv=$PROGRAM", files: "repo/.git/info/attributes *.txt diff=x", command: "blame a.txt"},
	{name: "clean", config: "[filter \"x\"]clean=$PROGRAM", files: "repo/.gitattributes *.txt filter=x", command: "diff"},
	{name: "process", config: "[filter \"x\"]process=$PROGRAM", files: "repo/.gitattributes *.txt filter=x", command: "diff"},
	{name: "smudge", config: "[filter \"x\"]smudge=$PROGRAM", files: "repo/.gitattributes *.txt filter=x", command: "cat-file --filters HEAD:a.txt"},
	{name: "core.pager", config: "[core]pager=$PROGRAM", command: "grep -O two"},
	{name: "pager.log", config: "[pager]log=$PROGRAM"},
	{name: "sshCommand", config: "[core]sshCommand=$PROGRAM", command: "ls-remote ssh://nowhere.invalid/x"},
	{name: "editor", config: "[core]editor=$PROGRAM", command: "commit --allow-empty"},
	{name: "sequence.editor", config: "[sequence]editor=$PROGRAM", command: "rebase -i --autostash --root"},
	{name: "gpg.program", config: "[gpg]program=$PROGRAM", command: "commit -S --allow-empty -m x"},
	{name: "gpg.ssh.program", config: "[gpg]format=ssh\n[user]signingKey=$BASE/repo/a.txt\n[gpg \"ssh\"]program=$PROGRAM", command: "commit -S --allow-empty -m x"},
	{name: "gpg.openpgp.program", config: "[gpg \"openpgp\"]program=$PROGRAM", command: "commit -S --allow-empty -m x"},
	{name: "showSignature", config: "[log]showSignature"},
	{name: "credential.helper", config: "[credential]helper=!$PROGRAM", command: "credential fill", stdin: "protocol=https\nhost=x\n\n"},
	{name: "credential.x.helper", config: "[credential \"https://x\"]helper=!$PROGRAM", command: "credential fill", stdin: "protocol=https\nhost=x\n\n"},
	{name: "askPass", config: "[core]askPass=$PROGRAM", command: "credential fill", stdin: "protocol=https\nhost=x\n\n"},
	{name: "gitProxy", config: "[core]gitProxy=$PROGRAM", command: "ls-remote git://nowhere.invalid/x"},
	{name: "alias", config: "[alias]x=!$PROGRAM", command: "x"},
	{name: "alias without a program", config: "[alias]x=log -p"},
	{name: "uploadpack", config: "[remote \"o\"]url=$BASE/repo\nuploadpack=$PROGRAM", command: "ls-remote o"},
	{name: "receivepack", config: "[remote \"o\"]url=$BASE/repo\nreceivepack=$PROGRAM", command: "push o main"},
	{name: "vcs", config: "[remote \"o\"]vcs=evil\nurl=x", command: "ls-remote o"},
	{name: "ext address", config: "[protocol \"ext\"]allow=always\n[remote \"o\"]url=ext::$PROGRAM", command: "ls-remote o"},
	{name: "protocol.allow", config: "[protocol]allow=always", command: ""},
	{name: "helper of an address", config: "[remote \"o\"]url=evil::x", command: "ls-remote o"},
	{name: "remote called by its address", config: "[remote \"evil::x\"]promisor=true", files: "", command: "cat-file -e 1111111111111111111111111111111111111111"},
	{name: "partial clone of an address", config: "[extensions]partialClone=evil::x\n[core]repositoryFormatVersion=1", command: "cat-file -e 1111111111111111111111111111111111111111"},
	{name: "insteadOf", config: "[url \"evil::\"]insteadOf=https://", command: "ls-remote https://nowhere.invalid/x"},
	{name: "diffFilter", config: "[interactive]diffFilter=$PROGRAM"},
	{name: "trailer", config: "[trailer \"x\"]key=X\ncmd=$PROGRAM", command: "interpret-trailers --trailer x=1", stdin: "a\n"},
	{name: "trailer, old", config: "[trailer \"x\"]key=X\ncommand=$PROGRAM", command: "interpret-trailers --trailer x=1", stdin: "a\n"},
	{name: "difftool", config: "[difftool \"x\"]cmd=$PROGRAM", command: "difftool -y -t x"},
	{name: "difftool path", config: "[difftool \"meld\"]path=$PROGRAM", command: "difftool -y -t meld"},
	{name: "man", config: "[man]viewer=x\n[man \"x\"]cmd=$PROGRAM", command: "help -m git"},
	{name: "browser", config: "[browser \"x\"]cmd=$PROGRAM", command: ""},
	{name: "tar", config: "[tar \"x\"]command=$PROGRAM", command: "archive --format=x HEAD"},
	{name: "merge driver", config: "[merge \"x\"]driver=$PROGRAM"},
	{name: "mergetool", config: "[mergetool \"x\"]cmd=$PROGRAM"},
	{name: "submodule.update", config: "[submodule \"x\"]update=!$PROGRAM"},
	{name: "alternateRefsCommand", config: "[core]alternateRefsCommand=$PROGRAM"},
	{name: "packObjectsHook", config: "[uploadpack]packObjectsHook=$PROGRAM"},
	{name: "configured hook", config: "[hook \"x\"]event=post-index-change\ncommand=$PROGRAM"},
	{name: "include", config: "[include]path=../more", files: "repo/more [core]fsmonitor=$PROGRAM", command: "status"},
	{name: "include in home", config: "[include]path=~/more", files: "more [core]fsmonitor=$PROGRAM", command: "status"},
	{name: "includeIf", config: "[includeIf \"gitdir:$BASE/**\"]path=$BASE/more", files: "more [core]fsmonitor=$PROGRAM", command: "status"},
	{name: "includeIf by branch", config: "[includeIf \"onbranch:main\"]path=$BASE/more", files: "more [core]fsmonitor=$PROGRAM", command: "status"},
	{name: "config.worktree", config: "[extensions]worktreeConfig=true\n[core]repositoryFormatVersion=1", files: "repo/.git/config.worktree [core]fsmonitor=$PROGRAM", command: "status"},
	{name: "windows lines", config: "[core]\r\nfsmonitor=$PROGRAM\r\n", command: "status"},
}

// overruled are settings that commands without approval don't use: their environment overrules them.
var overruled = map[string]bool{"core.pager": true, "sshCommand": true, "askPass": true, "credential.helper": true}

func TestGitHostile(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if name, text, ok := strings.Cut(tt.files, " "); ok {
				s.write(name, text+"\n", 0o755)
			}
			d := open(options{home: s.base})
			if _, program, known := d.Git(s.repo); !known || program != "" && tt.name != "hook" && tt.name != "config.worktree" {
				t.Fatalf("before: %q, %v", program, known)
			}
			s.config(tt.config)
			if _, program, known := d.Git(s.repo); program == "" && known && !overruled[tt.name] {
				t.Error("the repository counts as plain")
			}
			if tt.command == "" {
				return
			}
			out, err := s.try("", tt.stdin, strings.Fields(tt.command)...)
			if !s.ran() {
				t.Errorf("git %s did not run the program, so this case shows nothing: %v\n%s", tt.command, err, out)
			}
		})
	}
}
