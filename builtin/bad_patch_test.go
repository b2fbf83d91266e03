package builtin

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/tool"
)

// A bad patch of several files is an error that names its line, and writes nothing.
func TestBadPatchesWriteNothing(t *testing.T) {
	serial.Test(t)
	good := "*** Update File: first.txt\n@@\n-one\n+ONE\n" // lines 2 to 5
	for name, c := range map[string]struct {
		patch string // after *** Begin Patch and good, and before *** End Patch
		line  int
		want  string
		typed tool.ErrorType
	}{
		"the same file twice":       {good, 6, "it is already in line 2", tool.InvalidParams},
		"the same file, spelled":    {"*** Delete File: ./sub/../first.txt\n", 6, "it is already in line 2", tool.InvalidParams},
		"delete and update":         {"*** Delete File: b.txt\n*** Update File: b.txt\n@@\n-b\n+B\n", 7, "it is already in line 6", tool.InvalidParams},
		"moved onto itself":         {"*** Update File: b.txt\n*** Move to: b.txt\n@@\n-b\n+B\n", 6, "it is already in line 6", tool.InvalidParams},
		"moved onto a changed file": {"*** Update File: b.txt\n*** Move to: first.txt\n@@\n-b\n+B\n", 6, "it is already in line 2", tool.InvalidParams},
		"moved onto a file":         {"*** Update File: b.txt\n*** Move to: c.txt\n@@\n-b\n+B\n", 6, "it exists", createOfExisting},
		"an addition over a file":   {"*** Add File: b.txt\n+x\n", 6, "it exists", createOfExisting},
		"a missing file":            {"*** Update File: none.txt\n@@\n-b\n+B\n", 6, "file not found", tool.FileNotFound},
		"a missing file is deleted": {"*** Delete File: none.txt\n", 6, "file not found", tool.FileNotFound},
		"a directory is deleted":    {"*** Delete File: sub\n", 6, "directory", targetIsDirectory},
		"no path":                   {"*** Delete File: \n", 6, "", tool.InvalidParams},
		"a path that isn't valid":   {"*** Add File: b\x00.txt\n+x\n", 6, "contains a NUL byte", tool.InvalidParams},
		"text that isn't there":     {"*** Update File: b.txt\n@@\n-nowhere\n+x\n", 7, "not found", editNotFound},
		"text that is there twice":  {"*** Update File: c.txt\n@@\n-c\n+x\n", 7, "occurs 2 times", editAmbiguous},
		"a header that is unknown":  {"*** Rename File: b.txt\n", 6, "not a valid header", tool.InvalidParams},
		"an update without changes": {"*** Update File: b.txt\n", 7, "has no changes", tool.InvalidParams},
		"a line without a mark":     {"*** Update File: b.txt\n@@\nb\n", 8, "must begin with", tool.InvalidParams},
		"over 10 MB":                {"*** Add File: d.txt\n" + strings.Repeat("+0123456789abcde\n", 10<<20/17), 246_726, "exceeds 4 MB", tool.InvalidParams},
	} {
		dir := t.TempDir()
		files := map[string]string{"first.txt": "one\n", "b.txt": "b\n", "c.txt": "c\nc\n", "sub/d.txt": "d\n"}
		put(t, dir, files)
		s, err := New(Options{Dir: dir, AllRead: true})
		if err != nil {
			t.Fatal(err)
		}
		o := call(t, executor(s), patchName, applyPatchArgs{"*** Begin Patch\n" + good + c.patch + "*** End Patch\n"})
		text := o.Result.Text()
		m := regexp.MustCompile(`line (\d+) of the patch: `).FindStringSubmatch(text)
		if o.Error == nil || o.Error.Type != c.typed || !strings.Contains(text, c.want) || m == nil || m[1] != strconv.Itoa(c.line) {
			t.Errorf("%s: %v, want line %d: %+v: %.300s", name, m, c.line, o.Error, text)
		}
		unchanged(t, name, dir, files)
		s.Close()
	}
}

