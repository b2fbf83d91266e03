package undo

import (
	"path/filepath"
	"testing"
)

// A bug: the files of a second root whose name begins with the first one's and ends with .git were taken for the first
// one's repository, which undo doesn't restore; and the root directory had no open files and no repository.
func TestRepositoryOfARoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, path, want string }{
		{"/w/app", "/w/app/.git", "/w/app/.git"},
		{"/w/app", "/w/app/.git/hooks/x", "/w/app/.git"},
		{"/w/app", "/w/app.git", ""},
		{"/w/app", "/w/app.git/config", ""},
		{"/w/app", "/w/app/.github/x", ""},
		{"/w/app", "/w/app/sub/.git/config", ""},
		{"/w/app", "/w/other/.git", ""},
		{"/", "/.git/config", "/.git"},
	} {
		s := &snapshot{roots: []string{filepath.FromSlash(c.root)}}
		if got := s.gitOf(filepath.FromSlash(c.path)); got != filepath.FromSlash(c.want) {
			t.Errorf("root %s, %s: %q, want %q", c.root, c.path, got, c.want)
		}
	}
}
