package peers

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secured starts the fixture behind the authorization server of the TypeScript SDK.
func secured(t *testing.T) (base string) {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command(node(t), "fixture/secured.mjs", port, "3600")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	awaitListener(t, "127.0.0.1:"+port)
	return "http://127.0.0.1:" + port
}

// request sends a request to the fixture's levers.
func request(t *testing.T, method, address string) (body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s %s: %s %v", method, address, resp.Status, err)
	}
	return body
}

type counts struct {
	Registrations, Logins, Refreshes, Reused int
	Resources                                []string
}

// login runs adze mcp login and does what the user would do in a browser.
func (p *program) login(name string) (said string, err error) {
	cmd := p.command("mcp", "login", name)
	var out strings.Builder
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for scan := bufio.NewScanner(stderr); scan.Scan(); {
		said += scan.Text() + "\n"
		if address := strings.TrimSpace(scan.Text()); strings.HasPrefix(address, "http") {
			request(p.t, http.MethodGet, address)
		}
	}
	err = cmd.Wait()
	return said + out.String(), err
}

// A login at an authorization server that others wrote: the program finds it through the metadata of the resource,
// registers, proves with PKCE that it began the login, and keeps what it got.
func TestLogin(t *testing.T) {
	p := adze(t)
	base := secured(t)
	p.must("mcp", "add", "s", "--http", base+"/mcp")
	if l := p.list()["s"]; l.State != "failed" || !strings.Contains(l.Error, "adze mcp login") {
		t.Errorf("%+v", l)
	}
	if out, err := p.login("s"); err != nil || !strings.Contains(out, "Logged in to s.") {
		t.Fatalf("%v %s", err, out)
	}
	tokens := filepath.Join(p.home, "mcp", "mcp-tokens.json")
	if info, err := os.Stat(tokens); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	call := func() (string, string, error) { return p.run("tool", "call", "s__kinds", "{}", "--yolo") }
	if out, stderr, err := call(); err != nil || !strings.Contains(out, "all kinds") {
		t.Errorf("%v %s", err, stderr)
	}
	// The tokens have run out: six processes at once refresh them once, without a login.
	request(t, http.MethodPost, base+"/expire")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, stderr, err := call(); err != nil {
				t.Errorf("%v %s", err, stderr)
			}
		})
	}
	wg.Wait()
	var got counts
	if err := json.Unmarshal(request(t, http.MethodGet, base+"/counts"), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counts{Registrations: 1, Logins: 1, Refreshes: 1, Resources: []string{base + "/mcp"}}, got); diff != "" {
		t.Error(diff)
	}
	// Revoked: the user gets the next step, and it works.
	request(t, http.MethodPost, base+"/revoke")
	if _, stderr, err := call(); err == nil || !strings.Contains(stderr, "login expired") || !strings.Contains(stderr, "adze mcp login s") {
		t.Errorf("%v %s", err, stderr)
	}
	if out, err := p.login("s"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if _, stderr, err := call(); err != nil {
		t.Errorf("%v %s", err, stderr)
	}
	p.must("mcp", "logout", "s")
	if _, stderr, err := call(); err == nil || !strings.Contains(stderr, "adze mcp login s") {
		t.Errorf("%v %s", err, stderr)
	}
	if raw, err := os.ReadFile(tokens); err != nil || strings.Contains(string(raw), "Token") {
		t.Errorf("%v: %s", err, raw)
	}
}
