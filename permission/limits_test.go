//go:build unix

package permission_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Judging a command had a limit of one second, and each question to the disk one of 20 ms, so that commands required approval
// on a busy machine. No code that judges reads the clock.
func TestNoClock(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "internal") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		checked++
		for _, i := range file.Imports {
			if i.Path.Value == `"time"` || i.Path.Value == `"context"` {
				t.Errorf("%s imports %s", path, i.Path.Value)
			}
		}
		return nil
	})
	if err != nil || checked < 30 {
		t.Errorf("%d files checked: %v", checked, err)
	}
}

// countingDisk is a disk that counts questions, and takes some time for each.
type countingDisk struct {
	plainDisk
	asked *int
	each  time.Duration
}

func (c countingDisk) ask() {
	*c.asked++
	time.Sleep(c.each) // not synchronization: a slow disk
}

func (c countingDisk) Resolve(p string) string             { c.ask(); return c.plainDisk.Resolve(p) }
func (c countingDisk) Git(p string) (string, string, bool) { c.ask(); return c.plainDisk.Git(p) }

// numbered repeats a word n times, with another number in place of each N.
func numbered(word string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(word, "N", fmt.Sprint(i)))
	}
	return b.String()
}

// A disk that takes an hour for each answer changes no verdict.
func TestSlowDiskChangesNothing(t *testing.T) {
	for _, line := range []string{
		"cat" + numbered(" N", 8), numbered("cat N; ", 8) + "true", "mytool" + numbered(" N", 8), "cat" + numbered(" N*.go", 8),
		numbered("git -C N status; ", 8) + "true", "grep -r x" + numbered(" N", 8),
	} {
		var first tool.Decision
		for i, each := range []time.Duration{0, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				w, asked := plainWorld(), 0
				w.Disk = func() permission.Disk { return countingDisk{asked: &asked, each: each} }
				d := permission.New(w, permission.Default).Judge(commandRequest(line))
				if i == 0 {
					first = d
				} else if d.Verdict != first.Verdict || d.Reason != first.Reason {
					t.Errorf("%s: %v (%s), with a slow disk %v (%s)", line, first.Verdict, first.Reason, d.Verdict, d.Reason)
				}
			})
		}
	}
}

// A line with too much to check is not judged, after the same number of questions each time. It is denied if a rule denies
// any command, and otherwise requires approval, whatever rules and mode would allow.
func TestTooMuchToCheck(t *testing.T) {
	serial.Test(t)
	for name, line := range map[string]string{
		"paths":        numbered("cat a=a=a=a=a=a=a=aN; ", 2000) + "true",
		"repositories": numbered("git -C N status; ", 1200) + numbered("cat a=a=a=a=a=a=a=aN; ", 150),
		"searches":     numbered("grep -r x aN bN cN dN eN fN gN; ", 1300) + "true",
	} {
		for n, c := range []struct {
			allow, ask, deny string
			mode             permission.Mode
			want             tool.Verdict
		}{
			{"Shell(*)", "Read(nothing)", "", permission.Yolo, tool.Ask},
			{"Shell(*)", "", "Read(nothing)", permission.Yolo, tool.Ask},
			{"Shell(*)", "Read(nothing)", "Shell(nothing)", permission.Yolo, tool.Deny},
			{"", "Read(nothing)", "", permission.Plan, tool.Deny},
		} {
			if n > 0 && name != "paths" {
				continue
			}
			var questions [2]int
			for i := range questions {
				w := plainWorld()
				w.Disk = func() permission.Disk { return countingDisk{asked: &questions[i]} }
				rules := parse(t, some(c.allow), some(c.ask), some(c.deny))
				d, _ := permission.Check(w, rules, c.mode, permission.Options{}, commandRequest(line))
				if d.Verdict != c.want || !strings.Contains(d.Reason, "too many steps to check") || len(d.Offer) > 0 || len(d.Grant) > 0 {
					t.Errorf("%s: %v, want %v: %.200s", name, d.Verdict, c.want, d.Reason)
				}
			}
			if questions[0] != questions[1] || questions[0] > 1<<17 {
				t.Errorf("%s: %d questions to the disk, then %d", name, questions[0], questions[1])
			}
		}
	}
}

func some(rule string) []string {
	if rule == "" {
		return nil
	}
	return []string{rule}
}
