package builtin

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestReadManyFiles(t *testing.T) {
	tooltest.Check(t, one(t, "read_many_files"),
		tooltest.Try{Args: `{"paths":["."]}`, Files: map[string]string{"a": "x", "b/c": "y"}},
		tooltest.Try{Args: `{"paths":["nothing"]}`},
	)
}

func TestFairShares(t *testing.T) {
	for _, c := range []struct {
		sizes  []int64
		budget int
		want   []int
	}{
		{nil, 100, []int{}},
		{[]int64{10, 20}, 100, []int{10, 20}},
		{[]int64{10, 500, 900}, 100, []int{10, 45, 45}},
		{[]int64{0, 1000}, 100, []int{1, 100}},
		{[]int64{30, 40, 50, 60}, 160, []int{30, 40, 45, 45}},
	} {
		if diff := cmp.Diff(c.want, fairShares(c.sizes, c.budget)); diff != "" {
			t.Errorf("%v: %s", c.sizes, diff)
		}
	}
}

func TestReadManyFilesSharesItsBudget(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"a/short.txt": "short\n", "b/long.txt": numbered(9000), "c/long.txt": numbered(9000)}
	for i := range 300 {
		files[fmt.Sprintf("many/%03d.txt", i)] = numbered(200)
	}
	put(t, dir, files)
	x := executor(open(t, dir))

	text := call(t, x, "read_many_files", args{"paths": []string{"a", "b", "c"}}).Result.Text()
	if n := utf8.RuneCountInString(text); n > sharedChars+2000 || n < 30_000 {
		t.Errorf("%d characters", n)
	}
	if !strings.Contains(text, "\n\nshort\n\n\n") || strings.Count(text, "Showing lines 1-2000 of 9000 total lines.") != 2 {
		t.Errorf("the shares are not fair: %.300q", text)
	}

	o := call(t, x, "read_many_files", args{"paths": []string{"many/*.txt"}})
	text = o.Result.Text()
	if n := utf8.RuneCountInString(text); n > sharedChars+20_000 {
		t.Errorf("%d characters", n)
	}
	if !strings.Contains(text, "175 further files: over the budget of one call") || !strings.HasSuffix(text, "--- End of content ---") {
		t.Errorf("%q", text[len(text)-300:])
	}
}

func TestReadManyFilesTakesPicturesThatAreNamed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a.png": picture(t, 3, 3), "a.txt": "text\n"})
	x := executor(open(t, dir))
	if o := call(t, x, "read_many_files", args{"paths": []string{"*"}}); len(o.Result.Content) != 1 || !strings.Contains(o.Result.Text(), "a.png: PNG image") {
		t.Errorf("%+v", o.Result)
	}
	for _, path := range []string{"*.png", "a.png", filepath.Join(dir, "a.png")} {
		o := call(t, x, "read_many_files", args{"paths": []string{path, "a.txt"}})
		if len(o.Result.Content) != 3 || o.Result.Content[1].(tool.Media).MIMEType != "image/png" {
			t.Errorf("%s: %+v", path, o.Result)
		}
	}
}
