package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// credential is the value that no command may see.
const credential = "cr3d-9fK2mXq7LwZ4"

// authorize answers requests for the host with credentials that have none, and those that ask for an echo.
func (o *outside) authorize(w http.ResponseWriter, r *http.Request) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := r.Method + " " + strings.Join(r.Header["Authorization"], "|")
	o.authorized = append(o.authorized, sent)
	switch {
	case r.URL.Path == "/echo":
		w.Header().Set("X-Echo", sent)
		fmt.Fprintf(w, "echo %s %x", sent, len(sent))
	case r.URL.Path == "/elsewhere":
		http.Redirect(w, r, "https://registry.example.com/plain", http.StatusFound)
	case sent != "GET Bearer "+credential && sent != "HEAD Bearer "+credential:
		http.Error(w, "no credential", http.StatusUnauthorized)
	default:
		return true
	}
	return false
}

// credentials runs commands that get a header from Adze, and never see it.
func (o *outside) credentials(t *testing.T, d *den) {
	own, env := d.settings, d.env
	defer func() { d.settings, d.env = own, env }()
	d.env = []string{"EXAMPLE_VALUE=" + credential}
	bearer := "Bearer " + credential
	python := `python3 -c 'import urllib.request as u; print(u.urlopen("https://api.example.com/plain").read())'`
	d.mkdir(".adze")
	defer os.RemoveAll(d.at(".adze"))
	d.put(".adze/settings.json", `{"network":{"credentials":[{"host":"registry.example.com","header":"Authorization","value":"Bearer project-value"}]}}`, 0o644)
	d.give()
	for i, tt := range []struct{ name, needs, line, want, sent string }{
		{"curl", "curl", `curl -sS https://api.example.com/plain`, "Output: plain\n", "GET " + bearer},
		{"own", "curl", `curl -sS -H 'Authorization: own' -H 'aUTHORIZATION: own' https://api.example.com/plain`, "Output: plain\n", "GET " + bearer},
		{"git", "git", `rm -rf c && git init -q c && git -C c fetch -q https://api.example.com/repo.git main && git -C c show FETCH_HEAD:file`,
			"Output: fetched\n", "GET " + bearer},
		{"go", "go", `GOFLAGS=-modcacherw GOTOOLCHAIN=local GONOSUMDB=* GOPROXY=https://api.example.com/go GOMODCACHE=$PWD/cc ` +
			`GOCACHE=$PWD/build go mod download -x 2>&1; cat cc/example.com/m@v1.0.0/m.go; rm -rf cc`, "package m\n", "GET " + bearer},
		{"npm", "npm", `mkdir -p nc && cd nc && echo '{}' > package.json && npm install --no-audit --no-fund --registry https://api.example.com/npm/ ` +
			`tiny >/dev/null && cat node_modules/tiny/package.json`, `Output: {"name":"tiny"`, "GET " + bearer},
		{"pip", "pip", `rm -f *.whl; pip download -q --no-deps --no-cache-dir --index-url https://api.example.com/simple/ tiny && ls *.whl`,
			"Output: tiny-1.0-py3-none-any.whl\n", "GET " + bearer},
		{"python", "python3", python, "Output: b'plain", "GET " + bearer},
		{"echo", "curl", `curl -sSi https://api.example.com/echo`, "***masked-by-adze***", "GET " + bearer},
		{"POST", "curl", `curl -sS -d x https://api.example.com/echo`, "POST requests don't get the authorization of network.credentials", "POST "},
		{"redirect", "curl", `curl -sSL https://api.example.com/elsewhere`, "Output: plain\n", "GET " + bearer},
		{"another Host", "curl", `curl -sSi -H 'Host: registry.example.com' https://api.example.com/echo`, "421 Misdirected", ""},
		{"no trust", "curl", `curl -sS --cacert README.md https://api.example.com/echo; echo failed`, "failed", ""},
		{"key", "bash", `grep -c CERTIFICATE $SSL_CERT_FILE; grep -l PRIVATE $SSL_CERT_FILE; tr '\0' '\n' < /proc/$PPID/environ; env; cat $ADZE_HOME/*.json; echo done`,
			"done", ""},
		{"bundle", "bash", `echo changed >> $SSL_CERT_FILE; tail -1 $SSL_CERT_FILE`, "-----END CERTIFICATE-----", ""},
	} {
		t.Run("credentials/"+tt.name, func(t *testing.T) {
			d.t = t
			if _, err := exec.LookPath(tt.needs); err != nil {
				t.Skip(err)
			}
			if tt.needs != "go" && tt.needs != "bash" && !strings.Contains(d.bash(tt.needs+" --version >/dev/null 2>&1 && echo works"), "works") {
				t.Skipf("%s doesn't work here", tt.needs)
			}
			for n, tools := range []string{`"approvalMode":"auto-edit"`, `"sandbox":"workspace"`} {
				if isOthers(i+n, d) {
					continue
				}
				d.settings = own + `,"network":{"credentials":[{"host":"api.example.com","header":"authorization","value":"Bearer $EXAMPLE_VALUE"}]}`
				d.settings = strings.Replace(d.settings, `"allow":[`, `"allow":["Network(api.example.com)",`, 1)
				if strings.Contains(tools, "workspace") {
					d.settings = strings.Replace(d.settings, `"allow":[`, `"allow":["Shell",`, 1)
				}
				o.authorized = nil
				out, _ := d.run(tt.line, tools)
				if !strings.Contains(out, tt.want) || strings.Contains(out, credential) {
					t.Errorf("%s\n%s", tools, out)
				}
				o.mu.Lock()
				if tt.sent == "" && o.authorized != nil || tt.sent != "" && !slices.Contains(o.authorized, tt.sent) {
					t.Errorf("%s: the host got %q, want %q\n%s", tools, o.authorized, tt.sent, out)
				}
				o.mu.Unlock()
				if !strings.Contains(out, "network.credentials ignored (allowed only in user settings)") {
					t.Errorf("no warning about the project's settings:\n%s", out)
				}
				if got := o.received(); got != "" {
					t.Errorf("others received\n%s", got)
				}
			}
		})
	}
	err := filepath.WalkDir(d.base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if text, _ := os.ReadFile(path); strings.Contains(string(text), credential) {
			t.Errorf("%s has the value", path)
		}
		if strings.Contains(path, "certificates") {
			t.Errorf("%s is still there", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