// A patch that as a whole isn't one is an error that names a line, and writes nothing.
func TestPatchesWithoutAForm(t *testing.T) {
	serial.Test(t)
	const body = "*** Update File: a.txt\n@@\n-one\n+ONE\n"
	for name, c := range map[string]struct{ patch, want string }{
		"empty":            {"", "line 1 of the patch: the first line must be"},
		"without an end":   {"*** Begin Patch\n" + body, "line 5 of the patch: the patch ends here"},
		"without a begin":  {body + "*** End Patch\n", "line 1 of the patch: the first line must be"},
		"CRLF":             {strings.ReplaceAll("*** Begin Patch\n"+body+"*** End Patch\n", "\n", "\r\n"), `line 1 of the patch: the patch has \r\n line endings`},
		"byte order mark":  {"\ufeff*** Begin Patch\n" + body + "*** End Patch\n", "line 1 of the patch: the patch begins with a byte order mark"},
		"text after it":    {"*** Begin Patch\n" + body + "*** End Patch\nx\n", "line 7 of the patch: there is more text"},
		"without files":    {"*** Begin Patch\n*** End Patch\n", "line 2 of the patch: the patch has no files"},
		"a unified diff":   {"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n", "line 1 of the patch: the first line must be"},
		"10 MB, no lines":  {"*** Begin Patch\n" + strings.Repeat("x", 10<<20), "line 2 of the patch: here the patch exceeds 4 MB"},
		"10 MB of nothing": {strings.Repeat("\n", 10<<20), "here the patch exceeds 4 MB"},
	} {
		dir := t.TempDir()
		files := map[string]string{"a.txt": "one\n"}
		put(t, dir, files)
		s, err := New(Options{Dir: dir, AllRead: true})
		if err != nil {
			t.Fatal(err)
		}
		o := call(t, executor(s), patchName, applyPatchArgs{c.patch})
		if text := o.Result.Text(); o.Status == tool.StatusSuccess || !strings.Contains(text, c.want) {
			t.Errorf("%s: %.300s", name, text)
		}
		unchanged(t, name, dir, files)
		s.Close()
	}
}

// A file that changes after the approval stops the whole call, in each dialect, and a patch of several files too.
func TestChangeAfterApproval(t *testing.T) {
	for name, written := range map[string]func(path string) (string, any){
		"edit": func(path string) (string, any) {
			return editName, args{"file_path": path, "old_string": "two", "new_string": "2"}
		},
		"apply_patch": func(path string) (string, any) {
			return patchName, applyPatchArgs{"*** Begin Patch\n*** Add File: new.txt\n+x\n*** Update File: " + path + "\n@@\n-two\n+2\n*** End Patch"}
		},
		"edit_lines": func(path string) (string, any) {
			return linesName, args{"file_path": path, "edits": []args{{"first": anchorOf(t, "one\ntwo\n", "two"), "new_text": "2"}}}
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.txt")
		put(t, dir, map[string]string{"a.txt": "one\ntwo\n"})
		s, err := New(Options{Dir: dir, AllRead: true})
		if err != nil {
			t.Fatal(err)
		}
		tl, a := written(path)
		var inv *tool.Invocation
		for _, one := range s.All() {
			if one.Declaration().Name == tl {
				if inv, err = one.Prepare(t.Context(), rework(a)); err != nil {
					t.Fatal(err)
				}
			}
		}
		mine := map[string]string{"a.txt": "one\ntwo\nmine\n"}
		put(t, dir, mine)
		_, err = inv.Run(t.Context(), &tool.Live{})
		if err == nil || tool.TypeOf(err) != changedSinceRead || name == "apply_patch" && !strings.Contains(err.Error(), "line 4 of the patch: ") {
			t.Errorf("%s: %v", name, err)
		}
		unchanged(t, name, dir, mine)
		s.Close()
	}
}

// unchanged reports files below dir that are not exactly these.
func unchanged(t *testing.T, name, dir string, files map[string]string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		if want, ok := files[filepath.ToSlash(rel)]; !ok || string(content) != want {
			t.Errorf("%s: %s is %.100q", name, rel, content)
		}
		seen++
		return err
	})
	if err != nil || seen != len(files) {
		t.Errorf("%s: %d files, want %d (%v)", name, seen, len(files), err)
	}
}
