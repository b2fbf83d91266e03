package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// The effects of commands, and that keeping them works.
func TestEffects(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{
		Protected: Protects(nil, func(path string) bool { return filepath.Base(path) == ".mcp.json" }),
		Instructs: func(path string) bool { return filepath.Base(path) == "AGENTS.md" },
	})
	for _, c := range []struct{ line, want string }{
		{"true", ""},
		{"cat a >/dev/null; ls -R; touch -c missing", ""},
		{"echo x > tmp; rm tmp; mkdir d; rmdir d", ""},
		{"true >> a", ""}, // opened for writing
		{"echo x > a", "changed a"},
		{"chmod 640 a", "attributes changed a (mode 0644 → 0640)"},
		{"touch -d 2020-01-01 a", "attributes changed a (time)"},
		{"chmod 700 dir", "attributes changed dir (mode 0755 → 0700)"},
		{"rm a", "deleted a"},
		{"rm -r dir", "deleted dir/ 2 file"},
		{"mv a z", "deleted a; created z"},
		{"rm -r dir; mkdir dir; touch dir/x", "replaced dir/ 1 file"},
		{"rm -r dir; echo x > dir", "replaced dir"},
		{"rm a; mkdir a; touch a/x", "replaced a/ 1 file"},
		{"rm a; ln -s dir a", "replaced a"},
		{"mv dir moved", "deleted dir/ 2 file; created moved/ 2 file"},
		{"mv dir moved; mv moved dir; test -e dir/b", "replaced dir/ 2 file"},
		{"mkdir -p dir/new; mv dir/deep dir/new/", "deleted dir/deep/ 1 file; created dir/new/ 1 file"},
		{"mkdir target; mv -T dir target", "deleted dir/ 2 file; created target/ 2 file"},
		{"mkfifo p", "created p; ! p: named pipe"},
		{"mkdir -p x/y; mkfifo x/y/p", "created x/ 1 file; ! x/y/p: named pipe"},
		{"ln -s /etc/hosts l", "created l; ! l: link out of the workspace"},
		{"mkdir -p x; ln -s ../../.. x/l", "created x/ 1 file; ! x/l: link out of the workspace"},
		{"ln -s dir/b l", "created l"},
		{"touch s; chmod u+s s", "created s; ! s: setuid"},
		{"chmod g+s a", "attributes changed a (mode 0644 → 2644); ! a: setgid"},
		{"mkdir -p x/y; echo {} > x/y/.mcp.json", "created x/ 1 file; ! x/y/.mcp.json: protected"},
		{"mkdir x; touch x/f; chmod 000 x", "created x/ 1 file"},
		{"chmod 000 dir/deep", "attributes changed dir/deep (mode 0755 → 0000)"},
		{"rm -r safe/deep", "deleted safe/deep/ 1 file; ! safe/deep/.mcp.json: protected"},
		{"rm safe/deep/.mcp.json", "deleted safe/deep/.mcp.json; ! safe/deep/.mcp.json: protected"},
		{"chmod 600 safe/deep/.mcp.json", "attributes changed safe/deep/.mcp.json (mode 0644 → 0600); ! safe/deep/.mcp.json: protected"},
		// What git would take for a repository after keeping.
		{"mkdir -p r/objects r/refs; echo x > r/HEAD", "created r/ 1 file; ! r: git repository"},
		{"mkdir -p x/r; touch x/r/HEAD x/r/commondir", "created x/ 2 file; ! x/r: git repository"},
		{"touch half/HEAD", "created half/HEAD; ! half: git repository"},
		{"touch HEAD commondir", "created HEAD; created commondir; ! .: git repository"},
		{"mv half r; touch r/HEAD", "deleted half/ 2 file; created r/ 3 file; ! r: git repository"},
		{"rm -r half/refs; touch half/HEAD", "created half/HEAD; deleted half/refs/ 1 file"},
		{"touch bare/refs/x bare/index", "created bare/index; created bare/refs/x"}, // as in .git
		{"echo x > bare/config", "created bare/config; ! bare/config: protected"},
		{"mkdir bare/hooks; touch bare/hooks/x", "created bare/hooks/ 1 file; ! bare/hooks: protected"},
		{"mkdir -p bare/modules/m; touch bare/modules/m/config", "created bare/modules/ 1 file; ! bare/modules/m/config: protected"},
		{"mkdir x; echo x > x/AGENTS.md", "created x/ 1 file; ! x/AGENTS.md: instructions"},
		{"echo x > /etc/adze-trial || echo x > /usr/adze-trial", ""},
	} {
		emptied(t, b.root)
		b.write("a", "a\n")
		b.write("dir/b", "b\n")
		b.write("dir/deep/c", "c\n")
		b.write("safe/deep/.mcp.json", "{}\n")
		for _, file := range []string{"half/objects/x", "half/refs/x", "bare/HEAD", "bare/objects/x", "bare/refs/y"} {
			b.write(file, "")
		}
		tr, out, e := b.try(c.line)
		if got := b.list(e); got != c.want {
			t.Errorf("%s: %s\n%s", c.line, got, out.Output.Head)
			continue
		}
		if _, err := tr.Keep(context.Background(), nil); err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		if _, _, e := b.try("true"); !e.None() {
			t.Errorf("%s: kept, and then: %s", c.line, b.list(e))
		}
	}
}

