package peers

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The guide's go install gives a program that knows its version, and is as large as the guide says. The proxy is a
// directory with this module in it, and Go's own cache for the others. It is here because it compiles everything.
func TestInstall(t *testing.T) {
	if os.Getenv("ADZE_PEERS") == "" {
		t.Skip("make test-peers installs the program")
	}
	const module, version = "github.com/adze-dev/adze", "v0.0.1"
	tmp := t.TempDir()
	proxy := filepath.Join(tmp, "proxy", filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(proxy, 0o777); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".mod": string(mod), version + ".info": `{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`,
	} {
		if err := os.WriteFile(filepath.Join(proxy, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	zipModule(t, filepath.Join(proxy, version+".zip"), module+"@"+version+"/")
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	downloads := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	cmd := exec.Command("bash", "-ec", printed(t, "docs/guide.md", "TestInstall", "sh")[0])
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -modcacherw -trimpath -tags=nethttpomithttp2 -gcflags=github.com/adze-dev/adze/internal/app/...=-l", // the compiler's cache holds for trimmed paths
		"GOPROXY=file://"+filepath.Join(tmp, "proxy")+",file://"+downloads+",off",
		"GOSUMDB=off", "GOWORK=off", "GOMODCACHE="+filepath.Join(tmp, "mod"), "GOBIN="+filepath.Join(tmp, "bin"), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := filepath.Join(tmp, "bin", "adze")
	if out, err := exec.Command(program, "version").CombinedOutput(); err != nil || string(out) != "adze "+version+"\n" {
		t.Errorf("%v: %s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if size, claim := float64(info.Size())/1e6, claimedSize(t); size > claim*1.1 || size < claim*0.9 {
		t.Errorf("the program has %.1f MB, and docs/guide.md claims %v MB", size, claim)
	}
}

// inOtherModule reports whether a file is in a directory with its own go.mod, which is another module.
func inOtherModule(name string, all []string) bool {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if slices.Contains(all, filepath.ToSlash(filepath.Join(dir, "go.mod"))) {
			return true
		}
	}
	return false
}

// zipModule packs the files of the checkout as a module proxy has them.
func zipModule(t *testing.T, path, prefix string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = "../../.."
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	all := strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00")
	for _, name := range all {
		from := filepath.Join("../../..", name)
		if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() || inOtherModule(name, all) || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			continue
		}
		in, err := os.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		w, err := z.Create(prefix + name)
		if err == nil {
			_, err = io.Copy(w, in)
		}
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// claimedSize returns how large docs/guide.md says that the installed program is, in MB.
func claimedSize(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("../../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`with debug symbols \(about (\d+) MB`).FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/guide.md does not say how large the installed program is")
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
