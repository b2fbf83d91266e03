package gitlog

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestSince compares notes with what git did in real repositories.
func TestSince(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=ada", "-c", "user.email=ada@example.com", "-c",
			"commit.gpgsign=false"}, args...)...)
		c.Dir, c.Env = dir, []string{"PATH=" + "/usr/local/bin:/usr/bin:/bin", "HOME=" + dir}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if got := Read(dir).Since(); len(got) > 0 {
		t.Errorf("without a repository: %q", got)
	}
	git("init", "-q", "-b", "main")
	for _, step := range []struct {
		want []string
		args [][]string
	}{
		{[]string{"1 commit: First"}, [][]string{{"commit", "-q", "--allow-empty", "-m", "First"}}},
		{nil, [][]string{{"status"}, {"branch", "other"}}},
		{[]string{"2 commits: Third: it's long"}, [][]string{{"commit", "-q", "--allow-empty", "-m", "Second"},
			{"commit", "-q", "--allow-empty", "-m", "Third: it's long\n\nWith a body."}}},
		{[]string{"amended commit: Again"}, [][]string{{"commit", "-q", "--amend", "--allow-empty", "-m", "Again"}}},
		{[]string{"switched from main to topic"}, [][]string{{"switch", "-q", "-c", "topic"}}},
		{[]string{"1 commit: Topic", "switched from topic to main", "merge topic: Fast-forward"}, [][]string{
			{"commit", "-q", "--allow-empty", "-m", "Topic"}, {"switch", "-q", "main"}, {"merge", "-q", "topic"}}},
		{[]string{"reset: moving to HEAD~1"}, [][]string{{"reset", "-q", "--hard", "HEAD~1"}}},
	} {
		before := Read(filepath.Join(dir))
		for _, args := range step.args {
			git(args...)
		}
		if got := before.Since(); !slices.Equal(got, step.want) {
			t.Errorf("%q: %q, want %q", step.args, got, step.want)
		}
	}
}

// TestNotes reads lines that git writes.
func TestNotes(t *testing.T) {
	const head = "0000000000000000000000000000000000000000 1111111111111111111111111111111111111111 a <a@b> 1 +0000"
	for text, want := range map[string][]string{
		"":                                   nil,
		head + "\n":                          nil,
		head + "\tcommit (initial): One\n":   {"1 commit: One"},
		head + "\tcherry-pick: Two":          {"1 commit: Two"},
		head + "\trebase (finish): done\n":   {"rebase (finish): done"},
		"not a line of a log\ncommit: Three": nil,
	} {
		if got := Notes(Head, text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Notes(Stash, head+"\tOn main: later\n"); !slices.Equal(got, []string{"stash: On main: later"}) {
		t.Errorf("stash: %q", got)
	}
}
