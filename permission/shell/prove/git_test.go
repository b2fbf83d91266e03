package prove

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
)

// The paths that calls of git name and show. + is all below, ! what git's index has there, * a pattern of git's.
func TestGitTouches(t *testing.T) {
	for _, tt := range []struct {
		line, touches string
		whole         bool // it may show all of the repository
	}{
		{"git status", "/w/.", false},
		{"git status -v", "/w/.", true},
		{"git -C a -C b status a", "/w/a/b/a /w/a/b/.", false},
		{"git -C /a status", "/a/.", false},
		{"git log a", "/w/a /w/.", false},
		{"git log -p a", "/w/a /w/. /w/.!", true},
		{"git log -p -- a", "/w/a /w/. /w/a!", false},
		{"git log -L1,5:a", "/w/1,5:a /w/a /w/.", true},
		{"git show HEAD:a", "/w/HEAD:a /w/a /w/.", true},
		{"git show 'HEAD@{10:00}:a'", "/w/HEAD@{10:00}:a /w/00}:a /w/a /w/.", true},
		{"git diff --stat", "/w/.", false},
		{"git diff a b", "/w/a+ /w/b+ /w/. /w/.!", true},
		{"git diff -- a ':!b'", "/w/a+ /w/. /w/.!", true},
		{"git diff -- ':(top)a'", "/w/:(top)a /w/a /w/. /w/.!", true},
		{"git diff -- '*.go'", "/w/*.go* /w/. /w/.!", true},
		{"git diff -- '\\a'", "/w/\\a /w/a /w/. /w/.!", true},
		{"git grep x a", "/w/a+ /w/.+", false},
		{"git grep -e x a", "/w/a+ /w/.+", false},
		{"git cat-file -t HEAD", "/w/HEAD /w/.", false},
	} {
		p := proveLine(t, tt.line, false)
		var got []string
		for _, touch := range p.Touches {
			for mark, is := range map[string]bool{"+": touch.Scope.Deep(), "!": touch.Scope >= Index, "*": touch.Pattern == GitGlob} {
				if is {
					touch.Path += mark
				}
			}
			got = append(got, touch.Path)
		}
		if strings.Join(got, " ") != tt.touches || p.Whole != tt.whole || p.Why != "" {
			t.Errorf("%s: %q, whole %v, want %q, %v (%s)", tt.line, got, p.Whole, tt.touches, tt.whole, p.Why)
		}
	}
}

// Calls of git that are not read-only.
func TestGitIsNotReadOnly(t *testing.T) {
	for _, line := range []string{
		"git", "git -c core.pager=less log", "git -c core.fsmonitor=x status", "git --exec-path=x log", "git -p log", "git push", "git log --format=mine", "git log --format=%GG", "git tag --sort=signature",
		"git log --diff-merges=remerge", "git branch x", "git grep x -- :/", "git $x", "git --version x",
	} {
		if proveLine(t, line, false).Why == "" {
			t.Errorf("%s is read-only", line)
		}
	}
}

func TestSplitGit(t *testing.T) {
	word := func(s string) bash.Word { return bash.Word{Text: s} }
	words := []bash.Word{word("-C"), word("a"), word("--no-pager"), word("-C"), word("b"), word("log"), word("-C")}
	at, own, rest := splitGit(words)
	if at.Text != "a/b/" || len(own) != 5 || len(rest) != 2 {
		t.Errorf("at %q, %v, %v", at.Text, own, rest)
	}
	if dirs := into([]string{"/w", "/v"}, at); !slices.Equal(dirs, []string{"/w/a/b/", "/v/a/b/"}) {
		t.Errorf("into %q", dirs)
	}
}
