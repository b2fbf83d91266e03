package secretfiles

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
)

// cpu starts to measure processor time, which says more than the clock on a machine that does other things as well.
func cpu(b *testing.B) (report func()) {
	used := func() (ns int64) {
		var u syscall.Rusage
		must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	began := used()
	return func() { b.ReportMetric(float64(used()-began)/float64(b.N), "cpu-ns/op") }
}

// makeTree writes files into directories, each with ten files, and a few secrets.
func makeTree(b *testing.B, files int) string {
	b.Helper()
	root := newRoot(b)
	for i := range files / 10 {
		dir := filepath.Join(root, fmt.Sprint("package-", i%50), fmt.Sprint("sub-", i/50%10), fmt.Sprint("dir-", i))
		for j := range 10 {
			write(b, filepath.Join(dir, fmt.Sprint("component_", j, ".go")), "")
		}
		if i%200 == 0 {
			write(b, filepath.Join(dir, ".env"), "x")
		}
	}
	commit(b, root)
	return root
}

// It includes Close, for which the kernel takes about 15 ms of waiting.
func BenchmarkFirstList(b *testing.B) {
	root := makeTree(b, 30_000)
	for name, hide := range map[string]func(string, func() bool) bool{"default": nil, "own": DefaultHide} {
		for _, system := range []string{"watches", "times"} {
			b.Run(name+"/"+system, func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					f := New(Options{Roots: []string{root}, Hide: hide})
					f.system = systems[system]()
					if _, ok := f.List(patience); !ok {
						b.Fatal(f.Problem())
					}
					f.Close()
				}
			})
		}
	}
}

// node_modules has more files in a directory, and longer names.
func BenchmarkFirstListModules(b *testing.B) {
	root := newRoot(b)
	for i := range 1000 {
		for j := range 40 {
			write(b, filepath.Join(root, "node_modules", fmt.Sprint("package-", i), "lib", fmt.Sprint("internal-module-", j, ".d.ts")), "")
		}
	}
	defer cpu(b)()
	for b.Loop() {
		f := New(Options{Roots: []string{root}})
		if _, ok := f.List(patience); !ok {
			b.Fatal(f.Problem())
		}
		f.Close()
	}
}

func BenchmarkListUnchanged(b *testing.B) {
	root := makeTree(b, 30_000)
	for _, system := range []string{"watches", "times"} {
		b.Run(system, func(b *testing.B) {
			f := newFinder(b, systems[system](), Options{Roots: []string{root}})
			f.List(patience)
			defer cpu(b)()
			for b.Loop() {
				if paths, ok := f.List(patience); !ok || len(paths) != 15 {
					b.Fatal(len(paths), f.Problem())
				}
			}
		})
	}
}

func BenchmarkListAfterChange(b *testing.B) {
	root := makeTree(b, 30_000)
	f := newFinder(b, systems["watches"](), Options{Roots: []string{root}})
	f.List(patience)
	defer cpu(b)()
	for i := 0; b.Loop(); i++ {
		write(b, filepath.Join(root, fmt.Sprint("new", i%100)), "")
		if _, ok := f.List(patience); !ok {
			b.Fatal(f.Problem())
		}
	}
}
