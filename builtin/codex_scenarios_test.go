package builtin

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// The 25 end-to-end scenarios of Codex's apply-patch (openai/codex, codex-rs/apply-patch/tests/fixtures/scenarios, read
// in November 2026), in our own words: which behave equally, and why others differ. 014's file
// has a newline; one without it is what its name says.
func TestCodexScenarios(t *testing.T) {
	type tree map[string]string
	for _, c := range []struct {
		name     string
		before   tree
		patch    string // without its first and last line
		expected tree   // in Codex
		differs  string // why it is another one here; "": it isn't
		here     tree
	}{
		{"001 adds a file", nil, "*** Add File: n.md\n+hi\n", tree{"n.md": "hi\n"}, "", nil},
		{"002 several operations", tree{"d": "x\n", "m": "1\n2\n"},
			"*** Add File: sub/n\n+new\n*** Delete File: d\n*** Update File: m\n@@\n-2\n+two\n",
			tree{"sub/n": "new\n", "m": "1\ntwo\n"}, "", nil},
		{"003 several parts", tree{"m": "1\n2\n3\n4\n"}, "*** Update File: m\n@@\n-2\n+B\n@@\n-4\n+D\n", tree{"m": "1\nB\n3\nD\n"}, "", nil},
		{"004 moves into a new directory", tree{"o/n": "old\n", "o/other": "x\n"},
			"*** Update File: o/n\n*** Move to: r/d/n\n@@\n-old\n+new\n", tree{"r/d/n": "new\n", "o/other": "x\n"}, "", nil},
		{"005 an empty patch", tree{"f": "x\n"}, "", tree{"f": "x\n"}, "", nil},
		{"006 missing context", tree{"m": "1\n2\n"}, "*** Update File: m\n@@\n-absent\n+x\n", tree{"m": "1\n2\n"}, "", nil},
		{"007 deletes a missing file", tree{"f": "x\n"}, "*** Delete File: g\n", tree{"f": "x\n"}, "", nil},
		{"008 an update without changes", tree{"f": "x\n"}, "*** Update File: f\n", tree{"f": "x\n"}, "", nil},
		{"009 updates a missing file", tree{"f": "x\n"}, "*** Update File: g\n@@\n-a\n+b\n", tree{"f": "x\n"}, "", nil},
		{"010 moves over a file", tree{"o/n": "from\n", "r/n": "there\n"}, "*** Update File: o/n\n*** Move to: r/n\n@@\n-from\n+new\n",
			tree{"r/n": "new\n"}, "the file in the way would be lost", tree{"o/n": "from\n", "r/n": "there\n"}},
		{"011 adds over a file", tree{"f": "old\n"}, "*** Add File: f\n+new\n", tree{"f": "new\n"},
			"the file in the way would be lost", tree{"f": "old\n"}},
		{"012 deletes a directory", tree{"d/f": "x\n"}, "*** Delete File: d\n", tree{"d/f": "x\n"}, "", nil},
		{"013 an unknown header", tree{"f": "x\n"}, "*** Rename File: f\n", tree{"f": "x\n"}, "", nil},
		{"014 a last line becomes two", tree{"f": "end\n"}, "*** Update File: f\n@@\n-end\n+a\n+b\n", tree{"f": "a\nb\n"}, "", nil},
		{"014 without a newline, as its name says", tree{"f": "end"}, "*** Update File: f\n@@\n-end\n+a\n+b\n", tree{"f": "a\nb\n"},
			"bytes that no one asked to change stay", tree{"f": "a\nb"}},
		{"015 fails after a part", nil, "*** Add File: n\n+x\n*** Update File: g\n@@\n-a\n+b\n", tree{"n": "x\n"},
			"a patch is all or nothing", nil},
		{"016 only adds", tree{"f": "1\n2\n"}, "*** Update File: f\n@@\n+3\n+4\n", tree{"f": "1\n2\n3\n4\n"}, "", nil},
		{"017 a padded header", tree{"f": "old\n"}, "  *** Update File: f\n@@\n-old\n+new\n", tree{"f": "new\n"}, "", nil},
		{"018 padded first and last lines", tree{"f": "1\n"}, " |*** Update File: f\n@@\n-1\n+2\n| ", tree{"f": "2\n"}, "", nil},
		{"019 other scripts", tree{"f": "1\nnaïve\n3\n"}, "*** Update File: f\n@@\n 1\n-naïve\n+naïve ✅\n", tree{"f": "1\nnaïve ✅\n3\n"}, "", nil},
		{"020 deletes a file", tree{"f": "x\n", "g": "y\n"}, "*** Delete File: g\n", tree{"f": "x\n"}, "", nil},
		{"020b padded marks", tree{"f": "1\n"}, "| *** Update File: f\n@@\n-1\n+2\n | ", tree{"f": "2\n"}, "", nil},
		{"021 only removes", tree{"f": "1\n2\n3\n"}, "*** Update File: f\n@@\n 1\n-2\n 3\n", tree{"f": "1\n3\n"}, "", nil},
		{"022 the end of the file", tree{"f": "1\n2\n"}, "*** Update File: f\n@@\n 1\n-2\n+b\n*** End of File\n", tree{"f": "1\nb\n"}, "", nil},
		{"023 CRLF", tree{"f": "1\r\n2\r\n3\r\n"}, "*** Update File: f\n@@\n-1\n+A\n 2\n+between\n 3\n", tree{"f": "A\r\n2\r\nbetween\r\n3\r\n"}, "", nil},
		{"024 mixed line endings", tree{"f": "1\r\n2\r3\n4\r\n"}, "*** Update File: f\n@@\n 1\n 2\n-3\n+C\n 4\n", tree{"f": "1\r\n2\rC\r\n4\r\n"},
			`a lone \r doesn't end a line`, tree{"f": "1\r\n2\r3\n4\r\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.before)
			begin, end := "", ""
			if parts := strings.Split(c.patch, "|"); len(parts) == 3 {
				begin, c.patch, end = parts[0], parts[1], parts[2]
			}
			s, err := New(Options{Dir: dir, AllRead: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			o := call(t, executor(s), patchName, applyPatchArgs{begin + "*** Begin Patch" + end + "\n" + c.patch + begin + "*** End Patch" + end + "\n"})
			got, want := tree{}, c.expected
			if c.differs != "" {
				want = c.here
			}
			err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				rel, _ := filepath.Rel(dir, path)
				got[filepath.ToSlash(rel)] = string(text)
				return err
			})
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("got %q, want %q: %s", got, want, o.Result.Text())
			}
			if (o.Status == tool.StatusSuccess) == maps.Equal(want, c.before) {
				t.Errorf("%v: %s", o.Status, o.Result.Text())
			}
		})
	}
}
