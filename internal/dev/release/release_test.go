package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/fenced"
)

func TestVersionForm(t *testing.T) {
	for version, ok := range map[string]bool{"v1.2.3": true, "v0.1.0-rc.1": true, "1.2.3": false, "v1": false, "": false, "v1.2.3 x": false, "v1.2.3\n": false} {
		if versionForm.MatchString(version) != ok {
			t.Errorf("%q: %v", version, !ok)
		}
	}
}

func TestArchivesAreReproducible(t *testing.T) {
	files := []file{{"b", 0o755, []byte("2")}, {"a/c", 0o644, []byte("1")}}
	other := []file{files[1], files[0]}
	at := time.Unix(1_800_000_000, 0)
	for name, pack := range map[string]func([]file, time.Time) ([]byte, error){"tar.gz": tarred, "zip": zipped} {
		one, err := pack(files, at)
		if err != nil {
			t.Fatal(err)
		}
		two, err := pack(other, at)
		if err != nil || string(one) != string(two) {
			t.Errorf("%s: the order of the files changes the archive (%v)", name, err)
		}
	}
	packed, err := tarred(files, at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !bytes.Contains(text, []byte("a/c")) { // it is whole
		t.Error(err)
	}
}

// A release is built twice, in two clones of the repository: the bytes are the same, and the programs work.
func TestRelease(t *testing.T) {
	buildsReleases(t)
	nfpm := os.Getenv("ADZE_NFPM") // "": no packages
	var dirs []string
	for _, name := range []string{"one", "another place"} {
		dir := clone(t, name)
		if len(dirs) > 0 && os.Getenv("ADZE_TARGETS") != "" { // everything is compiled again
			t.Setenv("GOCACHE", t.TempDir())
		}
		command(t, dir, "go", "run", "./internal/dev/release", "-version", "v9.8.7", "-targets", runtime.GOOS+"/"+runtime.GOARCH, "-nfpm", nfpm)
		dirs = append(dirs, filepath.Join(dir, "dist"))
	}
	same(t, dirs[0], dirs[1])
	base := filepath.Join(dirs[0], "adze_9.8.7_"+runtime.GOOS+"_"+runtime.GOARCH)
	unpacked := t.TempDir()
	command(t, unpacked, "tar", "xzf", base+".tar.gz")
	if got := command(t, unpacked, "./adze", "version"); got != "adze v9.8.7\n" {
		t.Errorf("version %q", got)
	}
	if got := command(t, unpacked, "./adze", "fleet", "version"); got != "adze-fleet v9.8.7\n" {
		t.Errorf("version of adze-fleet %q", got)
	}
	for name, part := range map[string]string{
		"LICENSE": "Apache License", "THIRD-PARTY-LICENSES.txt": "github.com/yuin/goldmark", "man/adze.1": ".TH ADZE",
		"completions/adze.bash": "complete -F", "completions/_adze": "#compdef", "completions/adze.fish": "complete -c", "completions/adze.ps1": "Register-",
	} {
		if text, err := os.ReadFile(filepath.Join(unpacked, name)); err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s: no %q (%v)", name, part, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dirs[0], "adze_9.8.7.spdx.json"))
	var list struct{ Packages []struct{ Name string } }
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list.Packages) < 10 || list.Packages[0].Name != "adze" {
		t.Errorf("%+v %v", list, err)
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		installAsPrinted(t, dirs[0])
		if nfpm != "" {
			root := t.TempDir()
			unpackRPM(t, filepath.Join(dirs[0], "adze_linux_amd64.rpm"), root)
			if got := command(t, root, "./usr/bin/adze", "version"); got != "adze v9.8.7\n" {
				t.Errorf("version of the .rpm %q", got)
			}
			if got := command(t, root, "./usr/bin/adze", "fleet", "version"); got != "adze-fleet v9.8.7\n" {
				t.Errorf("version of adze-fleet in the .rpm %q", got)
			}
		}
	}
	dirtyRelease(t, filepath.Dir(dirs[1]))
}

// installAsPrinted follows docs/guide.md from a directory with the files of a release: install, uninstall, the package.
func installAsPrinted(t *testing.T, dist string) {
	home, root, programs := t.TempDir(), t.TempDir(), t.TempDir()
	for name, shim := range map[string]string{
		// sudo dpkg works in its own root.
		"sudo": "#!/bin/sh\n[ \"$1\" = dpkg ] || exit 1\nshift\nexec dpkg --root=\"$ROOT\" --force-not-root --force-depends \"$@\"\n",
		// The newest release is this one.
		"curl": "#!/bin/sh\ncase \"$2\" in https://github.com/adze-dev/adze/releases/latest/download/*) ;; *) exit 22 ;; esac\n" +
			"name=${2##*/}\ncase \"$1\" in -fLO) cat \"$DIST/$name\" >\"$name\" ;; -fL) cat \"$DIST/$name\" ;; *) exit 2 ;; esac\n",
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(shim), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "HOME="+home, "ADZE_HOME=", "ROOT="+root, "DIST="+dist, "PATH="+programs+":"+os.Getenv("PATH"))
	blocks, err := fenced.Read("../../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	downloads := t.TempDir()
	readme, err := fenced.Read("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range readme { // before the guide, which removes the program at its end
		if b.Note != "tested by TestRelease in internal/dev/release" {
			continue
		}
		cmd := exec.Command("bash", "-eo", "pipefail", "-c", b.Text)
		cmd.Dir, cmd.Env = downloads, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("README.md:%d: %v\n%s", b.Line, err, out)
		}
		if got := command(t, "", filepath.Join(home, ".local/bin/adze"), "version"); got != "adze v9.8.7\n" {
			t.Errorf("README.md:%d: version %q", b.Line, got)
		}
	}
	ran := 0
	for _, b := range blocks {
		if b.Note != "tested by TestRelease in internal/dev/release" {
			continue
		}
		if strings.Contains(b.Text, "dpkg") {
			if _, err := exec.LookPath("dpkg"); err != nil || os.Getenv("ADZE_NFPM") == "" {
				t.Log("no package: it needs dpkg and nfpm")
				continue
			}
			command(t, root, "mkdir", "-p", "var/lib/dpkg/updates", "var/lib/dpkg/info", "var/log")
			command(t, root, "touch", "var/lib/dpkg/status")
		}
		ran++
		cmd := exec.Command("bash", "-ec", b.Text)
		cmd.Dir, cmd.Env = downloads, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("docs/guide.md:%d: %v\n%s", b.Line, err, out)
		}
		switch installed := filepath.Join(home, ".local/bin/adze"); {
		case strings.Contains(b.Text, "tar xzf"):
			if got := command(t, "", installed, "version"); got != "adze v9.8.7\n" {
				t.Errorf("version %q", got)
			}
			if got := command(t, "", installed, "fleet", "version"); got != "adze-fleet v9.8.7\n" {
				t.Errorf("version of adze-fleet %q", got)
			}
			cmd := exec.Command(installed, "config", "set", "tools.approvalMode", "plan") // there is something to remove
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		case strings.Contains(b.Text, "dpkg"):
			if got := command(t, root, "./usr/bin/adze", "version"); got != "adze v9.8.7\n" {
				t.Errorf("version of the package %q", got)
			}
			if _, err := os.Stat(filepath.Join(root, "usr/share/man/man1/adze.1")); err != nil {
				t.Error(err)
			}
		default:
			for _, path := range []string{installed, installed + "-fleet", filepath.Join(home, ".adze")} {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s is still there", path)
				}
			}
		}
	}
	if ran < 2 {
		t.Errorf("docs/guide.md has %d blocks for this test", ran)
	}
}

