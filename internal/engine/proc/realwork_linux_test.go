package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// realWork is work of every day in a workspace sandbox. Each line is one command. They all succeed, or the last one is
// refused and says what would allow it.
type realWork struct {
	name  string
	needs string            // programs, all of which must be there; "a|b": one of them
	files map[string]string // in its own directory
	lines []string
	says  string // in the remedy of the last line; empty: it succeeds
	may   bool   // the last line may also succeed
	cache bool   // without a cache in the home directory it takes minutes
	// sockets lets it use Unix sockets of other programs.
	sockets bool
}

const (
	browsers = "chromium|chromium-browser|google-chrome"
	browse   = "for b in chromium chromium-browser google-chrome; do command -v $b >/dev/null && break; done; HOME=$PWD $b --headless --disable-gpu --no-sandbox --user-data-dir=$PWD/profile --dump-dom x.html | grep seen"
)

const makeWheel = `import zipfile
with zipfile.ZipFile('thing-1.0-py3-none-any.whl', 'w') as z:
    z.writestr('thing.py', 'print(42)\n')
    z.writestr('thing-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n')
    z.writestr('thing-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    z.writestr('thing-1.0.dist-info/RECORD', '')
`

const sharedMemory = `from multiprocessing import Pool, shared_memory
if __name__ == '__main__':
    m = shared_memory.SharedMemory(create=True, size=16); m.close(); m.unlink()
    p = Pool(2); print(sum(p.map(abs, [1, 2, 3]))); p.close(); p.join()
`

var realWorks = []realWork{
	{name: "git", needs: "git", lines: []string{"cd .. && git add -A && git commit -qm first", "git switch -qc other && git tag v1 && git gc -q", "git stash list; git log --oneline | head -1"}},
	{name: "make", needs: "make cc", files: map[string]string{"Makefile": "x: x.c\n\tcc -o x x.c\n", "x.c": "int main(void) { return 0; }\n"}, lines: []string{"make && ./x", "make -B -j4"}},
	{name: "go", needs: "go", files: map[string]string{"go.mod": "module example.test/x\n\ngo 1.21\n", "x.go": "package main\n\nfunc main() { println(1) }\n", "x_test.go": "package main\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.TempDir() }\n"},
		lines: []string{"go build -o x . && ./x", "go vet . && go test -count=1 .", "GOBIN=$PWD/bin go install . && bin/x"}, cache: true},
	{name: "npm", needs: "npm node", files: map[string]string{"package.json": `{"name":"x","version":"1.0.0","scripts":{"t":"node -e 'require(\"fs\").writeFileSync(\"y\",\"1\")'"}}`, "dep/package.json": `{"name":"dep","version":"1.0.0"}`},
		lines: []string{"npm install --offline --no-audit --no-fund --loglevel=error ./dep && test -e node_modules/dep/package.json", "npm run -s t && test -e y", "npm pack --silent"}, cache: true},
	{name: "npm from the registry", needs: "npm node", files: map[string]string{"package.json": `{"name":"x","version":"1.0.0"}`}, lines: []string{"npm install --registry=http://127.0.0.1:9/ --fetch-retries=0 --no-audit --loglevel=error left"}, says: "workspace+network", cache: true},
	{name: "cargo", needs: "cargo cc", files: map[string]string{"Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n", "src/main.rs": "fn main() { println!(\"1\"); }\n#[test]\nfn t() {}\n"}, lines: []string{"cargo build -q --offline && ./target/debug/x", "cargo test -q --offline"}, cache: true},
	{name: "pip", needs: "python3 pip3", files: map[string]string{"w.py": makeWheel}, lines: []string{"python3 w.py && python3 -m venv --without-pip env && env/bin/python -c 1", "$(python3 -c 'import sys; print(sys.executable)') -m pip install -q --no-index --disable-pip-version-check --target lib thing-1.0-py3-none-any.whl && PYTHONPATH=lib python3 -m thing"}, cache: true},
	{name: "pip from an index", needs: "python3 pip3", lines: []string{"python3 -m pip download --disable-pip-version-check --retries 1 --index-url http://127.0.0.1:9/ thing"}, says: "workspace+network", cache: true},
	{name: "python", needs: "python3", files: map[string]string{"m.py": sharedMemory}, lines: []string{"python3 m.py", "python3 -c 'import os; os.rename(\"m.py\", \"n.py\")'"}},
	{name: "sqlite", needs: "sqlite3", lines: []string{"sqlite3 db 'pragma journal_mode=wal; create table t(x); insert into t values(1);'", "test $(sqlite3 db 'select * from t') = 1"}},
	{name: "files", needs: "bash", lines: []string{"mkdir -p a/b && touch a/b/c && mv a d && ln -s d e && cp -r d f && sed -i s/x/y/ d/b/c && chmod 600 d/b/c && rm -r f", "tar cf x.tar d && tar xf x.tar && mkfifo p && (echo 1 > p & cat p)", "exec 9> lock && flock 9 true; mktemp && mktemp -d", "(sleep 0.01; echo 2 > z) & wait; test -e z"}},
	{name: "keys", needs: "ssh-keygen openssl", lines: []string{"ssh-keygen -q -t ed25519 -N '' -f k && openssl genrsa -out r 1024 2>/dev/null"}},
	{name: "a server", needs: "curl", lines: []string{"curl -sS http://127.0.0.1:9/"}, says: "workspace+network"},
	{name: "a browser", needs: browsers, files: map[string]string{"x.html": "<p>seen</p>"}, lines: []string{browse}, says: "tools.sandboxUnixSockets", may: true},
	{name: "a browser with sockets", needs: browsers, files: map[string]string{"x.html": "<p>seen</p>"}, lines: []string{browse}, sockets: true},
	{name: "a browser's own sandbox", needs: "unshare", lines: []string{"unshare --user --map-root-user true || { echo 'No usable sandbox! unshare failed: Operation not permitted'; exit 1; }"}, says: "--no-sandbox"},
	{name: "outside", needs: "bash", lines: []string{"echo x > /usr/x"}, says: "tools.sandboxWrite"},
	{name: "protected", needs: "bash", lines: []string{"cd .. && echo x > .github/workflows/ci.yml"}, says: "let a file tool change"},
	{name: "git settings in a script", needs: "git", files: map[string]string{"s.sh": "git config a.b c\n"}, lines: []string{"cd .. && git config a.b c"}, says: "in a separate call"},
}