// The files of a new directory are listed, in the order of their paths, so that the user can read them.
func TestInside(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	b.write("old/a", "a\n")
	tr, _, e := b.try("mkdir -p new/deep; echo b > new/deep/b; echo a > new/a; ln -s a new/link; echo x > old/b; rm old/a")
	var got []string
	for _, c := range e.Changes {
		for _, f := range c.Inside {
			text, err := tr.After(f.Path)
			got = append(got, fmt.Sprintf("%s %v %q %v", strings.TrimPrefix(f.Path, b.root+"/"), f.Kind, text, err))
		}
	}
	want := `new/a created "a\n" <nil>, new/deep/b created "b\n" <nil>, new/link created "a" <nil>`
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	_, _, e = b.try("mkdir many; cd many; for i in $(seq 600); do : > $i; done")
	if c := e.Changes[0]; c.Files != 600 || len(c.Inside) != maxInside {
		t.Errorf("%d files, %d are listed", c.Files, len(c.Inside))
	}
}

// git moves directories and commits in a trial.
func TestGitInTrial(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	b := opened(t, Options{})
	b.write("dir/sub/a.txt", "a\n")
	git := "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent; "
	for _, line := range []string{"git init -q . && git add . && git commit -qm one", "git mv dir moved && git commit -qm two", "git status --porcelain && git fsck"} {
		tr, out, e := b.try(git + line)
		if out.Exit != 0 {
			t.Fatalf("%s: %s", line, out.Output.Head)
		}
		if strings.Contains(line, "status") && !e.None() {
			t.Errorf("git status changed %s", b.list(e))
		}
		// One path of a git directory selects all of it.
		if _, err := tr.Keep(context.Background(), func(path string) bool { return !strings.Contains(path, "/.git/") || strings.HasSuffix(path, "/HEAD") }); err != nil {
			t.Fatal(err)
		}
	}
	if b.read("moved/sub/a.txt") != "a\n" {
		t.Error("not moved")
	}
	tr, _, e := b.try(git + "echo b > b.txt && git add b.txt && git commit -qm three")
	if _, err := tr.Keep(context.Background(), func(path string) bool { return !strings.Contains(path, "/.git") }); err != nil {
		t.Fatal(err, e)
	}
	if _, out, _ := b.try(git + "git log --oneline | wc -l"); strings.TrimSpace(out.Output.Head) != "2" || b.read("b.txt") != "b\n" {
		t.Errorf("the git directory was kept: %s", out.Output.Head)
	}
}