// dirtyRelease builds a release from a clone with a change: its version says so.
func dirtyRelease(t *testing.T, clone string) {
	if err := os.WriteFile(filepath.Join(clone, "changed.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, clone, "go", "run", "./internal/dev/release", "-version", "v9.8.7", "-targets", runtime.GOOS+"/"+runtime.GOARCH, "-out", "dist/dirty")
	unpacked := t.TempDir()
	command(t, unpacked, "tar", "xzf", filepath.Join(clone, "dist/dirty/adze_9.8.7-dirty_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"))
	if got := command(t, unpacked, "./adze", "version"); got != "adze v9.8.7-dirty\n" {
		t.Errorf("version %q", got)
	}
}

// buildsReleases skips a test that builds the program several times, unless it is wanted.
func buildsReleases(t *testing.T) {
	t.Helper()
	if os.Getenv("ADZE_RELEASE") == "" {
		t.Skip("builds the program several times: run make test-release")
	}
}

// clone returns a clone of the repository, in a directory of that name.
func clone(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	command(t, "", "git", "clone", "-q", "../../..", dir)
	return dir
}

// same compares the files of two directories.
func same(t *testing.T, one, two string) {
	t.Helper()
	entries, err := os.ReadDir(one)
	if err != nil || len(entries) < 3 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		a, err := os.ReadFile(filepath.Join(one, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two, e.Name()))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s differs (%v)", e.Name(), err)
		}
	}
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
