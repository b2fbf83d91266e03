package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestReadFile(t *testing.T) {
	tooltest.Check(t, one(t, "read_file"),
		tooltest.Try{Args: `{"absolute_path":"$WORK/a"}`, Files: map[string]string{"a": "x\ny\n"}},
		tooltest.Try{Args: `{"absolute_path":"$WORK/a"}`, Fails: true},
	)
}

// numbered makes a text of n lines.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestReadFileLimits(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"lines":   strings.Repeat("x\n", 2001),
		"chars":   numbered(10_000),
		"oneline": long,
		"mixed":   "a\n" + long + "\nb\n",
		"fits":    "a\n" + long[:20_000] + "\nb\n",
		"million": strings.Repeat("0123456789\n", 1_000_000),
	})
	x := executor(open(t, dir))
	for _, c := range []struct {
		args       args
		head, tail string
	}{
		{args{"absolute_path": "lines"}, "Showing lines 1-2000 of 2001 total lines.\n\nx\n", "x\nx\n"},
		{args{"absolute_path": "lines", "limit": 2001}, "x\nx\n", "x\nx\n"},
		{args{"absolute_path": "chars"}, "Showing lines 1-2000 of 10000 total lines.\n\nline 1\n", "\nline 2000\n"},
		{args{"absolute_path": "chars", "limit": 9000}, "Showing lines 1-2610 of 10000 total lines.\n\n", "\nline 2610\n"},
		{args{"absolute_path": "chars", "offset": 9998}, "Showing lines 9999-10000 of 10000 total lines.\n\nline 9999\n", "line 10000\n"},
		{args{"absolute_path": "oneline"}, "Showing lines 1-1 of 1 total lines.\n\nxxx", "xxx" + cutMark},
		{args{"absolute_path": "mixed"}, "Showing lines 1-3 of 3 total lines.\n\na\nxxx", "xxx" + cutMark + "\nb\n"},
		{args{"absolute_path": "fits"}, "a\nxxx", "xxx\nb\n"},
		{args{"absolute_path": "million", "offset": 999_998}, "Showing lines 999999-1000000 of 1000000 total lines.\n\n0123456789\n", "9\n0123456789\n"},
		{args{"absolute_path": "million"}, "Showing lines 1-2000 of 1000000 total lines.\n\n0123456789\n", "9\n"},
	} {
		name := fmt.Sprint(c.args)
		c.args["absolute_path"] = filepath.Join(dir, c.args["absolute_path"].(string))
		o := call(t, x, "read_file", c.args)
		text := o.Result.Text()
		if !strings.HasPrefix(text, c.head) || !strings.HasSuffix(text, c.tail) {
			t.Errorf("%s: %.100q … %q", name, text, text[max(0, len(text)-100):])
		}
		if n := utf8.RuneCountInString(text); n > maxChars+200 {
			t.Errorf("%s: %d characters", name, n)
		}
	}
}

// A line that is too long to be shown with others can still be read: requested alone it counts as read.
func TestReadFileLongLineCountsWhenAlone(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a": "one\n" + strings.Repeat("x", 60_000) + "\nthree\n"})
	s := open(t, dir)
	x, path := executor(s), filepath.Join(dir, "a")
	call(t, x, "read_file", args{"absolute_path": path})
	o := call(t, x, "read_file", args{"absolute_path": path, "offset": 1, "limit": 1})
	if n := len(o.Result.Text()); n < maxChars {
		t.Errorf("only %d characters of the line", n)
	}
}

// Cut lines of a long file don't count as read.
func TestReadFileLongLinesOfALongFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a": strings.Repeat(strings.Repeat("x", 5000)+"\n", 3000)})
	x, path := executor(open(t, dir)), filepath.Join(dir, "a")
	o := call(t, x, "read_file", args{"absolute_path": path})
	if text := o.Result.Text(); !strings.HasPrefix(text, "Showing lines 1-12 of 3000 total lines.\n\nxxx") || strings.Count(text, cutMark) != 12 {
		t.Errorf("%.100q, %d lines cut", text, strings.Count(text, cutMark))
	}
	call(t, x, "read_file", args{"absolute_path": path, "offset": 6, "limit": 1})
	o = call(t, x, "write_file", args{"file_path": path, "content": "x"})
	if !strings.Contains(o.Result.Text(), "lines 1-6, 8-3000 of 3000 were not read") {
		t.Error(o.Result.Text())
	}
}

