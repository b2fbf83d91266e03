package secretfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// step changes files; want are the hidden files afterwards.
type step struct {
	do   func(t *testing.T, root string)
	want string
}

func writes(names string) func(*testing.T, string) {
	return func(t *testing.T, root string) {
		for name := range strings.FieldsSeq(names) {
			write(t, filepath.Join(root, name), "secret")
		}
	}
}

func renames(from, to string) func(*testing.T, string) {
	return func(t *testing.T, root string) {
		must(t, os.Rename(filepath.Join(root, from), filepath.Join(root, to)))
	}
}

func removes(name string) func(*testing.T, string) {
	return func(t *testing.T, root string) { must(t, os.RemoveAll(filepath.Join(root, name))) }
}

func links(target, name string) func(*testing.T, string) {
	return func(t *testing.T, root string) { must(t, os.Symlink(target, filepath.Join(root, name))) }
}

func tracks(top, names string) func(*testing.T, string) {
	return func(t *testing.T, root string) { commit(t, filepath.Join(root, top), strings.Fields(names)...) }
}

func puts(name, text string) func(*testing.T, string) {
	return func(t *testing.T, root string) { write(t, filepath.Join(root, name), text) }
}

// stories are changes in a workspace whose root is the directory w.
var stories = map[string][]step{
	"names":            {{writes("w/.env w/a/id_rsa w/a/main.go w/.env.example w/.ssh/known_hosts w/key.pem"), "w/.env w/a/id_rsa w/.ssh/known_hosts w/key.pem"}},
	"no root":          {{writes("other/.env"), ""}, {writes("w/.env"), "w/.env"}, {removes("w"), ""}},
	"root a file":      {{writes("w"), ""}, {removes("w"), ""}, {writes("w/.env"), "w/.env"}},
	"new root":         {{writes("w/.env w/a/.env"), "w/.env w/a/.env"}, {renames("w", "old"), ""}, {writes("w/b/.env"), "w/b/.env"}},
	"root again":       {{writes("w/.env w/a/x"), "w/.env"}, {func(t *testing.T, root string) { removes("w")(t, root); writes("w/b/.env")(t, root) }, "w/b/.env"}, {writes("w/b/x.pem"), "w/b/.env w/b/x.pem"}},
	"file":             {{writes("w/a/b/x"), ""}, {writes("w/a/b/.env"), "w/a/b/.env"}, {renames("w/a/b/.env", "w/a/env"), ""}, {renames("w/a/env", "w/.env"), "w/.env"}, {removes("w/.env"), ""}},
	"directory":        {{writes("w/a/b/.env w/c/x"), "w/a/b/.env"}, {renames("w/a", "w/c/d"), "w/c/d/b/.env"}, {writes("w/c/d/b/x.pem"), "w/c/d/b/.env w/c/d/b/x.pem"}, {removes("w/c"), ""}},
	"moved in":         {{writes("w/x out/a/b/.env"), ""}, {renames("out", "w/in"), "w/in/a/b/.env"}, {writes("w/in/a/b/id_rsa"), "w/in/a/b/.env w/in/a/b/id_rsa"}, {renames("w/in", "out"), ""}, {writes("out/a/b/x.pem"), ""}},
	"exchanged":        {{writes("w/a/.env w/b/x"), "w/a/.env"}, {func(t *testing.T, root string) { renames("w/a", "w/c")(t, root); renames("w/b", "w/a")(t, root) }, "w/c/.env"}, {writes("w/a/id_rsa w/c/x.pem"), "w/a/id_rsa w/c/.env w/c/x.pem"}},
	"made again":       {{writes("w/a/b/.env"), "w/a/b/.env"}, {func(t *testing.T, root string) { removes("w/a")(t, root); writes("w/a/b/id_rsa")(t, root) }, "w/a/b/id_rsa"}},
	"secret directory": {{writes("w/keys/x"), ""}, {renames("w/keys", "w/.ssh"), "w/.ssh/x"}, {renames("w/.ssh", "w/keys"), ""}},

	"link":              {{writes("w/a/settings out/x w/d/x"), ""}, {links("a/settings", "w/.env"), "w/a/settings"}, {removes("w/.env"), ""}, {links("../out/x", "w/.env"), ""}},
	"link to later":     {{writes("w/x"), ""}, {links("later", "w/.env"), ""}, {writes("w/later"), "w/later"}, {removes("w/later"), ""}},
	"link in between":   {{writes("w/a/x w/b/x"), ""}, {links("l/x", "w/.env"), ""}, {links("a", "w/l"), "w/a/x"}, {func(t *testing.T, root string) { removes("w/l")(t, root); links("b", "w/l")(t, root) }, "w/b/x"}},
	"link to directory": {{writes("w/a/x"), ""}, {links("a", "w/.ssh"), ""}, {links("a", "w/.env"), ""}},
	"tracked link":      {{writes("w/a w/b"), ""}, {links("a", "w/.env"), "w/a"}, {tracks("w", "a"), ""}, {tracks("w", "b"), "w/a"}},

	"git directory": {{writes("w/.git/credentials w/.git/objects/.env w/.git/modules/m/objects/.env w/.git/modules/m/.env w/objects/.env"), "w/.git/credentials w/.git/modules/m/.env w/objects/.env"}},
	"tracked":       {{writes("w/.env w/a/.env"), "w/.env w/a/.env"}, {tracks("w", "a/.env"), "w/.env"}, {tracks("w", ".env"), "w/a/.env"}, {removes("w/.git"), "w/.env w/a/.env"}},
	"modified":      {{writes("w/.env"), "w/.env"}, {tracks("w", ".env"), ""}, {puts("w/.env", "longer than before"), "w/.env"}, {puts("w/.env", "secret"), ""}},
	"tracked above": {{writes("w/a/.env"), "w/a/.env"}, {tracks("", "w/a/.env"), ""}, {tracks("", ""), "w/a/.env"}},
	"nested":        {{writes("w/a/.env"), "w/a/.env"}, {tracks("w", "a/.env"), ""}, {tracks("w/a", ""), "w/a/.env"}, {tracks("w/a", ".env"), ""}, {removes("w/a/.git"), ""}},
	"worktree": {{writes("w/.env"), "w/.env"}, {tracks("main", ""), "w/.env"}, {puts("w/.git", "gitdir: ../main/.git/worktrees/w\n"), "w/.env"}, {func(t *testing.T, root string) {
		puts("main/.git/worktrees/w/index", string(indexOf(map[string]int{".env": 6})))(t, root)
	}, ""}, {puts("w/.git", "gitdir: nowhere"), "w/.env"}},
	"sha256":      {{writes("w/.env"), "w/.env"}, {puts("w/.git/index", string(indexWith(map[string]int{".env": 6, "a/b": 1}, 32, ""))), ""}},
	"split index": {{writes("w/.env"), "w/.env"}, {puts("w/.git/index", string(indexWith(map[string]int{".env": 6}, 20, "TREE\x00\x00\x00\x00"))), ""}, {puts("w/.git/index", string(indexWith(map[string]int{".env": 6}, 20, "link\x00\x00\x00\x14"+strings.Repeat("x", 20)))), "w/.env"}},
	"bad index":   {{writes("w/.env"), "w/.env"}, {tracks("w", ".env"), ""}, {puts("w/.git/index", "DIRC"), "w/.env"}, {puts("w/.git/index", string(indexOf(map[string]int{".env": 6})[:70])), "w/.env"}},
}

