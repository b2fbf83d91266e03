package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// What only one platform has is checked for it, also in tests, and with what is known of other packages.
const module = `
-- go.mod --
module example.com/m

go 1.26
-- p/p.go --
package p
-- p/p_darwin.go --
package p

import "fmt"

// Sayf is like fmt.Printf. Other platforms have neither package fmt nor, but one, tests: all that these import is read.
func Sayf(format string, args ...any) { fmt.Printf(format, args...) }
-- p/p_windows.go --
package p

var onWindows int = "x"
-- p/p_darwin_test.go --
package p

import "testing"

func TestSayf(t *testing.T) { Sayf("%d", 1) }
-- q/q.go --
package q

import "math"

// Large is too large for some processors.
const Large int = math.MaxInt32
-- q/q_darwin.go --
package q

import "example.com/m/p"

func onDarwin() { p.Sayf("%d", "x") }
-- q/q_386_test.go --
package q_test

import "example.com/m/q"

var larger = q.Large + 1
-- q/q_arm64.go --
package q

var larger = Large + 1
`

func TestVet(t *testing.T) {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(module)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string]string{
		"linux/arm64":   "",
		"linux/386":     `q/q_386_test.go:5:14: q.Large + 1 (constant 2147483648 of type int) overflows int`,
		"darwin/arm64":  `q/q_darwin.go:5:27: example.com/m/p.Sayf format %d has arg "x" of wrong type string`,
		"windows/amd64": `p/p_windows.go:3:21: cannot use "x" (untyped string constant) as int value in variable declaration`,
	} {
		problems, err := vet(dir, platform)
		got := strings.ReplaceAll(filepath.ToSlash(strings.Join(problems, "\n")), filepath.ToSlash(dir)+"/", "")
		if got != want || err != nil {
			t.Errorf("%s: %s (%v), want %s", platform, got, err, want)
		}
	}
}

// An analyzer that go vet has, and this hasn't, would be skipped quietly.
func TestSuite(t *testing.T) {
	if goVersion := "go1.26"; !strings.HasPrefix(runtime.Version(), goVersion) {
		t.Skipf("the analyzers are those of %s, this is %s", goVersion, runtime.Version())
	}
	out, err := exec.Command("go", "tool", "vet", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(out), "Registered analyzers:")
	var want, got []string
	for _, name := range regexp.MustCompile(`(?m)^    (\w+) `).FindAllStringSubmatch(list, -1) {
		want = append(want, name[1])
	}
	for _, a := range suite {
		got = append(got, a.Name)
	}
	slices.Sort(got)
	if len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("%q, go vet has %q", got, want)
	}
}
