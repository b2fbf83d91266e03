package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program is adze as users have it, in its own home and directory.
type program struct {
	t         *testing.T
	path      string
	home, dir string
	env       []string
	codex     []string // flags of codex exec
}

// built is the program, built once, in a directory that TestMain removes.
var built = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(os.Getenv(ownDirectory), "adze")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "../../../cmd/adze")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of make build, so that packages are compiled once
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return path, err
})

// adze returns the program in its own home.
func adze(t *testing.T) *program {
	t.Helper()
	node(t)
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	p := &program{t: t, path: path, home: filepath.Join(tmp, "home"), dir: filepath.Join(tmp, "project")}
	for _, dir := range []string{p.home, p.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.env = append(os.Environ(), "HOME="+p.home, "ADZE_HOME="+p.home)
	p.settings(filepath.Join(p.home, "settings.json"), object{"tools": object{"trial": "off"}}) // permission requests are about commands
	return p
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// run runs it and gives what it said.
func (p *program) run(args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// must runs it; it must succeed.
func (p *program) must(args ...string) string {
	p.t.Helper()
	stdout, stderr, err := p.run(args...)
	if err != nil {
		p.t.Fatalf("adze %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return stdout
}

// settings writes a settings file.
func (p *program) settings(path string, v any) {
	p.t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

type listed struct {
	Name, State, Transport, Target, Description, Error string
	Tools                                              []string
	Prompts, Resources                                 int
}

func (p *program) list() map[string]listed {
	p.t.Helper()
	var all []listed
	if err := json.Unmarshal([]byte(p.must("mcp", "list", "--json")), &all); err != nil {
		p.t.Fatal(err)
	}
	out := map[string]listed{}
	for _, l := range all {
		out[l.Name] = l
	}
	return out
}

type object map[string]any

// Every key of a server's configuration, at servers that others wrote.
func TestConfiguration(t *testing.T) {
	p := adze(t)
	var mu sync.Mutex
	var keys []string
	target, err := url.Parse(listening(t, "streamableHttp"))
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("X-Key"))
		mu.Unlock()
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	elsewhere := t.TempDir()
	fixture := features(t, "")
	p.env = append(p.env, "WHO_AM_I=someone", "KEY_OF_OURS=sesame")
	p.settings(filepath.Join(p.home, "settings.json"), object{
		"mcpServers": object{
			"f": object{"command": fixture.Command, "args": fixture.Args, "cwd": elsewhere, "env": object{"WHO": "$WHO_AM_I and ${NOT_SET:-nobody}"},
				"description": "features", "includeTools": []string{"kinds", "log", "wait"}, "excludeTools": []string{"log"}, "timeout": 500, "trust": true},
			"hints": object{"command": fixture.Command, "args": fixture.Args},
			"http":  object{"httpUrl": proxy.URL + "/mcp", "headers": object{"X-Key": "$KEY_OF_OURS"}},
			"typed": object{"type": "http", "url": target.String() + "/mcp"},
			"sse":   object{"url": listening(t, "sse") + "/sse"},
			"out":   object{"command": "never-started"},
			"other": object{"command": "never-started"},
		},
		"mcp": object{"allowed": []string{"f", "hints", "http", "typed", "sse", "mcp", "seq", "o*"}, "excluded": []string{"o*"},
			"mcpServerCommand": fmt.Sprintf("'%s' '%s'", node(t), module(t, "server-memory/dist/index.js"))},
	})
	seq := npmServer(t, "sequential-thinking")
	p.settings(filepath.Join(p.dir, ".mcp.json"), object{"mcpServers": object{"seq": object{"command": seq.Command, "args": seq.Args, "trust": true}}})

	all := p.list()
	if all["seq"].State != "untrusted" {
		t.Errorf("%+v", all["seq"])
	}
	p.must("trust", "--yes")
	all = p.list()
	for name, transport := range map[string]string{"f": "stdio", "hints": "stdio", "http": "http", "typed": "http", "sse": "sse", "mcp": "stdio", "seq": "stdio"} {
		if l := all[name]; l.State != "ready" && l.State != "cached" || l.Transport != transport || len(l.Tools) == 0 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if all["out"].State != "off" || all["other"].State != "off" || len(all) != 9 {
		t.Errorf("%v", all)
	}
	if diff := cmp.Diff([]string{"f__kinds", "f__wait"}, all["f"].Tools); diff != "" || all["f"].Description != "features" {
		t.Error(diff, all["f"].Description)
	}
	if log := p.must("mcp", "logs", "f"); !strings.Contains(log, "in "+elsewhere+", as someone and nobody") {
		t.Error(log)
	}
	mu.Lock()
	if len(keys) == 0 || keys[0] != "sesame" {
		t.Errorf("%q", keys)
	}
	mu.Unlock()

	// Trusted tools run without approval, others don't; a call has its server's timeout.
	if out := p.must("tool", "call", "f__kinds", "{}"); !strings.Contains(out, "all kinds") {
		t.Error(out)
	}
	if _, stderr, err := p.run("tool", "call", "http__echo", `{"message":"x"}`); err == nil || !strings.Contains(stderr, "(from mcp:") {
		t.Errorf("%v %s", err, stderr)
	}
	// A tool that its server calls read-only requires approval like any other.
	if _, stderr, err := p.run("tool", "call", "hints__die_read", "{}"); err == nil || !strings.Contains(stderr, "(from mcp:") {
		t.Errorf("%v %s", err, stderr)
	}
	for _, name := range []string{"http__echo", "typed__echo", "sse__echo"} {
		if out := p.must("tool", "call", name, `{"message":"over the wire"}`, "--yolo"); !strings.Contains(out, "over the wire") {
			t.Error(name, out)
		}
	}
	if _, stderr, err := p.run("tool", "call", "f__wait", "{}"); err == nil || !strings.Contains(stderr, "timed out after 500ms without a response or progress") {
		t.Errorf("%v %s", err, stderr)
	}
}

// freePort returns a port on loopback that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
