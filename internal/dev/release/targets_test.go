package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// All platforms of a release: their archives have a static program without local paths, and the formula names them with
// their hashes. None but this machine's is run.
func TestTargets(t *testing.T) {
	buildsReleases(t)
	if os.Getenv("ADZE_TARGETS") == "" {
		t.Skip("compiles everything for six platforms: run make test-release")
	}
	dist := filepath.Join(clone(t, "all"), "dist")
	command(t, filepath.Dir(dist), "go", "run", "./internal/dev/release", "-version", "v9.8.7")
	for _, target := range allTargets() {
		system, arch, _ := strings.Cut(target, "/")
		name := filepath.Join(dist, "adze_9.8.7_"+system+"_"+arch)
		if system == "windows" {
			checkProgram(t, system, arch, fromZip(t, name+".zip", "adze.exe"))
		} else {
			checkProgram(t, system, arch, fromTar(t, name+".tar.gz", "adze"))
		}
	}
	formula, err := os.ReadFile(filepath.Join(dist, "adze.rb"))
	if err != nil {
		t.Fatal(err)
	}
	checkFormula(t, dist, string(formula))
}

// The formula has the URL and the hash of four archives. Homebrew itself isn't run.
func TestFormula(t *testing.T) {
	r := &run{options: options{version: "v9.8.7", out: t.TempDir()}}
	if got := r.formula(); got != "" {
		t.Errorf("a formula without archives:\n%s", got)
	}
	for _, target := range allTargets() {
		name := "adze_9.8.7_" + strings.ReplaceAll(target, "/", "_") + ".tar.gz"
		if err := r.write(name, []byte(target)); err != nil {
			t.Fatal(err)
		}
	}
	checkFormula(t, r.out, r.formula())
}

// checkFormula compares the URLs and hashes of a formula with the files of a release.
func checkFormula(t *testing.T, dist, formula string) {
	t.Helper()
	links := regexp.MustCompile(`url "https://github.com/adze-dev/adze/releases/download/v9\.8\.7/(\S+)"\s+sha256 "([0-9a-f]{64})"`).FindAllStringSubmatch(formula, -1)
	if len(links) != 4 {
		t.Fatalf("the formula has %d archives:\n%s", len(links), formula)
	}
	for _, m := range links {
		archive, err := os.ReadFile(filepath.Join(dist, m[1]))
		if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); err != nil || sum != m[2] {
			t.Errorf("%s: the formula has %s, the file %s (%v)", m[1], m[2], sum, err)
		}
	}
}

// checkProgram looks at a program without running it.
func checkProgram(t *testing.T, system, arch string, program []byte) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Errorf("%s/%s: %v", system, arch, err)
		return
	}
	got := map[string]string{}
	for _, s := range info.Settings {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": system, "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if got[key] != want {
			t.Errorf("%s/%s: %s is %q, want %q", system, arch, key, got[key], want)
		}
	}
	if here, err := os.Getwd(); err != nil || bytes.Contains(program, []byte(here)) {
		t.Errorf("%s/%s has the path of this machine (%v)", system, arch, err)
	}
	if system != "linux" {
		return
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Error(err)
		return
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s/%s is not static", system, arch)
		}
	}
}

func fromZip(t *testing.T, path, name string) []byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func fromTar(t *testing.T, path, name string) []byte {
	t.Helper()
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s in %s: %v", name, path, err)
		}
		if h.Name != name {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
}