// Denied connections of a trial are reported, and it doesn't wait for them.
func TestNetwork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("getent"); err != nil {
		t.Skip("no getent")
	}
	b := opened(t, Options{})
	for _, c := range []struct{ line, want, limit string }{
		{"true", "", ""},
		{"getent hosts localhost; getent hosts nothing.invalid.; true", "", ""},
		{"getent hosts Build.Adze.Dev.; true", "build.adze.dev", ""},
		{"exec 3<>/dev/tcp/192.0.2.1/80", "192.0.2.1:80", ""},
		{"echo x > /dev/udp/192.0.2.1/80", "192.0.2.1:80", ""},
		{"exec 3<>/dev/tcp/127.0.0.1/81", "127.0.0.1:81", ""},
		{"getent hosts build.adze.dev.; sleep 1000", "build.adze.dev", "it tried to reach the network and was stopped 3 s later"},
	} {
		_, out, _ := b.try(c.line)
		if got := strings.Join(out.Network, " "); got != c.want || out.Limit != c.limit {
			t.Errorf("%s: %q, %q\n%s", c.line, got, out.Limit, out.Output.Head)
		}
	}
}

// A trial is ended if it writes, starts or computes too much.
func TestLimits(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{Bytes: 32 << 20, Processes: 60, CPU: 2 * time.Second})
	for _, c := range []struct{ line, limit string }{
		{"head -c 1000000000 /dev/zero > big", "it wrote more than 32 MB"},
		{"for i in $(seq 100); do head -c 20M /dev/zero > big$i; sleep 0.1; done", "it wrote more than 32 MB"},
		{"for i in $(seq 200); do sleep 1000 & done; wait", "it had more than 60 processes"},
		{"while :; do :; done", "it used more than 2s of processor time"},
	} {
		tr, out, _ := b.try(c.line)
		if out.Limit != c.limit {
			t.Errorf("%s: %q %+v", c.line, out.Limit, out)
		}
		tr.Drop()
	}
}

// A hidden file looks empty, and opening it is known. It can't be changed.
func TestMasked(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	b.write(".env", "secret\n")
	b.write("a", "a\n")
	all := []string{"/"}
	limits, hide := &sandbox.Limits{Read: all, Execute: all}, sandbox.Cover{Path: filepath.Join(b.root, ".env"), As: sandbox.Empty}
	_, out, e := b.tryWith(proc.Command{Line: "cat .env a; echo x > .env; rm -f .env; mv .env b"}, limits, hide)
	if strings.Contains(out.Output.Head, "secret") || !strings.HasPrefix(out.Output.Head, "a\n") || len(out.Hidden) != 1 || !e.None() {
		t.Errorf("%+v %+v", out, e)
	}
	if _, out, _ := b.tryWith(proc.Command{Line: "cat a"}, limits, hide); len(out.Hidden) != 0 {
		t.Errorf("opened: %v", out.Hidden)
	}
	// Reads are limited.
	limits = &sandbox.Limits{Read: []string{b.root}, Execute: []string{"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"}}
	outside := filepath.Join(filepath.Dir(b.root), "outside")
	if err := os.WriteFile(outside, []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.write("run.sh", "#!/bin/sh\necho ran\n")
	os.Chmod(filepath.Join(b.root, "run.sh"), 0o755)
	if _, out, _ := b.tryWith(proc.Command{Line: "./run.sh; cat " + outside}, limits); !strings.HasPrefix(out.Output.Head, "ran\n") || strings.Contains(out.Output.Head, "outside\n") {
		t.Errorf("%s", out.Output.Head)
	}
}

// Changes in temp directories and caches last for the session and are not kept.
// Trials at the same time don't share them.
func TestSessionLayers(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	temp, home := filepath.Join(base, "temp"), filepath.Join(base, "home")
	cache, cache2 := filepath.Join(home, "cache"), filepath.Join(home, "deep/cache")
	for _, dir := range []string{temp, cache, cache2} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := opened(t, Options{Temp: []string{temp}, Caches: []string{cache, cache2}, Home: home})
	first, err := b.layers.New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, out, e := b.try("echo 1 > " + temp + "/x; echo 2 > " + cache + "/y; echo 3 > " + cache2 + "/z; echo no > " + home + "/w || cat " + temp + "/x " + cache + "/y " + cache2 + "/z")
	if !strings.HasSuffix(out.Output.Head, "1\n2\n3\n") || !e.None() || strings.Join(e.NotKept, " ") != filepath.Join(temp, "x") {
		t.Errorf("%+v %+v", out, e)
	}
	if _, out, e := b.try("cat " + temp + "/x " + cache + "/y " + cache2 + "/z"); out.Output.Head != "1\n2\n3\n" || len(e.NotKept) != 0 {
		t.Errorf("they don't last: %+v %+v", out, e)
	}
	if out, err := b.runner.Run(context.Background(), proc.Command{Line: "ls " + temp, Dir: b.root, Sandbox: first.Spec(nil)}); err != nil || out.Output.Head != "" {
		t.Errorf("a trial that began before sees them: %v %+v", err, out)
	}
	first.Drop()
	for _, path := range []string{temp + "/x", cache + "/y", cache2 + "/z", home + "/w"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was kept", path)
		}
	}
}

