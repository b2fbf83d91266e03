package peers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

// slowRegistry is an npm registry on loopback with one package, slow-memory, which runs the memory server. It sends the
// package when the gate is open.
type slowRegistry struct {
	*httptest.Server
	gate     chan struct{}
	asked    chan struct{} // closed when npx waits at the gate
	requests atomic.Int32  // of the package
}

func newSlowRegistry(t *testing.T) *slowRegistry {
	t.Helper()
	r := &slowRegistry{gate: make(chan struct{}), asked: make(chan struct{})}
	manifest := map[string]any{"name": "slow-memory", "version": "1.0.0", "type": "module", "bin": map[string]string{"slow-memory": "index.js"}}
	packed := pack(t, manifest, fmt.Sprintf("#!/usr/bin/env node\nimport(%q);\n", module(t, "server-memory/dist/index.js")))
	sum := sha512.Sum512(packed)
	mux := http.NewServeMux()
	mux.HandleFunc("/slow-memory", func(w http.ResponseWriter, _ *http.Request) {
		manifest["dist"] = map[string]any{
			"tarball": r.URL + "/slow-memory.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		json.NewEncoder(w).Encode(map[string]any{
			"name": "slow-memory", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": manifest},
		})
	})
	mux.HandleFunc("/slow-memory.tgz", func(w http.ResponseWriter, req *http.Request) {
		if r.requests.Add(1) == 1 {
			close(r.asked)
		}
		w.Write(packed[:len(packed)/2]) // it is in the middle of it
		w.(http.Flusher).Flush()
		select {
		case <-r.gate:
			w.Write(packed[len(packed)/2:])
		case <-req.Context().Done():
		}
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

// pack makes an npm package of one program.
func pack(t *testing.T, manifest map[string]any, program string) []byte {
	t.Helper()
	about, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	files := tar.NewWriter(zip)
	for name, text := range map[string]string{"package/package.json": string(about), "package/index.js": program} {
		if err := errors.Join(files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}), func() error {
			_, err := files.Write([]byte(text))
			return err
		}()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// npx is slow-memory as npx runs it, with its own npm cache.
func (r *slowRegistry) npx(t *testing.T) discover.Server {
	t.Helper()
	path, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal(err) // npm has installed the packages
	}
	home := t.TempDir()
	return discover.Server{Command: path, Args: []string{"-y", "slow-memory"}, Env: map[string]string{
		"HOME": home, "MEMORY_FILE_PATH": filepath.Join(home, "memory.jsonl"), "npm_config_cache": filepath.Join(home, "cache"),
		"npm_config_registry": r.URL, "npm_config_update_notifier": "false", "npm_config_fetch_timeout": "600000",
	}}
}

func launch(t *testing.T, conf discover.Server) *desk {
	t.Helper()
	d := &desk{registry: tool.NewRegistry()}
	d.Servers = discover.Open(map[string]discover.Server{"mem": conf}, discover.Options{Registry: d.registry})
	t.Cleanup(d.Close)
	d.x = &tool.Executor{Registry: d.registry, Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }}
	return d
}

// again sees that the npm cache is intact: the next start works, with nothing removed by hand.
func (r *slowRegistry) again(t *testing.T, conf discover.Server) {
	t.Helper()
	conf.StartTimeout = 10 * 60 * 1000
	d := launch(t, conf)
	if err := d.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.want(t, "mem__read_graph", `{}`, "entities")
	d.Close()
	t.Logf("the package was downloaded %d times", r.requests.Load())
}

// If an npx install takes longer than the start limit, it continues, and its server is used when it answers.
func TestSlowInstall(t *testing.T) {
	node(t)
	r := newSlowRegistry(t)
	conf := r.npx(t)
	conf.StartTimeout = 50
	d := launch(t, conf)
	<-r.asked
	if err := d.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "mem: no response within 50 ms. npx may still be installing the server") {
		t.Fatal(err)
	}
	if st := d.List()[0]; st.State != discover.Starting {
		t.Errorf("%+v", st)
	}
	close(r.gate)
	waittest.Until(t, "the server is ready", func() bool { return d.List()[0].State == discover.Ready })
	d.want(t, "mem__read_graph", `{}`, "entities")
	if st := d.List()[0]; st.Starts != 1 {
		t.Errorf("%+v", st)
	}
	d.Close()
	r.again(t, conf)
	if n := r.requests.Load(); n != 1 {
		t.Errorf("the package was downloaded %d times", n)
	}
}

// Adze ends while npx installs: the install finishes within the time that it has, and leaves a warm cache.
func TestCloseDuringInstall(t *testing.T) {
	node(t)
	r := newSlowRegistry(t)
	conf := r.npx(t)
	d := launch(t, conf)
	<-r.asked
	closed := make(chan struct{})
	go func() {
		d.Close()
		close(closed)
	}()
	waittest.Until(t, "it is closed", func() bool { return errors.Is(d.Reconnect(t.Context(), "mem"), discover.ErrClosed) })
	close(r.gate)
	<-closed
	r.again(t, conf)
}

// Adze ends while npx installs, and the install does not finish: it is rolled back, and the next one works.
func TestCloseDuringEndlessInstall(t *testing.T) {
	node(t)
	r := newSlowRegistry(t)
	conf := r.npx(t)
	d := launch(t, conf)
	<-r.asked
	d.Close()
	if locks, _ := filepath.Glob(filepath.Join(conf.Env["npm_config_cache"], "_npx", "*", "concurrency.lock")); len(locks) > 0 {
		t.Errorf("npm was killed: %v holds up the next start", locks)
	}
	if left := children(t, "slow-memory"); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	close(r.gate)
	r.again(t, conf)
}
