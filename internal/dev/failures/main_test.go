package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func summaryOf(t *testing.T, text string) string {
	t.Helper()
	o, err := read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := summary(o)
	if len(lines) > allLines {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	return strings.Join(lines, "\n")
}

// The output of one run of go test: a failing subtest, a test that hangs, a data race, a panic, a package that doesn't compile.
func TestSummary(t *testing.T) {
	text, err := os.ReadFile("testdata/gotest.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/summary.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := summaryOf(t, string(text)) + "\n"; got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// The log of a testscript names the command that failed in its last line.
func TestEndOfALongFailure(t *testing.T) {
	text := "--- FAIL: TestScripts/demo (1.00s)\n    first\n" + strings.Repeat("    line\n", 1000) + "    FAIL: demo.txtar:7: no match\nFAIL\nFAIL\tx/cmd\t1.0s\nFAIL\n"
	got := summaryOf(t, text)
	for _, want := range []string{"    first\n", " lines …\n", "    FAIL: demo.txtar:7: no match\n", "FAIL x/cmd 1.0s: TestScripts/demo"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.HasSuffix(got, "\n") || strings.Count(got, "\n") > someLines+2 {
		t.Errorf("got:\n%s", got)
	}
}

// However much failed, the summary is short, and its last lines name packages and tests.
func TestManyFailures(t *testing.T) {
	var b strings.Builder
	for p := range 30 {
		for i := range 20 {
			fmt.Fprintf(&b, "--- FAIL: TestX%d (0.00s)\n%s", i, strings.Repeat("    "+strings.Repeat("é", 300)+"\n", 25))
		}
		fmt.Fprintf(&b, "FAIL\nFAIL\tx/p%d\t1.0s\n", p)
	}
	got := summaryOf(t, b.String())
	for _, want := range []string{"… 594 more failures above", "FAIL x/p0 1.0s: TestX0, TestX1, TestX2, TestX3, TestX4, TestX5, 14 more\n", "… 20 more packages failed"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if len(got) > allLines*(2*someRunes+10) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestNothingFailed(t *testing.T) {
	if got := summaryOf(t, "ok  \tx/a\t0.1s\n?   \tx/b\t[no test files]\nmake: *** [test] Error 1\n"); got != "" {
		t.Errorf("got: %s", got)
	}
}