func TestStories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	for kind, s := range systems {
		for name, steps := range stories {
			t.Run(kind+"/"+name, func(t *testing.T) {
				base := newRoot(t)
				f := newFinder(t, s(), Options{Roots: []string{filepath.Join(base, "w")}})
				for _, step := range steps {
					step.do(t, base)
					check(t, f, base, strings.Fields(step.want)...)
					check(t, f, base, strings.Fields(step.want)...)
				}
			})
		}
	}
}

// Hide is asked again about each file after Invalidate.
func TestInvalidate(t *testing.T) {
	root := newRoot(t)
	writes("a/x a/y .env")(t, root)
	var mu sync.Mutex
	hidden := "x"
	f := newFinder(t, systems["watches"](), Options{Roots: []string{root}, Hide: func(path string, _ func() bool) bool {
		mu.Lock()
		defer mu.Unlock()
		return filepath.Base(path) == hidden
	}})
	check(t, f, root, "a/x")
	mu.Lock()
	hidden = "y"
	mu.Unlock()
	check(t, f, root, "a/x")
	f.Invalidate()
	check(t, f, root, "a/y")
}

// Directories walked once aren't watched, and that git tracks a file there doesn't matter.
func TestOnce(t *testing.T) {
	for kind, s := range systems {
		t.Run(kind, func(t *testing.T) {
			root := newRoot(t)
			writes("w/x etc/a/.env etc/key")(t, root)
			links("../key", "etc/a/x.pem")(t, root)
			tracks("etc", "a/.env")(t, root)
			f := newFinder(t, s(), Options{Roots: []string{root + "/w"}, Once: []string{root + "/etc", root + "/absent"}})
			check(t, f, root, "etc/a/.env", "etc/key")
			writes("etc/b/.env")(t, root)
			check(t, f, root, "etc/a/.env", "etc/key")
			f.Invalidate()
			check(t, f, root, "etc/a/.env", "etc/b/.env", "etc/key")
		})
	}
}