// shims are programs that version managers such as rustup and pyenv put in front of the real ones, with the result of
// trying each once: they are there without the real ones too.
var shims = map[string]func() string{
	"cargo": tryOnce("cargo"), "node": tryOnce("node"), "npm": tryOnce("npm"), "python3": tryOnce("python3"),
}

func tryOnce(program string) func() string {
	return sync.OnceValue(func() string { return try(program) })
}

// try returns why a program doesn't work; empty: it works.
func try(program string) (why string) {
	out, err := exec.Command(program, "--version").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s --version: %v: %s", program, err, strings.TrimSpace(string(out)))
	}
	return ""
}

// missing returns why the first program that can't be used can't be; empty: all can be used.
func missing(needs string) (why string) {
	for _, n := range strings.Fields(needs) {
		usable := func(program string) bool { why = unusable(program); return why == "" }
		if !slices.ContainsFunc(strings.Split(n, "|"), usable) {
			return why
		}
	}
	return ""
}

func unusable(program string) (why string) {
	if _, err := exec.LookPath(program); err != nil {
		return "no " + program
	}
	if shim := shims[program]; shim != nil {
		return shim()
	}
	return ""
}

// TestRealWork used to fail with a cargo that rustup had installed without a toolchain.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	script := "#!/bin/sh\necho 'error: rustup could not choose a version of cargo to run' >&2\nexit 1\n"
	if err := os.WriteFile(dir+"/cargo", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	const want = "cargo --version: exit status 1: error: rustup could not choose a version of cargo to run"
	if why := try("cargo"); why != want {
		t.Errorf("%q", why)
	}
	if why := missing("no-such-program|bash"); why != "" {
		t.Errorf("%q", why)
	}
	if why := missing("bash no-such-program"); why != "no no-such-program" {
		t.Errorf("%q", why)
	}
}

// A sandbox that breaks everyday work would be turned off. Denials have the reason, and how to allow it.
func TestRealWork(t *testing.T) {
	slow := []string{"npm node", "cargo cc", "python3 pip3", browsers}
	needsLayers(t)
	r := opened(t, Options{})
	for i, w := range realWorks {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			if why := missing(w.needs); why != "" {
				t.Skip(why)
			}
			if slices.Contains(slow, w.needs) && !soak.On() {
				t.Skip("make soak runs it: it takes seconds")
			}
			if w.cache && os.Getenv("HOME") == "/nonexistent" {
				t.Skip("no home directory")
			}
			for _, backend := range []bool{false, true} {
				if backend {
					if i%3 != 0 && !soak.On() || w.cache || !bubblewrapWorks() { // the same box by another program
						return
					}
				}
				w.in(t, r, backend)
			}
		})
	}
}

func bubblewrapWorks() bool {
	p, err := (&sandbox.Spec{Mode: sandbox.Workspace, Bubblewrap: true}).Plan()
	return err == nil && p.Layers.Has(sandbox.Bubblewrap)
}

func (w realWork) in(t *testing.T, r *Runner, bubblewrap bool) {
	dir, env := project(t)
	own := filepath.Join(dir, "own")
	for name, text := range w.files {
		path := filepath.Join(own, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.MkdirAll(own, 0o755)
	base := places.NewBase([]string{dir}, nil, env, func(path string) bool { _, ok := names.Protected(path); return ok })
	for i, line := range w.lines {
		spec := base.Spec(sandbox.Workspace)
		spec.Bubblewrap, spec.UnixSockets = bubblewrap, w.sockets
		o := run(t, r, Command{Line: line, Dir: own, Env: env, Sandbox: spec})
		refused := w.says != "" && i == len(w.lines)-1
		switch {
		case refused && w.may && o.Exit == 0:
		case refused && (o.Exit == 0 || o.Suspect == "" || !strings.Contains(o.Remedy, w.says)):
			t.Errorf("bubblewrap %v: %s: exit %d, suspect %q, remedy %q: %s", bubblewrap, line, o.Exit, o.Suspect, o.Remedy, o.Output)
		case !refused && o.Exit != 0:
			t.Errorf("bubblewrap %v: %s: exit %d: %s (%s; %s)", bubblewrap, line, o.Exit, o.Output, o.Suspect, o.Remedy)
		}
	}
}
