package builtin

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool/tooltest"
)

func TestGrepSearchCheck(t *testing.T) {
	tooltest.Check(t, one(t, "grep_search"),
		tooltest.Try{Args: `{"pattern":"x"}`, Files: map[string]string{"a": "x\n", "b/c": "xyz\n"}},
		tooltest.Try{Args: `{"pattern":"x","path":"$WORK/a"}`, Files: map[string]string{"a": "x\n"}},
	)
}

func TestGlobCheck(t *testing.T) {
	tooltest.Check(t, one(t, "glob"),
		tooltest.Try{Args: `{"pattern":"**"}`, Files: map[string]string{"a": "x\n", "b/c": "xyz\n"}},
	)
}

// A name with a line break doesn't look like two results, and a name with escapes doesn't look like another one.
func TestSearchResultsAreOneLineEach(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such names there")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{
		"plain.txt":              "the word\n",
		"two\n" + "etc/a.txt":    "the word\n", // looks like the path of another file
		"tab\t\x1b[2J\u202e.txt": "the word\n",
		`esc\n"q".txt`:           "the word\n",
	})
	x := executor(open(t, dir))
	paths := []string{
		filepath.Join(dir, `esc\n"q".txt`),
		filepath.Join(dir, "plain.txt"),
		`"` + dir + `/tab\t\x1b[2J\u202e.txt"`,
		`"` + dir + `/two\netc/a.txt"`,
	}
	for _, c := range []struct {
		name  string
		args  args
		after string // what follows a path in its line
		every int    // lines for each result
	}{
		{"glob", args{"pattern": "**"}, "", 1},
		{"grep_search", args{"pattern": "the word", "output_mode": "files_with_matches"}, "", 1},
		{"grep_search", args{"pattern": "the word", "output_mode": "count"}, ":1", 1},
		{"grep_search", args{"pattern": "the word"}, "", 3}, // the path, its line, an empty one
	} {
		text := call(t, x, c.name, c.args).Result.Text()
		head, list, _ := strings.Cut(text, "\n\n")
		if !strings.HasSuffix(head, quotedNote) {
			t.Errorf("%s %v: the quotes are not explained:\n%s", c.name, c.args, head)
		}
		var got []string
		for i, line := range strings.Split(strings.TrimRight(list, "\n"), "\n") {
			if i%c.every == 0 {
				got = append(got, strings.TrimSuffix(line, c.after))
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(paths))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %v:\n%s\n%s", c.name, c.args, diff, text)
		}
	}
	if text := call(t, x, "glob", args{"pattern": "plain*"}).Result.Text(); strings.Contains(text, quotedNote) {
		t.Errorf("there is nothing to explain:\n%s", text)
	}
	// A tab, once read as one, names the file.
	if o := call(t, x, "read_file", args{"absolute_path": filepath.Join(dir, "tab\t\x1b[2J\u202e.txt")}); !strings.Contains(o.Result.Text(), "the word") {
		t.Error(o.Result.Text())
	}
}