func TestLimits(t *testing.T) {
	root := newRoot(t)
	for i := range 30 {
		write(t, fmt.Sprintf("%s/%d/.env", root, i), "")
	}
	for want, o := range map[string]Options{
		"the workspace has more than 59 entries":                 {Limit: 59},
		"the workspace has more than 29 files to hide":           {Most: 29},
		"the workspace has more than 20 files with secret names": {Most: 2},
	} {
		o.Roots = []string{root}
		f := newFinder(t, systems["watches"](), o)
		for range 2 {
			if paths, ok := f.List(patience); ok || len(paths) > 0 || f.Problem() != want {
				t.Errorf("List = %q, %v, %q, want %q", paths, ok, f.Problem(), want)
			}
		}
	}
	f := newFinder(t, systems["watches"](), Options{Roots: []string{root}, Limit: 60, Most: 30})
	if paths, ok := f.List(patience); !ok || len(paths) != 30 {
		t.Errorf("List = %q, %v, %q", paths, ok, f.Problem())
	}
	// Files that come and go don't add up.
	for range 100 {
		writes("0/x")(t, root)
		removes("0/x")(t, root)
		f.List(patience)
	}
	if paths, ok := f.List(patience); !ok || len(paths) != 30 {
		t.Errorf("List = %q, %v, %q", paths, ok, f.Problem())
	}
	// More files are noticed, and after Invalidate that there are fewer.
	writes("0/x 0/y")(t, root)
	if _, ok := f.List(patience); ok {
		t.Error("62 entries are accepted")
	}
	removes("0/y")(t, root)
	removes("0/x")(t, root)
	f.Invalidate()
	if paths, ok := f.List(patience); !ok || len(paths) != 30 {
		t.Errorf("List = %q, %v, %q", paths, ok, f.Problem())
	}
}

// Without watches, comparing takes a bounded time.
func TestCompareTakesTooLong(t *testing.T) {
	root := newRoot(t)
	for i := range 100 {
		write(t, fmt.Sprintf("%s/%d/.env", root, i), "")
	}
	f := newFinder(t, system{watch: noWatcher, compare: -1}, Options{Roots: []string{root}})
	for range 2 {
		if paths, ok := f.List(patience); ok || !strings.Contains(f.Problem(), "too many directories") {
			t.Errorf("List = %q, %v, %q", paths, ok, f.Problem())
		}
	}
	f.system.compare = patience
	f.Invalidate()
	if paths, ok := f.List(patience); !ok || len(paths) != 100 || f.Problem() != "" {
		t.Errorf("List = %q, %v, %q", paths, ok, f.Problem())
	}
}

// List waits for the walk no longer than wait, and the walk continues.
func TestListDoesNotWait(t *testing.T) {
	root := newRoot(t)
	writes(".env")(t, root)
	block := make(chan struct{})
	f := newFinder(t, systems["watches"](), Options{Roots: []string{root}, Hide: func(string, func() bool) bool { <-block; return true }})
	f.Start()
	f.Start()
	if _, ok := f.List(0); ok || f.Problem() != "the workspace is still being searched" {
		t.Errorf("List is ok, %q", f.Problem())
	}
	close(block)
	check(t, f, root, ".env")
	if f.Problem() != "" {
		t.Errorf("Problem = %q", f.Problem())
	}
}
