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

// A release is built twice, in two clones of the repository: the same bytes, and what is in it works. It needs nfpm.
func TestRelease(t *testing.T) {
	nfpm := os.Getenv("ADZE_NFPM")
	if nfpm == "" {
		t.Skip("needs nfpm: run make test-release")
	}
	var dirs []string
	for _, name := range []string{"one", "another place"} {
		clone := filepath.Join(t.TempDir(), name)
		command(t, "", "git", "clone", "-q", "../..", clone)
		command(t, clone, "go", "run", "./internal/release", "-version", "v9.8.7", "-targets", runtime.GOOS+"/"+runtime.GOARCH, "-nfpm", nfpm)
		dirs = append(dirs, filepath.Join(clone, "dist"))
	}
	same(t, dirs[0], dirs[1])
	command(t, dirs[0], "sha256sum", "-c", "--quiet", "SHA256SUMS")
	base := filepath.Join(dirs[0], "adze_9.8.7_"+runtime.GOOS+"_"+runtime.GOARCH)
	unpacked := t.TempDir()
	command(t, unpacked, "tar", "xzf", base+".tar.gz")
	if got := command(t, unpacked, "./adze", "version"); got != "adze v9.8.7\n" {
		t.Errorf("version %q", got)
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
	if _, err := exec.LookPath("dpkg-deb"); err == nil {
		root := t.TempDir()
		command(t, "", "dpkg-deb", "-x", base+".deb", root)
		if got := command(t, root, "./usr/bin/adze", "version"); got != "adze v9.8.7\n" {
			t.Errorf("version of the package %q", got)
		}
		if info := command(t, "", "dpkg-deb", "-f", base+".deb", "Package", "Version"); !strings.Contains(info, "9.8.7") {
			t.Errorf("package %q", info)
		}
	}
}

// same compares the files of two directories.
func same(t *testing.T, one, two string) {
	t.Helper()
	entries, err := os.ReadDir(one)
	if err != nil || len(entries) < 5 {
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
