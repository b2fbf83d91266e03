package trial

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A git clone in the workspace failed in a trial, and it looked like a failure of git: overlayfs shows a hard link to an
// existing file as another file. Programs that make hard links work, or the reason is known, so that the user can be asked.
func TestHardLinks(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cache, temp := filepath.Join(base, "cache"), filepath.Join(base, "temp")
	if err := os.MkdirAll(filepath.Join(cache, "pkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, "pkg/index.js"), []byte("module\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	b := opened(t, Options{Home: base, Caches: []string{cache}, Temp: []string{temp}})
	b.write("a", "a\n")
	b.write("dir/b", "b\n")
	git := "git -c user.name=n -c user.email=n@example.com -c init.defaultBranch=main "
	if text, err := exec.Command("sh", "-c", "cd "+b.root+" && "+git+"init -q && git add . && "+git+"commit -qm one").CombinedOutput(); err != nil {
		t.Skipf("no git: %v %s", err, text)
	}
	const works, fails, linked = "works", "fails", "hard links"
	for _, c := range []struct{ line, want string }{
		// overlayfs can't do it, and the program notices.
		{"git clone -q . x", linked},
		{"ln a l; test a -ef l", linked},
		{"cp -rl CACHE/pkg pkg", linked},
		{"mkdir node_modules; ln CACHE/pkg/index.js node_modules/", linked},
		{"ln -L CACHE/pkg/index.js other", linked},
		{"cd CACHE && ln pkg/index.js ROOT/other", linked},

		{"cp -al dir copy && cmp dir/b copy/b && test $(stat -c %h copy/b) = 2", works},
		{"git clone -q . TEMP/x && git -C TEMP/x fsck", works},
		{"git clone -q --no-hardlinks . x && git -C x fsck", works},
		{git + "gc -q && git fsck && git log --oneline", works},
		{"ln CACHE/pkg/index.js l || cp CACHE/pkg/index.js l", works},
		{"ln CACHE/pkg/index.js CACHE/pkg/other", works},
		{"echo new > n && ln n m && test n -ef m && mv m o && test n -ef o", works},

		// It would fail outside, too.
		{"ln a l; rm l; echo 1 test failed; exit 1", fails},
		{"ln CACHE/pkg/index.js l 2>/dev/null || cp CACHE/pkg/index.js l; echo 1 test failed; exit 1", fails},
		{"ln a dir/b", fails},
		{"ln missing l", fails},
	} {
		line := strings.NewReplacer("CACHE", cache, "TEMP", temp, "ROOT", b.root).Replace(c.line)
		tr, out, _ := b.try(line)
		got := out.Suspect
		switch {
		case out.Exit == 0:
			got = works
		case out.Suspect == "":
			got = fails
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, not %s: exit %d, %s", line, got, c.want, out.Exit, out.Output)
		}
		tr.Drop()
	}
	// What was linked is kept as it would be outside.
	tr, _, _ := b.try("cp -al dir copy")
	if _, err := tr.Keep(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	x, err := os.Stat(filepath.Join(b.root, "dir/b"))
	y, err2 := os.Stat(filepath.Join(b.root, "copy/b"))
	if err != nil || err2 != nil || !os.SameFile(x, y) {
		t.Errorf("the copy isn't a hard link: %v %v", err, err2)
	}
}
