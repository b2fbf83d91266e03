package trial

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// old is when the files of a random tree were written.
var old = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

// snapshot returns a tree as text: type, mode, content or target, attributes, other
// names, and the time if it is one that a command or the tree has set.
func snapshot(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	first := map[uint64]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if rel == ".adze" {
			return fs.SkipDir
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		line := fmt.Sprintf("%s %o", rel, st.Mode)
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line += " → " + target
		case d.Type().IsRegular():
			text, _ := os.ReadFile(path)
			line += fmt.Sprintf(" %q", text)
			if when := time.Unix(st.Mtim.Unix()); when.Year() < 2026 {
				line += " " + when.UTC().Format(time.RFC3339Nano)
			}
			if st.Nlink > 1 {
				if first[st.Ino] == "" {
					first[st.Ino] = rel
				}
				line += fmt.Sprintf(" is %s, %d names", first[st.Ino], st.Nlink)
			}
		}
		if f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
			all := readAttributes(f)
			f.Close()
			for _, name := range slices.Sorted(func(yield func(string) bool) {
				for n := range all {
					if !yield(n) {
						return
					}
				}
			}) {
				line += fmt.Sprintf(" %s=%q", name, all[name])
			}
			var list [4096]byte
			if n, err := unix.Llistxattr(path, list[:]); err == nil && strings.Contains(string(list[:n]), overlayPrefix) {
				line += " OVERLAY ATTRIBUTES"
			}
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// plant makes the same random tree for the same seed.
func plant(t testing.TB, root string, r *rand.Rand) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"d0/e0", "d0/e1", "d1/e0/f", "d2"} {
		check(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	var files []string
	for _, dir := range []string{".", "d0", "d0/e0", "d0/e1", "d1", "d1/e0", "d1/e0/f", "d2"} {
		for i := range r.IntN(4) {
			path := filepath.Join(root, dir, fmt.Sprintf("f%d", i))
			check(os.WriteFile(path, fmt.Appendf(nil, "%s %d\n", dir, r.IntN(100)), []fs.FileMode{0o644, 0o600, 0o755}[r.IntN(3)]))
			files = append(files, path)
		}
		if r.IntN(3) == 0 {
			check(os.Symlink([]string{"f0", "../f1", "nowhere", "d0"}[r.IntN(4)], filepath.Join(root, dir, "l0")))
		}
	}
	for i, path := range files {
		if i%5 == 0 {
			check(unix.Setxattr(path, "user.color", []byte("blue"), 0))
		}
		check(os.Chtimes(path, old, old))
	}
	check(os.WriteFile(filepath.Join(root, "two"), []byte("two names\n"), 0o644))
	check(os.Chtimes(filepath.Join(root, "two"), old, old))
	check(os.Link(filepath.Join(root, "two"), filepath.Join(root, "twin")))
	check(os.MkdirAll(filepath.Join(root, "d3/deep"), 0o755))
	check(os.WriteFile(filepath.Join(root, "d3/h0"), []byte("three names\n"), 0o644))
	check(os.Chtimes(filepath.Join(root, "d3/h0"), old, old))
	check(os.Link(filepath.Join(root, "d3/h0"), filepath.Join(root, "d3/deep/h1")))
	check(os.Link(filepath.Join(root, "d3/h0"), filepath.Join(root, "h2")))
}

// invent returns a random command. Hard-linked files aren't replaced: they are
// written in place.
func invent(r *rand.Rand) string {
	dirs := []string{".", "d0", "d0/e0", "d0/e1", "d1", "d1/e0", "d1/e0/f", "d2", "new", "new/x"}
	dir := func() string { return dirs[r.IntN(len(dirs))] }
	file := func() string { return dir() + "/" + []string{"f0", "f1", "f2", "l0", "g"}[r.IntN(5)] }
	ops := []func() string{
		func() string { return fmt.Sprintf("echo %d > %s", r.IntN(100), file()) },
		func() string { return fmt.Sprintf("echo %d >> %s", r.IntN(100), file()) },
		func() string { return "rm -f " + file() },
		func() string { return "rm -rf ./" + dirs[1+r.IntN(len(dirs)-1)] },
		func() string { return "mkdir -p " + dir() + "/" + []string{"new", "x/y", "f0"}[r.IntN(3)] },
		func() string { return "mv " + dirs[1+r.IntN(7)] + " " + dir() + "/moved" },
		func() string { return "mv -T " + dirs[1+r.IntN(7)] + " " + dirs[1+r.IntN(7)] },
		func() string {
			return "ln -sf " + []string{"f0", "../f2", "/etc/hosts", "d1"}[r.IntN(4)] + " " + file()
		},
		func() string {
			return fmt.Sprintf("chmod %s %s", []string{"600", "755", "0444", "640"}[r.IntN(4)], file())
		},
		func() string {
			return fmt.Sprintf("chmod %s %s", []string{"700", "755", "775"}[r.IntN(3)], dirs[1+r.IntN(len(dirs)-1)])
		},
		func() string { return "touch -h -d 2021-02-03T04:05:06 " + file() },
		func() string { return "sed -i s/1/one/ " + file() },
		func() string { return "truncate -s 5 " + file() },
		func() string { return "mkfifo " + dir() + "/pipe" },
		func() string { return `find . -name "f1" -type f -links 1 -delete` },
		func() string { return "$TRIAL_TEST set " + file() + " user.color red" },
		func() string { return "$TRIAL_TEST set " + file() + " user.shape round" },
		func() string { return "$TRIAL_TEST remove " + file() + " user.color" },
		func() string { return "$TRIAL_TEST set " + dirs[1+r.IntN(7)] + " user.kind dir" },
		func() string { return "rm -rf d0 && mkdir d0 && echo x > d0/only" },
		func() string { return "rm -rf d1 && echo x > d1" },
		func() string { return "chmod 555 d0/e1; chmod 755 d0/e1" },
		func() string { return "chmod 500 d2" },
	}
	// overlayfs doesn't always show names of one file as such, so nothing that
	// compares files comes with a link.
	if r.IntN(2) == 0 {
		ops = append(ops, func() string { return "ln " + file() + " " + file() + "2" },
			func() string { return "ln -f " + file() + " " + file() },
			func() string { return "cp -al " + dirs[1+r.IntN(7)] + " ./copy" })
	} else {
		ops = append(ops, func() string { return "mv " + file() + " " + file() },
			func() string { return "cp -a " + file() + " " + file() },
			func() string { return "cp -a " + dirs[1+r.IntN(7)] + " ./copy" })
	}
	var lines []string
	for range 1 + r.IntN(6) {
		lines = append(lines, ops[r.IntN(len(ops))]())
	}
	// A command sees names of one file as files of their own once it changed one,
	// so there is one such change of each hard-linked file.
	where := []string{".", "new/x"}[r.IntN(2)]
	lines = append(lines, "mkdir -p new/x", []string{
		"mv d3 " + where + "/moved3", "mv d3/h0 " + where + "/h3", "cp -al d3 " + where + "/linked3", "rm -rf d3",
		"rm -rf d3 && mkdir d3 && ln h2 d3/h0 && ln " + file() + " d3/f2", "rm -rf new; mkdir new; ln h2 new/h3", "true",
	}[r.IntN(7)])
	lines = append(lines, []string{"echo more >> two", "chmod 600 twin", "mv two three", "ln twin triplet; chmod 640 twin", "rm two", "true"}[r.IntN(6)])
	return strings.Join(lines, "; ")
}

// attributeTool returns the test binary as a command that sets attributes.
func attributeTool(args []string) int {
	var err error
	switch {
	case len(args) == 4 && args[0] == "set":
		err = unix.Setxattr(args[1], args[2], []byte(args[3]), 0)
	case len(args) == 3 && args[0] == "remove":
		err = unix.Removexattr(args[1], args[2])
	}
	if err != nil {
		return 1
	}
	return 0
}

// fullRounds is how many random commands make soak tries.
const fullRounds = 3000

// randomSeed returns a new one in a full soak: what that finds becomes its own test.
func randomSeed() uint64 {
	if soak.Share() >= 1 {
		return uint64(time.Now().UnixNano())
	}
	return 22
}

// Keeping a trial is the same as running the command, and dropping it is the same
// as not running it.
func TestKeepEqualsRunning(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	env := append(os.Environ(), "TRIAL_TEST="+testProgram(t))
	rounds, seed := soak.Count(15, fullRounds), randomSeed()
	t.Logf("seed %d", seed)
	for n := range rounds {
		r := func() *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }
		again := r()
		real := filepath.Join(filepath.Dir(b.root), fmt.Sprintf("real%d", n))
		if err := os.MkdirAll(real, 0o755); err != nil {
			t.Fatal(err)
		}
		emptied(t, b.root)
		plant(t, real, r())
		plant(t, b.root, again)
		line := invent(again)
		before := snapshot(t, b.root)
		// In a sandbox, since root has no capabilities there either.
		ran, err := b.runner.Run(context.Background(), proc.Command{Line: line, Dir: real, Env: env, Sandbox: &sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{real}}})
		if err != nil {
			t.Fatal(err)
		}
		dropped, _, _ := b.tryIn(line, env)
		if err := dropped.Drop(); err != nil {
			t.Fatal(err)
		}
		if now := snapshot(t, b.root); now != before {
			t.Fatalf("%d: %s: dropping changed the workspace:\n%s", n, line, diff(before, now))
		}
		tried, out, e := b.tryIn(line, env)
		if _, err := tried.Keep(context.Background(), nil); err != nil {
			t.Fatalf("%d: %s: %v\n%+v", n, line, err, e)
		}
		tried.Drop() // what was deleted has one name less
		if want, got := snapshot(t, real), snapshot(t, b.root); want != got {
			t.Errorf("%d: %s\nreal output: %s\ntrial output: %s\n%s\n%+v", n, line, ran.Output.Head, out.Output.Head, diff(want, got), e)
		}
		emptied(t, real)
		os.RemoveAll(real)
		if t.Failed() {
			return
		}
	}
}

// diff returns the lines that only one of two texts has.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out = append(out, "+ "+line)
		}
	}
	return strings.Join(out, "\n")
}

// emptied empties a directory.
func emptied(t testing.TB, dir string) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if err := removeAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(dir, 0o755)
}
