package ondisk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const evil = "[core]fsmonitor=$PROGRAM"

// places are layouts of repositories. The result is "" for nothing, "?" for unknown, "!" for a program.
var places = []struct {
	name  string
	setup func(s *stage) (dir string)
	want  string
	runs  string // a command that shows that the program runs
}{
	{"plain", func(s *stage) string { return s.repo }, "", ""},
	{"no repository", func(s *stage) string { return s.base }, "", ""},
	{"folder that does not exist", func(s *stage) string { s.config(evil); return s.repo + "/a/b/c" }, "!", ""},
	{"relative", func(s *stage) string { return "repo" }, "?", ""},
	{"below", func(s *stage) string { s.config(evil); s.write("repo/a/b", "", 0o644); return s.repo + "/a" }, "!", "status"},
	{"inside .git", func(s *stage) string { s.config(evil); return s.repo + "/.git" }, "!", ""},
	{"through a link", func(s *stage) string {
		s.config(evil)
		s.link(s.repo, "link")
		return s.base + "/link"
	}, "!", "status"},
	{".git is a link", func(s *stage) string {
		s.config(evil)
		s.link(s.repo+"/.git", "other/.git")
		return s.base + "/other"
	}, "!", "status"},
	{".git is a file", func(s *stage) string {
		s.config(evil)
		s.write("other/.git", "gitdir: ../repo/.git\n", 0o644)
		return s.base + "/other"
	}, "!", "status"},
	{".git is a file of something else", func(s *stage) string { s.write("other/.git", "x", 0o644); return s.base + "/other" }, "?", ""},
	{".git leads nowhere", func(s *stage) string { s.link("nowhere", "other/.git"); return s.base + "/other" }, "?", ""},
	{".git is empty", func(s *stage) string { s.write("other/.git/x", "", 0o644); return s.base + "/other" }, "?", ""},
	{"working tree", func(s *stage) string {
		s.git("", "worktree", "add", "-q", s.base+"/tree")
		s.config(evil)
		return s.base + "/tree"
	}, "!", "status"},
	{"working tree, harmless", func(s *stage) string {
		s.git("", "worktree", "add", "-q", s.base+"/tree")
		return s.base + "/tree"
	}, "", ""},
	// A directory used the repository of another one, and git printed the files of that one.
	{".git is a link to somebody else's", func(s *stage) string { s.link(s.repo+"/.git", "other/.git"); return s.base + "/other" }, "?", ""},
	{".git is a file that names somebody else's", func(s *stage) string {
		s.write("other/.git", "gitdir: ../repo/.git\n", 0o644)
		return s.base + "/other"
	}, "?", ""},
	{"objects of somebody else", func(s *stage) string {
		s.git("", "clone", "-q", ".", s.base+"/other")
		if err := os.RemoveAll(s.base + "/other/.git/objects"); err != nil {
			s.t.Fatal(err)
		}
		s.link(s.repo+"/.git/objects", "other/.git/objects")
		return s.base + "/other"
	}, "?", ""},
	{"alternates", func(s *stage) string {
		s.git("", "clone", "-q", "--shared", ".", s.base+"/other")
		return s.base + "/other"
	}, "?", ""},
	{"alternates of its own", func(s *stage) string {
		s.write("repo/.git/objects/info/alternates", "# none\n../objects\n", 0o644)
		return s.repo
	}, "", ""},
	{"bare", func(s *stage) string {
		s.git("", "clone", "-q", "--bare", ".", s.base+"/repo/vendor/x")
		s.write("repo/vendor/x/config", "[core]bare=true\n[diff]external=$PROGRAM\n", 0o644)
		return s.base + "/repo/vendor/x/objects"
	}, "!", "diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD"},
	{"bare, harmless", func(s *stage) string {
		s.git("", "clone", "-q", "--bare", ".", s.base+"/x")
		return s.base + "/x"
	}, "", ""},
	{"bare, files elsewhere", func(s *stage) string {
		s.git("", "clone", "-q", "--bare", ".", s.base+"/x")
		s.write("x/config", "[core]bare=false\nworktree=/\n", 0o644)
		return s.base + "/x"
	}, "?", ""},
	{"files elsewhere", func(s *stage) string { s.config("[core]worktree=" + s.base); return s.repo }, "?", ""},
	{"files where they are", func(s *stage) string { s.config("[core]worktree=../../repo"); return s.repo }, "", ""},
	{"attributes from a secret", func(s *stage) string { s.config("[core]attributesFile=~/.netrc"); return s.repo }, "?", ""},
	{"revisions from a secret", func(s *stage) string {
		s.link(s.base+"/.netrc", "repo/.revs")
		s.config("[blame]ignoreRevsFile=.revs")
		return s.repo
	}, "?", ""},
	{"revisions", func(s *stage) string { s.config("[blame]ignoreRevsFile=.git-blame-ignore-revs"); return s.repo }, "", ""},
	{"syntax", func(s *stage) string { s.config("[core"); return s.repo }, "?", ""},
	{"NUL", func(s *stage) string { s.config("[core]fsmonitor=false\x00x"); return s.repo }, "?", ""},
	{"huge", func(s *stage) string { s.config(strings.Repeat("# x\n", 1<<19)); return s.repo }, "?", ""},
	{"a folder for configuration", func(s *stage) string { s.write("repo/.git/config.worktree/x", "", 0o644); return s.repo }, "?", ""},
	{"include in a circle", func(s *stage) string { s.config("[include]path=config"); return s.repo }, "?", ""},
	{"include of nothing", func(s *stage) string { s.config("[include]path=nothing"); return s.repo }, "", ""},
	{"include of somebody's", func(s *stage) string { s.config("[include]path=~root/x"); return s.repo }, "?", ""},
	{"include without a path", func(s *stage) string { s.config("[include]path"); return s.repo }, "?", ""},
	{"everyday settings", func(s *stage) string { s.config(everyday); return s.repo }, "", ""},
	{"submodule", submodule(""), "", ""},
	{"submodule with a filter", submodule("[filter \"x\"]clean=$PROGRAM"), "!", "status"},
	{"index of version 4", func(s *stage) string {
		dir := submodule(evil)(s)
		s.git("", "update-index", "--index-version", "4")
		return dir
	}, "!", "status"},
	{"split index", func(s *stage) string {
		dir := submodule(evil)(s)
		s.git("", "update-index", "--split-index")
		return dir
	}, "!", "status"},
	{"broken index", func(s *stage) string { s.write("repo/.git/index", "DIRC", 0o644); return s.repo }, "?", ""},
	{"sha256", func(s *stage) string {
		s.git(s.base, "init", "-q", "--object-format=sha256", "x")
		s.write("x/a", "a", 0o644)
		s.git(s.base+"/x", "add", "a")
		return s.base + "/x"
	}, "", ""},
}

