package places

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// deniedTree makes files in a workspace and beside it, and returns both directories.
func deniedTree(t *testing.T, names ...string) (ws, outside string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, outside = filepath.Join(base, "ws"), filepath.Join(base, "out")
	for _, name := range append(names, "../out/key", "../out/sub/key.pem") {
		path := filepath.Join(ws, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return ws, outside
}

// denyRule returns a rule on a path, or on all files in a directory that end in a suffix: "from/**suffix".
func denyRule(read bool, text string) DenyRule {
	from, suffix, deep := strings.Cut(text, "/**")
	return DenyRule{Rule: text, Read: read, Edit: !read, From: from, Matches: func(path string) bool {
		return names.Below(path, from) && (!deep || suffix == "" || slices.ContainsFunc(strings.Split(path, "/"), func(c string) bool { return strings.HasSuffix(c, suffix) }))
	}}
}

func TestDenials(t *testing.T) {
	ws, out := deniedTree(t, "private/n", "a.env", "sub/b.env", "node_modules/m/c.env", "dir.env/x", "x")
	if err := os.Symlink(filepath.Join(ws, "private"), filepath.Join(ws, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(ws, "a.env"), filepath.Join(ws, "sub/hard")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		read          bool
		rule          string
		hide, protect string
		text          string
	}{
		{true, ws + "/private/**", "ws/private", "", ""},
		{true, ws + "/link/**", "ws/private", "", ""},
		{true, ws + "/**.env", "ws/a.env ws/dir.env ws/node_modules/m/c.env ws/sub/b.env ws/sub/hard", "", ""},
		{false, ws + "/x", "", "ws/x", ""},
		{false, ws + "/new", "", "ws/new", ""}, // a placeholder
		{false, ws + "/new/deep", "", "", ""},  // judged by effect
		{false, out + "/new", "", "", ""},      // not in the workspace
		{true, ws + "/new", "", "", ""},        // nothing to hide
		{true, out + "/**", "out", "", ""},     // a whole directory
		{true, out + "/**.pem", "out/sub/key.pem", "", ""},
		{true, ws + "/**", "", "", "no command works without"},
		{true, filepath.Dir(ws) + "/**", "", "", "no command works without"},
		{true, "/usr/**", "", "", "no command works without"},
		{false, ws + "/**", "", "ws", ""},
		{false, "/", "", "", "only applies to paths in the text"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, text := NewDenials([]DenyRule{denyRule(c.read, c.rule)}, []string{ws}, []string{"/usr"}).Find()
			short := func(as sandbox.Kind) string {
				return strings.ReplaceAll(strings.Join(sandbox.Covered(got, as), " "), filepath.Dir(ws)+"/", "")
			}
			if d := cmp.Diff([]string{c.hide, c.protect}, []string{short(sandbox.Unreadable), short(sandbox.Unwritable)}); d != "" {
				t.Error(d)
			}
			if text := strings.Join(text, " "); c.text == "" && text != "" || !strings.Contains(text, c.text) {
				t.Errorf("text %q, want %q", text, c.text)
			}
		})
	}
}

// What a rule on editing applies to and a command creates is found.
func TestDenialsAppeared(t *testing.T) {
	ws, _ := deniedTree(t, "a.lock", "x")
	d := NewDenials([]DenyRule{denyRule(false, ws+"/**.lock"), denyRule(false, ws+"/gen/deep")}, []string{ws}, nil)
	before, _ := d.Find()
	if got := d.Appeared(before); got != nil {
		t.Errorf("appeared before: %q", got)
	}
	for _, name := range []string{"sub/b.lock", "gen/deep/c", "y"} {
		os.MkdirAll(filepath.Dir(filepath.Join(ws, name)), 0o755)
		if err := os.WriteFile(filepath.Join(ws, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(ws, "gen/deep"), filepath.Join(ws, "sub/b.lock")}
	if d := cmp.Diff(want, d.Appeared(before)); d != "" {
		t.Error(d)
	}
}

// A rule that matches too many files isn't enforced in part.
func TestDenialsTooMany(t *testing.T) {
	var names []string
	for i := range maxDenied + 1 {
		names = append(names, "f"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+strings.Repeat("y", i/50)+".map")
	}
	ws, _ := deniedTree(t, names...)
	got, text := NewDenials([]DenyRule{denyRule(true, ws+"/**.map")}, []string{ws}, nil).Find()
	if len(got) > 0 || len(text) != 1 || !strings.Contains(text[0], "more than 2000 files") {
		t.Errorf("%d paths, %q", len(got), text)
	}
}

// A bind mount shows the same files elsewhere.
func TestMountAliases(t *testing.T) {
	ws, _ := deniedTree(t, "private/n", "private/deep/m", "x")
	id := func(path string) bool { _, ok := sandbox.Identify(path); return ok }
	other := filepath.Join(filepath.Dir(ws), "other")
	if err := os.Symlink(ws, other); err != nil || !id(other) { // stands for the bind mount, which needs root
		t.Fatal(err)
	}
	mounts := []mountOf{{"0:1", "/", "/"}, {"0:2", "/", "/boot"}, {"0:1", ws, other}, {"0:1", ws + "/private/deep", "/mnt/deep"}, {"0:3", ws, "/mnt/else"}}
	got := mountAliases([]string{filepath.Join(ws, "private")}, mounts)
	if d := cmp.Diff([]string{filepath.Join(other, "private"), "/mnt/deep"}, got); d != "" {
		t.Error(d)
	}
	if got := unescapeMount(`/a\040b\134c`); got != `/a b\c` {
		t.Errorf("unescaped %q", got)
	}
}
