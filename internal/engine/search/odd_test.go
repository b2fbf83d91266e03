//go:build unix

package search

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

func TestOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file systems of other systems refuse such names")
	}
	names := []string{"new\nline", "in\xffvalid", "-rf", "a:1:b", "tab\t", "\\back", "'quote\"", " ", "ü", strings.Repeat("x", 255)}
	all := map[string]string{}
	for _, n := range names {
		all[n+"d/"+n] = "foo\n"
	}
	delete(all, names[9]+"d/"+names[9])
	all["long/"+names[9]] = "foo\n"
	top := tree(t, all)
	res := grep(t, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"}), Mode: Paths})
	if res.MatchedFiles != len(names) {
		t.Fatalf("%d files: %+v", res.MatchedFiles, res.Files)
	}
	for _, f := range res.Files {
		if _, err := os.Stat(f.Path); err != nil {
			t.Error(err)
		}
	}
}

func TestLoopsOfLinksAndOtherKinds(t *testing.T) {
	top := tree(t, map[string]string{"a/b/x": "foo", "a/up": "-> ..", "a/b/self": "-> self", "l1": "-> l2", "l2": "-> l1", "tofile": "-> a/b/x"})
	if err := syscall.Mkfifo(filepath.Join(top, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	res := grep(t, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"})})
	if got := rel(top, show(res)); got != "a/b/x 1\n1:foo\n" || res.Unreadable != 0 {
		t.Errorf("got %q, %v", got, res.Problems)
	}
	res = grep(t, GrepRequest{Scope: Scope{Paths: []string{filepath.Join(top, "tofile")}}, Pattern: mustCompile(t, Query{Pattern: "foo"})})
	if len(res.Files) != 1 {
		t.Error("a link that is named is followed")
	}
	for _, p := range []string{"pipe", "l1", "gone"} {
		if _, err := Grep(t.Context(), GrepRequest{Scope: Scope{Paths: []string{filepath.Join(top, p)}}, Pattern: mustCompile(t, Query{Pattern: "foo"})}); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
}

func TestDeepTree(t *testing.T) {
	top := tree(t, map[string]string{"x": ""})
	p := top
	for range 900 {
		p += "/d"
	}
	if err := os.MkdirAll(p, 0o755); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(p+"/f", []byte("foo"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Every directory of the way down has a second child, so that more directories wait for theirs than are held open.
	for p := top + "/d"; len(p) < len(top)+800; p += "/d" {
		if err := os.MkdirAll(p+"/c/x", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if res := grep(t, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"})}); res.Matches != 1 || res.Unreadable != 0 {
		t.Errorf("%d matches, %v", res.Matches, res.Problems)
	}
}

// TestUnreadable runs itself as an ordinary user, whom permissions concern.
func TestUnreadable(t *testing.T) {
	top := os.Getenv("SEARCH_TEST_UNREADABLE")
	if top == "" {
		top = tree(t, map[string]string{"shut/x": "foo", "open/y": "foo", "open/z": "foo"})
		for p := top; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(top, "shut"), 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(top, "open", "z"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(filepath.Join(top, "shut"), 0o755) })
		if os.Getuid() == 0 {
			runAsNobody(t, top)
			return
		}
	}
	res := grep(t, GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"})})
	if res.Matches != 1 || res.Unreadable != 2 || len(res.Problems) != 2 || !strings.Contains(fmt.Sprint(res.Problems), "permission denied") {
		t.Fatalf("%d matches, problems %v", res.Matches, res.Problems)
	}
}

func runAsNobody(t *testing.T, top string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is in a directory that only its owner can enter.
	own := filepath.Join(top, "test")
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, "-test.run", "^TestUnreadable$")
	cmd.Dir = top
	cmd.Env = []string{"SEARCH_TEST_UNREADABLE=" + filepath.Join(top), "HOME=/", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
}

// peak runs f and returns by how much the heap grew.
func peak(f func()) uint64 {
	debug.FreeOSMemory()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, done := make(chan bool), make(chan uint64)
	go func() {
		var limit uint64
		for {
			select {
			case <-stop:
				done <- limit
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&now)
				limit = max(limit, now.HeapInuse-min(now.HeapInuse, before.HeapInuse))
			}
		}
	}()
	f()
	stop <- true
	return <-done
}

func TestHugeFilesInBoundedMemory(t *testing.T) {
	serial.Test(t)
	top := tree(t, map[string]string{"sparse/a": "", "line/b": "start "})
	sparse := filepath.Join(top, "sparse", "a")
	const small = 64 << 20
	size := int64(soak.Count(small>>20, 4<<10)) << 20
	text := []byte("needle at the beginning\n" + strings.Repeat("ordinary text\n", 8000)) // text far enough to not look binary
	if err := os.WriteFile(sparse, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, size); err != nil {
		t.Fatal(err)
	}
	appendTo(t, sparse, "\nneedle at the end\n")
	line := filepath.Join(top, "line", "b")
	chunk := strings.Repeat("0123456789abcdef", 1<<16)
	f, err := os.OpenFile(line, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range soak.Count(small>>20*3/4, 500) {
		if _, err := io.WriteString(f, chunk); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	appendTo(t, line, "needle123\nsecond line\nneedle again\n")
	for _, q := range []Query{{Pattern: "needle"}, {Pattern: `n[e]+dle[ \d]`}, {Pattern: `NEEDLE`, Case: Insensitive}, {Pattern: `(?i)f(nee)dle`}, {Pattern: `start .*needle`}, {Pattern: `needle\d+\nsecond`, Multiline: true}} {
		var res *GrepResult
		grew := peak(func() {
			res, err = Grep(t.Context(), GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, q)})
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range res.Files {
			for _, l := range f.Lines {
				got = append(got, fmt.Sprintf("%s:%d", rel(top, f.Path), l.Number))
			}
		}
		want := []string{"line/b:1", "line/b:3", "sparse/a:1", "sparse/a:8003"}
		switch {
		case q.Multiline:
			want = []string{"line/b:1", "line/b:2"}
		case strings.HasPrefix(q.Pattern, "start"), strings.HasPrefix(q.Pattern, "(?i)f"):
			want = []string{"line/b:1"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", q.Pattern, got, want)
		}
		if limit := uint64(runtime.GOMAXPROCS(0))*2*maxBuffer + 16<<20; grew > limit {
			t.Errorf("%q: the heap grew by %d MB", q.Pattern, grew>>20)
		}
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// Directories whose paths are too long for the system aren't entered: the paths alone took gigabytes.
func TestTooDeep(t *testing.T) {
	top := tree(t, map[string]string{"f": "x"})
	dir, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 200)
	for range 100 {
		if err := dir.Mkdir(name, 0o755); err != nil {
			t.Skip(err)
		}
		next, err := dir.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		dir = next
	}
	dir.Close()
	all, err := Tree(t.Context(), TreeRequest{Paths: []string{top}})
	if err != nil {
		t.Fatal(err)
	}
	shut := 0
	for _, n := range all.Nodes {
		if n.Shut {
			shut++
		}
		if len(n.Path) > MaxPath+len(name) || n.Shut != (len(n.Path) >= MaxPath) {
			t.Errorf("a path of %d characters, shut: %v", len(n.Path), n.Shut)
		}
	}
	if shut != 1 {
		t.Errorf("%d directories aren't entered", shut)
	}
	found, err := Files(t.Context(), FilesRequest{Scope: Scope{Paths: []string{top}}, Pattern: "**/*"})
	if err != nil || len(found.Problems) != 1 || found.Problems[0].Err != errTooDeep {
		t.Errorf("%+v %v", found, err)
	}
}