// A trial reaches sockets of its own processes, and no others.
func TestSockets(t *testing.T) {
	t.Parallel()
	if err := exec.Command("python3", "--version").Run(); err != nil {
		t.Skip("no python3:", err)
	}
	b := opened(t, Options{})
	outside, err := net.Listen("unix", filepath.Join(b.root, "outside"))
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	reached := make(chan bool, 1)
	go func() {
		c, err := outside.Accept()
		if err == nil {
			c.Close()
		}
		reached <- err == nil
	}()
	_, out, _ := b.try(`python3 -c '
import socket
a = socket.socket(socket.AF_UNIX); a.bind("own"); a.listen()
b = socket.socket(socket.AF_UNIX); b.connect("own"); print("own works")
c = socket.socket(socket.AF_UNIX); c.connect("outside"); print("reached")
'`)
	outside.Close()
	if <-reached || strings.Contains(out.Output.Head, "reached") || !strings.Contains(out.Output.Head, "own works") {
		t.Error(out.Output.Head)
	}
}

// Links that are planted between a trial and its keeping are not followed.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	outside := filepath.Join(filepath.Dir(b.root), "outside")
	for _, dir := range []string{outside, filepath.Join(outside, "dir")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"echo new > dir/a", "echo new > dir/created", "rm dir/a", "chmod 600 dir/a", "rm -r dir"} {
		emptied(t, b.root)
		b.write("dir/a", "old\n")
		if err := os.WriteFile(filepath.Join(outside, "a"), []byte("outside\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, outside)
		tr, _, e := b.try(line)
		if e.None() {
			t.Fatalf("%s: no effects", line)
		}
		if err := errors.Join(os.Rename(filepath.Join(b.root, "dir"), filepath.Join(b.root, "away")), os.Symlink(outside, filepath.Join(b.root, "dir"))); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Keep(context.Background(), nil); !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v", line, err)
		}
		if now := snapshot(t, outside); now != before {
			t.Errorf("%s: %s", line, diff(before, now))
		}
		if _, err := tr.Before(filepath.Join(b.root, "dir/a")); err == nil {
			t.Errorf("%s: read through a link", line)
		}
	}
}

// Leftover processes of a trial are stopped with it, and one that times out has effects.
func TestEndOfTrial(t *testing.T) {
	t.Parallel()
	b := opened(t, Options{})
	_, out, e := b.try("echo x > a; (while :; do echo y >> late; done) & disown; sleep 0.01; echo done")
	if out.Output.Head != "done\n" || out.Leftover != 0 {
		t.Errorf("%+v", out)
	}
	st, err := os.Stat(filepath.Join(b.root, "late"))
	if err == nil {
		t.Error("late is in the workspace", st)
	}
	if len(e.Changes) == 0 {
		t.Error("no effects")
	}
	for limit := time.Second; ; limit *= 2 { // a slow machine needs longer to begin
		_, out, e = b.tryWith(proc.Command{Line: "echo x > a; sleep 1000", Timeout: limit}, nil)
		if out.Ended == proc.TimedOut && b.list(e) == "created a" {
			break
		}
		if limit > time.Minute {
			t.Fatalf("%+v %s", out, b.list(e))
		}
	}
}
