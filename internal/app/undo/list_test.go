package undo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/tool"
)

// listed returns changes as text: kind, path, and what is known of it.
func (p *place) listed(c tool.Changes) string {
	var out []string
	short := func(path string) string { return strings.ReplaceAll(path, p.root+"/", "") }
	for _, one := range c.List {
		s := string(one.Kind) + " " + short(one.Path)
		if one.From != "" {
			s += " from " + short(one.From)
		}
		if one.Lines != nil {
			s += fmt.Sprintf(" +%d -%d", one.Lines.Added, one.Lines.Removed)
		}
		if one.Size > 0 {
			s += fmt.Sprint(" size ", one.Size)
		}
		if one.ModeBefore != one.ModeAfter {
			s += fmt.Sprintf(" %o→%o", one.ModeBefore, one.ModeAfter)
		}
		for _, state := range []string{one.Before, one.After} {
			kind, text, _ := strings.Cut(state, ":")
			if kind == "link" {
				kind += ":" + text
			}
			if kind != "" {
				s += " " + kind
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func (p *place) link(target, name string) {
	p.t.Helper()
	if err := os.Symlink(target, p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// Every kind of change is listed with what is known about it. A directory is listed only if nothing below it is. An
// executable file in place of a directory with the same mode used to be missing.
func TestList(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"changed", "gone", "mode", "moved", "modes", "dir/a", "full/x", "left/only"} {
		p.write(name, "1\n2\n"+name+"\n")
	}
	p.write("empty", "")
	p.link("changed", "link")
	p.link("changed", "cut")
	p.do(os.Mkdir(p.path("bare"), 0o755))
	found := p.call(func() {
		p.write("changed", "1\nzwei\n3\n4\n")
		p.remove("gone")
		p.do(os.Chmod(p.path("mode"), 0o600))
		p.do(os.Rename(p.path("moved"), p.path("there")))
		p.do(os.Rename(p.path("modes"), p.path("modes2")))
		p.do(os.Chmod(p.path("modes2"), 0o700))
		p.remove("dir")
		p.write("dir", "#!\n")
		p.do(os.Chmod(p.path("dir"), 0o755))
		p.do(os.Rename(p.path("full"), p.path("fuller")))
		p.remove("link")
		p.link("gone", "link")
		p.remove("cut")
		p.link("x", "fresh")
		p.remove("empty")
		p.write("empty2", "")
		p.remove("bare")
		p.do(os.MkdirAll(p.path("new/inner"), 0o755))
		p.write("bin", "a\x00b")
		p.remove("left/only")
	})
	got := p.tracker.List(found, nil)
	want := `created bin size 3 sha256
deleted bare dir
changed changed +3 -2 size 11 sha256 sha256
deleted cut link:changed
changed dir size 3 dir sha256
deleted dir/a +0 -3 sha256
created empty2 +0 -0 sha256
deleted empty +0 -0 sha256
link fresh link:x
renamed fuller/x from full/x size 11 sha256 sha256
deleted gone +0 -3 sha256
deleted left/only +0 -3 sha256
link link link:changed link:gone
mode mode size 9 644→600 sha256 sha256
renamed modes2 from modes size 10 644→700 sha256 sha256
created new/inner dir
renamed there from moved size 10 sha256 sha256`
	lines := strings.Split(want, "\n")
	for _, line := range lines {
		if !strings.Contains("\n"+p.listed(got)+"\n", "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if len(got.List) != len(lines) || !got.During || got.Incomplete != "" {
		t.Errorf("got %+v:\n%s", got.Incomplete, p.listed(got))
	}
	if text := got.Count(); text != "17 files changed, 4 new, 6 deleted, 3 renamed" {
		t.Error(text)
	}
}

// Nothing about the content of a secret file is listed, under its old name or its new one.
func TestListSecret(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{".env", "other.env", "gone.env"} {
		p.write(name, "KEY="+name)
	}
	found := p.call(func() {
		p.write(".env", "KEY=2")
		p.do(os.Rename(p.path("other.env"), p.path("plain")))
		p.remove("gone.env")
		p.write("new.env", "KEY=3")
	})
	got := p.tracker.List(found, func(path string) bool { return strings.HasSuffix(path, ".env") })
	want := "changed .env size 5\ndeleted gone.env\ncreated new.env size 5\nrenamed plain from other.env size 13"
	if p.listed(got) != want {
		t.Errorf("got\n%s", p.listed(got))
	}
}

// A file over the limit has no hash, but the list says whether it is new. It used to be "changed" always.
func TestListHuge(t *testing.T) {
	p := newPlace(t)
	p.open(undo.Limits{FileBytes: 100, Bytes: 1 << 20, Files: 1000})
	long := strings.Repeat("x", 200)
	for _, name := range []string{"changed", "gone", "moved"} {
		p.write(name, long+name)
	}
	got := p.tracker.List(p.call(func() {
		p.write("changed", long+"more")
		p.remove("gone")
		p.do(os.Rename(p.path("moved"), p.path("there")))
		p.write("new", long)
	}), nil)
	want := "changed changed size 204\ndeleted gone\ncreated new size 200\nrenamed there from moved size 205"
	if p.listed(got) != want {
		t.Errorf("got\n%s", p.listed(got))
	}
}

// Odd names are text in JSON, and relative and visible for the model.
func TestListOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other file systems have no such names")
	}
	p := newPlace(t)
	odd := []string{"a\xff", "new\nline", "\x1b[31m", `"quoted"`}
	got := p.tracker.List(p.call(func() {
		for _, name := range odd {
			p.write(name, "1\n")
		}
	}), nil)
	if len(got.List) != len(odd) {
		t.Fatal(p.listed(got))
	}
	text := got.Summary(p.root)
	if text != `a\xff (new), \x1b[31m (new), "quoted" (new), new line (new)` {
		t.Errorf("%q", text)
	}
}

// What can't be compared makes the list incomplete.
func TestListIncomplete(t *testing.T) {
	p := newPlace(t)
	p.write(".gitignore", "node_modules/\n")
	got := p.tracker.List(p.call(func() {
		p.write("node_modules/a", "1")
		p.write("a", "1")
	}), nil)
	if p.listed(got) != "created a +1 -0 size 1 sha256" || got.Incomplete != p.path("node_modules")+": an ignored directory" {
		t.Errorf("%q\n%s", got.Incomplete, p.listed(got))
	}
	var none *undo.Tracker
	if got := none.List(undo.Found{}, nil); !got.None() || got.Reported() != nil {
		t.Errorf("%+v", got)
	}
}

// Two parts of a call are one list: what the second reverts is not in it.
func TestJoin(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1\n")
	p.write("b", "1\n")
	p.write("c", "1\n")
	first := p.callWith(func() { p.write("a", "2\n"); p.write("b", "2\n"); p.remove("c") },
		tool.Access{Verb: tool.Writes, Target: p.path("a")}, tool.Access{Verb: tool.Writes, Target: p.path("b")},
		tool.Access{Verb: tool.Writes, Target: p.path("c")})
	if got := p.tracker.List(first, nil); got.During || len(got.List) != 3 {
		t.Errorf("%+v", got)
	}
	second := p.call(func() { p.write("a", "1\n"); p.write("b", "3\n4\n"); p.write("d", "1\n") })
	joined := first.Join(second)
	got := p.tracker.List(joined, nil)
	if want := "changed b +2 -1 size 4 sha256 sha256\nrenamed d from c size 2 sha256 sha256"; p.listed(got) != want || !got.During {
		t.Errorf("got\n%s", p.listed(got))
	}
	p.undo(joined.Changes, undo.PlanOptions{})
	if b, _ := os.ReadFile(p.path("b")); string(b) != "1\n" {
		t.Errorf("b is %q", b)
	}
	if len(first.Changes) != 3 {
		t.Error("Join changed its receiver")
	}
}

// The changes of a tried call are listed. A link that was replaced by the same link used to be a change of its mode.
func TestListKept(t *testing.T) {
	p := newPlace(t)
	p.write("a", "old\n")
	before := filepath.Join(t.TempDir(), "a")
	p.do(os.Rename(p.path("a"), before))
	p.write("a", "new\n")
	q := tool.Request{Call: tool.Call{ID: "c"}}
	w := p.tracker.Keeping(q)
	p.link("a", "same")
	p.tracker.Kept(undo.Ref{ID: "c"}, []undo.KeptPath{{Path: p.path("a"), Before: before}, {Path: p.path("none")},
		{Path: p.path("same"), ModeOnly: true, Mode: 0o777}})
	got := p.tracker.List(w.After(t.Context()), nil)
	if p.listed(got) != "changed a +1 -1 size 4 sha256 sha256" || got.During {
		t.Errorf("%+v", got)
	}
}