const everyday = `[core]
	repositoryformatversion = 0
	fsmonitor = true
	autocrlf = input
[remote "origin"]
	url = git@example.com:me/app.git
	fetch = +refs/heads/*:refs/remotes/origin/*
	promisor = true
[branch "main"]
	remote = origin
	merge = refs/heads/main
[user]
	email = me@example.com
[pager]
	log = false
[credential]
	helper =
[color]
	pager = true
[url "https://example.com/"]
	insteadOf = ex:
[submodule "x"]
	url = https://example.com/x
	update = rebase
`

// submodule makes a repository with the given settings in the place of a submodule, as an attacker would: with the
// repository inside, and without .gitmodules.
func submodule(config string) func(*stage) string {
	return func(s *stage) string {
		s.write("repo/sub/a.txt", "x\n", 0o644)
		sub := s.repo + "/sub"
		s.git(sub, "init", "-q")
		s.git(sub, "add", ".")
		s.git(sub, "commit", "-q", "-m", "x")
		s.git("", "add", "sub")
		s.write("repo/sub/.gitattributes", "* filter=x\n", 0o644)
		s.write("repo/sub/a.txt", "y\n", 0o644)
		old, err := os.ReadFile(sub + "/.git/config")
		if err != nil {
			s.t.Fatal(err)
		}
		s.write("repo/sub/.git/config", string(old)+config+"\n", 0o644)
		return s.repo
	}
}

func (s *stage) link(target, name string) {
	s.t.Helper()
	full := filepath.Join(s.base, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(target, full); err != nil {
		s.t.Fatal(err)
	}
}

// unusual are harmless repositories that aren't plain.
var unusual = map[string]bool{
	"working tree, harmless": true, "alternates of its own": true, "bare, harmless": true, "files where they are": true, "revisions": true,
	"include of nothing": true, "everyday settings": true, "submodule": true, "sha256": true,
}

func TestGitPlaces(t *testing.T) {
	for _, tt := range places {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			dir := tt.setup(s)
			_, program, known := open(options{}).Git(dir)
			if plain := known && program == ""; plain != (tt.want == "") && !(tt.want == "" && unusual[tt.name]) {
				t.Errorf("Git(%s) = %q, %v; want %q", dir, program, known, tt.want)
			}
			if tt.runs == "" {
				return
			}
			out, err := s.try(dir, "", strings.Fields(tt.runs)...)
			if !s.ran() {
				t.Errorf("git %s did not run the program, so this case shows nothing: %v\n%s", tt.runs, err, out)
			}
		})
	}
}
