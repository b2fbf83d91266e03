package places

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// cacheHome makes a home directory with files.
func cacheHome(t *testing.T, files ...string) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// entries returns everything in a directory.
func entries(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// All of ~/.cache was a cache, and whatever a variable named.
func TestBuildCaches(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are written with forward slashes")
	}
	home := cacheHome(t, ".cache/go-build/x", ".cache/huggingface/token", ".cache/pip/x", ".cache/node/corepack/x", ".npm/_cacache/x", ".npm/_npx/x",
		".config/gh/hosts.yml", "elsewhere/uv/x", "elsewhere/gh/x", "mod/x", "ws/x", "bin/go", "cargo/registry/x", "cargo/bin/x")
	for name, target := range map[string]string{".cache/yarn": home, ".cache/uv": filepath.Join(home, ".cache"), ".cache/ccache": filepath.Join(home, ".config"), ".cache/zig": filepath.Join(home, "mod")} {
		if err := os.Symlink(target, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	usual := ".cache/go-build .cache/pip .npm/_cacache mod" // mod because of the link
	for _, c := range []struct{ env, want string }{
		{"", usual},
		{"GOMODCACHE=" + home + "/elsewhere", usual + " elsewhere"},
		{"GOCACHE=" + home, usual},
		{"GOCACHE=" + home + "/.cache", usual},
		{"GOCACHE=" + home + "/.cache/../.cache/", usual},
		{"PIP_CACHE_DIR=" + filepath.Dir(home), usual},
		{"PIP_CACHE_DIR=/", usual},
		{"PIP_CACHE_DIR=" + home + "/.config", usual},
		{"UV_CACHE_DIR=" + home + "/bin", usual}, // in PATH
		{"CCACHE_DIR=" + home + "/ws", usual},    // the workspace
		{"CCACHE_DIR=relative", usual},
		{"CCACHE_DIR=" + home + "/.cache/uv", usual}, // a link to ~/.cache
		{"npm_config_cache=" + home + "/.cache", usual},
		{"npm_config_cache=" + home + "/.npm", usual},
		{"CARGO_HOME=" + home + "/cargo", usual + " cargo/registry"},
		{"XDG_CACHE_HOME=" + home + "/elsewhere", usual + " elsewhere/uv"},
		{"XDG_CACHE_HOME=" + home, usual},
		{"XDG_CACHE_HOME=/", usual},
		{"XDG_CACHE_HOME=relative", usual},
	} {
		var got []string
		for _, b := range newCachePlaces([]string{"HOME=" + home, "PATH=" + home + "/bin", c.env}, []string{home + "/ws"}).all() {
			if rel, err := filepath.Rel(home, b.real); err != nil || isDir(b.real) && !b.programs {
				got = append(got, rel)
			}
		}
		slices.Sort(got)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.env, got, want)
		}
	}
}

// A command could make a link in a temp directory, and the next session took its target for a cache.
func TestPlantedCache(t *testing.T) {
	home := cacheHome(t, "work/x", "bin/go")
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(temp, "cache")
	if err := os.Symlink(filepath.Join(home, "work"), link); err != nil {
		t.Skip(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "work/pip"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"GOCACHE", "XDG_CACHE_HOME", "PLAYWRIGHT_BROWSERS_PATH"} {
		b := NewBase([]string{t.TempDir()}, nil, []string{"HOME=" + home, "PATH=" + home + "/bin", "TMPDIR=" + temp, variable + "=" + link}, nil)
		for _, path := range b.Caches() {
			if names.Below(path, filepath.Join(home, "work")) {
				t.Errorf("%s: %s is a cache", variable, path)
			}
		}
	}
}

// A new home directory gets the caches that installed programs need, and no others, when a workspace sandbox needs them:
// trials made them too.
func TestFreshHome(t *testing.T) {
	home := cacheHome(t, "bin/npm", "bin/node")
	before := entries(t, home)
	b := NewBase([]string{t.TempDir()}, nil, []string{"HOME=" + home, "PATH=" + home + "/bin"}, nil)
	b.Protect()
	if b.Spec(sandbox.ReadOnly); !slices.Equal(entries(t, home), before) {
		t.Fatalf("made without need: %q", entries(t, home))
	}
	for _, name := range []string{".npm/_cacache", ".npm/_logs", ".cache/node-gyp"} {
		if !slices.Contains(b.Lasting(), filepath.Join(home, name)) {
			t.Errorf("a trial has no %s: %q", name, b.Lasting())
		}
	}
	spec := b.Spec(sandbox.Workspace)
	for _, name := range []string{".npm/_cacache", ".npm/_logs", ".cache/node-gyp"} {
		path := filepath.Join(home, name)
		if _, err := os.Stat(path); err != nil || !isIn(path, spec.Write) {
			t.Errorf("%s: %v, writable are %q", name, err, spec.Write)
		}
	}
	for _, name := range []string{"go", ".cache/go-build", ".cache/ms-playwright", ".cache/node"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// Directories that only the home directory in a workspace needs aren't made for trials either, and their files are
// protected nevertheless.
func TestHomeIsWorkspace(t *testing.T) {
	home := cacheHome(t, "x")
	b := NewBase([]string{home}, nil, []string{"HOME=" + home}, nil)
	if protected := b.Protect(); !slices.Contains(protected, filepath.Join(home, ".config/autostart")) || len(entries(t, home)) != 2 {
		t.Errorf("%q %q", protected, entries(t, home))
	}
	if spec := b.Spec(sandbox.Workspace); !isDir(filepath.Join(home, ".config")) || slices.Contains(spec.Protect, filepath.Join(home, ".cargo/bin")) {
		t.Errorf("%q", spec.Protect)
	}
}

// TMPDIR=$HOME made all of it writable.
func TestTempDirs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are written with forward slashes")
	}
	for _, c := range []struct {
		home, temp string
		ok         bool
	}{
		{"/home/me", "/home/me", false}, {"/home/me", "/home", false}, {"/home/me", "/", false}, {"/home/me", "/home/me/.cache", false}, {"/home/me", "/home/me/x/..", false},
		{"/home/me", "/home/me/.local", false}, {"/home/me", "/home/me/tmp", true}, {"/home/me", "/scratch", true}, {"/tmp/x/home", "/tmp/x", true}, {"", "/scratch", true},
	} {
		if got := slices.Contains(TempDirs([]string{"HOME=" + c.home, "TMPDIR=" + c.temp}), c.temp); got != c.ok {
			t.Errorf("TMPDIR=%s with HOME=%s: %v", c.temp, c.home, got)
		}
	}
}