// A sparse file of 5 GB, a pipe without a writer, and a text of unknown size are handled immediately.
func TestReadFileOddFiles(t *testing.T) {
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse")
	f, err := os.Create(sparse)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(5 << 30); err != nil {
		t.Skip("no sparse files here:", err)
	}
	f.Close()
	x := executor(open(t, dir))
	began := time.Now()
	if o := call(t, x, "read_file", args{"absolute_path": sparse}); !strings.Contains(o.Result.Text(), "binary file: sparse (binary file, 5 GB") {
		t.Errorf("%+v", o)
	}
	fifo := filepath.Join(dir, "fifo")
	if makeFIFO(fifo) == nil {
		if o := call(t, x, "read_file", args{"absolute_path": fifo}); o.Error == nil || o.Error.Type != readContentFailure {
			t.Errorf("%+v", o)
		}
	}
	if _, err := os.Stat("/proc/self/status"); err == nil {
		if o := call(t, x, "read_file", args{"absolute_path": "/proc/self/status"}); o.Status != tool.StatusSuccess || !strings.HasPrefix(o.Result.Text(), "Name:") {
			t.Errorf("%+v", o)
		}
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("that took %s", d)
	}
}

// A file over the limit is followed by its declarations, wherever they are. Nothing else is.
func TestReadFileOutline(t *testing.T) {
	dir := t.TempDir()
	body := strings.Repeat("    pass\n", 1000)
	python := "class Store:\n  def load(self):\n" + body + "\n  def save(self):\n" + body + "\ndef last():\n    pass\n"
	put(t, dir, map[string]string{
		"a.py": python, "a.txt": python, "small.py": "class Store:\n", "empty.py": strings.Repeat("x = 1\n", 3000),
		"line.py": "class Store:\n    text = '" + strings.Repeat("x", 60_000) + "'\n",
		"big.py":  strings.Repeat("class Store:\n  pass\n", 120_000),
		"many.py": strings.Repeat("def function_with_a_name():\n    pass\n", 2000),
	})
	x := executor(open(t, dir))
	const outline = "    pass\n\nDeclarations in the whole file, with line numbers:\n1: class Store\n2:   def load\n1004:   def save\n2006: def last\n" +
		"To read one, use its line number minus 1 as the offset."
	for _, c := range []struct {
		name string
		args args
		want bool
	}{
		{"a.py", args{}, true},
		{"a.py", args{"limit": 2006}, false},
		{"a.py", args{"limit": 2000}, false},
		{"a.py", args{"limit": 50_000}, false},
		{"a.py", args{"offset": 5}, false},
		{"a.py", args{"limit": 5}, false},
		{"a.txt", args{}, false},
		{"small.py", args{}, false},
		{"empty.py", args{}, false},
		{"line.py", args{}, false},
		{"big.py", args{}, false},
	} {
		c.args["absolute_path"] = filepath.Join(dir, c.name)
		text := call(t, x, "read_file", c.args).Result.Text()
		if strings.HasSuffix(text, outline) != c.want || strings.Contains(text, "Declarations in") != c.want {
			t.Errorf("%s %v: … %s", c.name, c.args, text[max(0, len(text)-300):])
		}
	}
	text := call(t, x, "read_file", args{"absolute_path": filepath.Join(dir, "many.py")}).Result.Text()
	text, list, _ := strings.Cut(text, "\nDeclarations in the whole file (60 of 2000), with line numbers:\n")
	if utf8.RuneCountInString(text) > maxChars+200 || len(list) > 2100 || strings.Count(list, "\n") != 60 || !strings.Contains(list, "\n3933: def") {
		t.Errorf("%d characters, list %s", len(text), list)
	}
	// The lines count as the limit shows them, and the offset of the list is right.
	text = call(t, x, "read_file", args{"absolute_path": filepath.Join(dir, "a.py"), "offset": 2006 - 1, "limit": 1}).Result.Text()
	if !strings.HasSuffix(text, "\n\ndef last():\n") {
		t.Error(text)
	}
}
