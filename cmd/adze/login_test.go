package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lodge is an MCP server behind a login, and the authorization server that it names: metadata of the resource, dynamic
// registration, PKCE, refresh tokens that work once.
type lodge struct {
	*httptest.Server
	mcp http.Handler

	mu              sync.Mutex
	clients         map[string]string // redirect address by client
	codes           map[string]url.Values
	access, refresh string // that are good
	counts          lodgeCounts
	refuse          bool // the user denies the login
}

type lodgeCounts struct{ Registrations, Logins, Refreshes, Reused int }

func newLodge(t *testing.T) *lodge {
	m := mcp.NewServer(&mcp.Implementation{Name: "lodge"}, nil)
	mcp.AddTool(m, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	l := &lodge{
		clients: map[string]string{}, codes: map[string]url.Values{},
		mcp: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, &mcp.StreamableHTTPOptions{Stateless: true}),
	}
	l.Server = httptest.NewUnstartedServer(l)
	l.Start()
	t.Cleanup(l.Server.Close)
	return l
}

func (l *lodge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/mcp" {
		l.mu.Lock()
		good := l.access != "" && r.Header.Get("Authorization") == "Bearer "+l.access
		l.mu.Unlock()
		if !good {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+l.URL+`/about/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		l.mcp.ServeHTTP(w, r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r.URL.Path {
	case "/about/mcp":
		reply(w, 200, map[string]any{"resource": l.URL + "/mcp", "authorization_servers": []string{l.URL + "/as"}})
	case "/.well-known/oauth-authorization-server/as":
		reply(w, 200, map[string]any{
			"issuer": l.URL + "/as", "authorization_endpoint": l.URL + "/as/login", "token_endpoint": l.URL + "/as/token",
			"registration_endpoint": l.URL + "/as/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	case "/as/register":
		l.register(w, r)
	case "/as/login":
		l.login(w, r)
	case "/as/token":
		l.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (l *lodge) register(w http.ResponseWriter, r *http.Request) {
	var m map[string]any
	if json.NewDecoder(r.Body).Decode(&m) != nil || m["token_endpoint_auth_method"] != "none" {
		reply(w, 400, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	l.counts.Registrations++
	id := fmt.Sprintf("client-%d", l.counts.Registrations)
	l.clients[id] = fmt.Sprint(m["redirect_uris"].([]any)[0])
	m["client_id"] = id
	reply(w, 201, m)
}

func (l *lodge) login(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back := l.clients[q.Get("client_id")]
	if back == "" || back != q.Get("redirect_uri") || q.Get("code_challenge_method") != "S256" || q.Get("resource") != l.URL+"/mcp" {
		http.Error(w, "no such client", 400)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	if l.refuse {
		answer.Set("error", "access_denied")
	} else {
		code := fmt.Sprintf("code-%d", len(l.codes))
		l.codes[code] = q
		answer.Set("code", code)
	}
	http.Redirect(w, r, back+"?"+answer.Encode(), http.StatusFound)
}

func (l *lodge) token(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked := l.codes[r.Form.Get("code")]
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		delete(l.codes, r.Form.Get("code"))
		if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("client_id") != r.Form.Get("client_id") {
			reply(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		l.counts.Logins++
	case "refresh_token":
		if l.refresh == "" || r.Form.Get("refresh_token") != l.refresh {
			l.counts.Reused++
			reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": "it was revoked"})
			return
		}
		l.counts.Refreshes++
	}
	n := l.counts.Logins + l.counts.Refreshes
	l.access, l.refresh = fmt.Sprintf("access-%d", n), fmt.Sprintf("refresh-%d", n)
	reply(w, 200, map[string]any{"access_token": l.access, "refresh_token": l.refresh, "token_type": "Bearer", "expires_in": 3600})
}

// set changes what the lodge takes.
func (l *lodge) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// house runs adze in its own home.
type house struct{ home string }

func (h house) command(args ...string) *exec.Cmd {
	cmd := exec.Command("adze", args...)
	cmd.Dir = h.home
	cmd.Env = append(os.Environ(), "HOME="+h.home, "ADZE_HOME="+h.home)
	return cmd
}

func (h house) run(args ...string) (string, error) {
	out, err := h.command(args...).CombinedOutput()
	return string(out), err
}

// login runs adze mcp login and does what the user would do in a browser.
func (h house) login(t *testing.T) (string, error) {
	t.Helper()
	cmd := h.command("mcp", "login", "l")
	var said strings.Builder
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for scan := bufio.NewScanner(stderr); scan.Scan(); {
		said.WriteString(scan.Text() + "\n")
		if address := strings.TrimSpace(scan.Text()); strings.HasPrefix(address, "http://") {
			resp, err := http.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	err = cmd.Wait()
	return said.String() + out.String(), err
}

// The whole story of a login, with the real program.
func TestLogin(t *testing.T) {
	l, h := newLodge(t), house{t.TempDir()}
	want := func(ok bool, text string, args ...string) {
		t.Helper()
		if out, err := h.run(args...); (err == nil) != ok || !strings.Contains(out, text) {
			t.Errorf("adze %s: %v\n%swant %q", strings.Join(args, " "), err, out, text)
		}
	}
	want(true, "Added MCP server \"l\" in ", "mcp", "add", "l", "--http", l.URL+"/mcp")
	want(true, "l: login required: run 'adze mcp login l'", "mcp", "list")
	want(false, "not logged in", "mcp", "logout", "l")
	l.set(func() { l.refuse = true })
	if out, err := h.login(t); err == nil || !strings.Contains(out, "login denied: access_denied") {
		t.Errorf("%v\n%s", err, out)
	}
	l.set(func() { l.refuse, l.counts = false, lodgeCounts{} })
	if out, err := h.login(t); err != nil || !strings.Contains(out, "Logged in to l.") {
		t.Fatalf("%v\n%s", err, out)
	}
	tokens := filepath.Join(h.home, "mcp", "mcp-tokens.json")
	if info, err := os.Stat(tokens); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	call := []string{"tool", "call", "l__hello", "{}", "--yolo"}
	want(true, "hello", call...)

	// The access token has expired: one of six concurrent processes refreshes it, and none logs in again.
	l.set(func() { l.access = "none" })
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { want(true, "hello", call...) })
	}
	wg.Wait()
	l.set(func() {
		if diff := cmp.Diff(lodgeCounts{Registrations: 1, Logins: 1, Refreshes: 1}, l.counts); diff != "" {
			t.Error(diff)
		}
	})
	// Revoked: the error has the next step, and it works.
	l.set(func() { l.access, l.refresh = "none", "" })
	want(false, "login expired: the server rejected the refresh token (it was revoked). Run 'adze mcp login l'", call...)
	want(false, "login required: run 'adze mcp login l'", call...)
	if out, err := h.login(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want(true, "hello", call...)
	otherUsersTokens(t, h, call)
	want(true, "Logged out of l.", "mcp", "logout", "l")
	want(false, "login required", call...)
}
