package goal

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Goal{
		"go  test ./...":                    {"go  test ./...", 20, time.Hour, 0},
		"--turns 3 --time 90s --cost 0.5 x": {"x", 3, 90 * time.Second, 0.5},
		" --turns=3  sh -c 'a  b' --time 1": {"sh -c 'a  b' --time 1", 3, time.Hour, 0},
	} {
		if got, err := Parse(in); err != nil || *got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", " ", "--turns 3", "--turns 0 x", "--turns x y", "--time 3 x", "--time -1s x",
		"--cost -1 x", "--cost NaN x", "--other 1 x"} {
		if got, err := Parse(in); err == nil || !strings.Contains(err.Error(), "expected ["+Words[1:]) {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
}

func TestTestFiles(t *testing.T) {
	for path, want := range map[string]bool{
		"a_test.go": true, "src/test_x.py": true, "x.test.ts": true, "x.spec.js": true, "src/FooTest.java": true,
		"tests/data.txt": true, "a/__tests__/b.js": true, "Makefile": true, "package.json": true, "conftest.py": true,
		"testdata/golden.txt": true, "jest.config.mjs": true, "FooTests.cs": true,
		"a.go": false, "latest.js": false, "contest/a.go": false, "attest.go": false, "testing.go": false, "protest.md": false,
	} {
		if got := testFile().MatchString(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
