// Command failures reads the output of go test and prints what failed, in at most 36 lines, because only the last lines
// of a long log are read. The packages that failed and the names of their tests come last.
//
//	make test 2>&1 | tee log || go run ./internal/dev/failures <log
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

const (
	allLines  = 36  // of the summary
	someLines = 20  // of one failure
	fewLines  = 3   // of one failure among many
	somePacks = 10  // packages by name
	someNames = 6   // tests of a package by name
	someRunes = 240 // of a line
)

func main() {
	log.SetFlags(0)
	output, err := read(os.Stdin)
	if err != nil {
		log.Fatal("failures: ", err)
	}
	for _, line := range summary(output) {
		fmt.Println(line)
	}
}

// read returns the failures and their packages.
func read(r io.Reader) (output, error) {
	var o output
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			o.add(strings.TrimRight(line, "\r\n"))
		}
		if err == io.EOF {
			return o, nil
		}
		if err != nil {
			return o, err
		}
	}
}

// output is the part of go test's output about failures.
type output struct {
	failures []failure
	packages []pack
	open     bool // whether the next line belongs to the last failure
	counted  int  // failures that were assigned to a package
}

// failure is one failing test, a panic, a data race, or a package that doesn't compile.
type failure struct {
	head  string
	lines []string
}

// pack is a package that failed.
type pack struct {
	line  string
	tests []string
}

func (o *output) add(line string) {
	inner := strings.TrimLeft(line, " \t")
	switch {
	case strings.HasPrefix(line, "FAIL\t"):
		p := pack{line: line}
		for _, f := range o.failures[o.counted:] {
			p.tests = append(p.tests, f.names()...)
		}
		o.packages = append(o.packages, p)
		o.counted, o.open = len(o.failures), false
	case strings.HasPrefix(inner, "--- FAIL: "), line == "WARNING: DATA RACE",
		strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "), strings.HasPrefix(line, "# "):
		o.dropParent(inner)
		o.failures = append(o.failures, failure{head: inner})
		o.open = true
	case strings.HasPrefix(line, "ok  \t"), strings.HasPrefix(line, "?   \t"), line == "FAIL", line == "PASS",
		strings.HasPrefix(line, "====="), strings.HasPrefix(inner, "--- "):
		o.open = false
	case o.open:
		last := &o.failures[len(o.failures)-1]
		last.lines = append(last.lines, line)
	}
}

// dropParent removes a test that failed only because the test within it did.
func (o *output) dropParent(head string) {
	if len(o.failures) == o.counted {
		return
	}
	last := o.failures[len(o.failures)-1]
	if parent, ok := last.test(); ok && len(last.lines) == 0 && strings.HasPrefix(head, "--- FAIL: "+parent+"/") {
		o.failures = o.failures[:len(o.failures)-1]
	}
}

func (f failure) test() (string, bool) {
	name, ok := strings.CutPrefix(f.head, "--- FAIL: ")
	name, _, _ = strings.Cut(name, " (")
	return name, ok
}

func (f failure) timeout() bool { return strings.HasPrefix(f.head, "panic: test timed out") }

// names returns the tests that a failure is about.
func (f failure) names() []string {
	if name, ok := f.test(); ok {
		return []string{name}
	}
	var names []string
	if f.timeout() {
		for _, line := range f.lines {
			if name, ok := strings.CutPrefix(line, "\t\t"); ok {
				names = append(names, name+" timed out")
			} else if line == "" {
				break
			}
		}
	}
	return names
}

// summary returns the lines to print: each failure, shorter the more there are, and then the packages.
func summary(o output) []string {
	packages, shown := o.packages, o.failures
	if len(packages) > somePacks {
		packages = packages[:somePacks]
	}
	room := allLines - len(packages) - 2
	if limit := room / (fewLines + 1); len(shown) > limit {
		shown = shown[:limit]
	}
	each := share(shown, room)
	var lines []string
	for _, f := range shown {
		lines = append(lines, short(f.head))
		for _, line := range middle(f.text(), each) {
			lines = append(lines, short(line))
		}
	}
	if more := len(o.failures) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("… %d more failures above", more))
	}
	for _, p := range packages {
		line := strings.ReplaceAll(p.line, "\t", " ")
		if len(p.tests) > 0 {
			line += ": " + humanize.List(p.tests, someNames)
		}
		lines = append(lines, short(line))
	}
	if more := len(o.packages) - len(packages); more > 0 {
		lines = append(lines, fmt.Sprintf("… %d more packages failed", more))
	}
	return lines
}

// share returns how many lines each failure may have: long ones get the lines that short ones don't use.
func share(failures []failure, room int) int {
	for each := someLines; each > fewLines; each-- {
		used := len(failures)
		for _, f := range failures {
			used += min(each, len(f.text()))
		}
		if used <= room {
			return each
		}
	}
	return fewLines
}

// text returns the output of a failure: for a timeout the goroutines of the running tests, for another panic the first
// goroutine.
func (f failure) text() []string {
	if strings.HasPrefix(f.head, "--- ") || strings.HasPrefix(f.head, "# ") {
		return f.lines
	}
	var before []string
	var goroutines [][]string
	for _, line := range f.lines {
		switch {
		case strings.HasPrefix(line, "goroutine "):
			goroutines = append(goroutines, []string{line})
		case len(goroutines) == 0:
			before = append(before, line)
		default:
			last := &goroutines[len(goroutines)-1]
			*last = append(*last, line)
		}
	}
	lines := before
	for i, g := range goroutines {
		if f.timeout() && ofTest(g) || !f.timeout() && i == 0 {
			lines = append(lines, g...)
		}
	}
	return frames(lines)
}

// ofTest reports whether a goroutine runs a test, and doesn't wait for subtests or for its turn.
func ofTest(goroutine []string) bool {
	all := strings.Join(goroutine, "\n")
	return strings.Contains(all, "\ntesting.tRunner(") && len(goroutine) > 1 &&
		!strings.HasPrefix(goroutine[1], "testing.")
}

var place = regexp.MustCompile(`^\s+(\S.*\.(?:go|s):\d+)(?: \+0x[0-9a-f]+)?$`)

// frames writes each function of a stack with its position on one line, without arguments, and omits package testing.
func frames(lines []string) []string {
	var out []string
	for _, line := range lines {
		at := place.FindStringSubmatch(line)
		if at == nil || len(out) == 0 {
			if strings.TrimSpace(line) != "" {
				out = append(out, line)
			}
			continue
		}
		name := out[len(out)-1]
		if i := strings.LastIndex(name, "("); i > 0 {
			name = name[:i]
		}
		out = out[:len(out)-1]
		if inner := strings.TrimSpace(name); strings.HasPrefix(inner, "testing.") ||
			strings.HasPrefix(inner, "created by testing.") || inner == "main.main" {
			continue
		}
		out = append(out, name+" "+filepath.Base(at[1]))
	}
	return out
}

// middle removes the middle of more than n lines: the first lines have the test's message, and the last those of a
// script.
func middle(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	first, last := n-1-(n-1)/2, (n-1)/2
	out := append([]string(nil), lines[:first]...)
	out = append(out, fmt.Sprintf("    … %d lines …", len(lines)-first-last))
	return append(out, lines[len(lines)-last:]...)
}

func short(line string) string {
	if r := []rune(line); len(r) > someRunes {
		return string(r[:someRunes]) + "…"
	}
	return line
}
