package oauth

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// tokens is a token endpoint whose refresh tokens work once.
type tokens struct {
	mu      sync.Mutex
	valid   string
	count   int
	reused  int
	refresh string
}

func (s *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.ParseForm()
	if r.Form.Get("grant_type") != "refresh_token" || r.Form.Get("refresh_token") != s.refresh {
		s.reused++
		w.WriteHeader(400)
		io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	s.count++
	s.valid, s.refresh = fmt.Sprintf("access-%d", s.count), fmt.Sprintf("refresh-%d", s.count)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":%q,"refresh_token":%q,"token_type":"Bearer","expires_in":3600}`, s.valid, s.refresh)
}

func source(dir, url string) *Source {
	return &Source{Dir: dir, Alias: "a", URL: url, Client: func() *http.Client { return &http.Client{} }, Write: func(path string, data []byte) error {
		return os.WriteFile(path, data, 0o600)
	}}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func expired(t *testing.T, dir, tokenURL string) *Source {
	t.Helper()
	s := source(dir, "http://server")
	cfg := &oauth2.Config{ClientID: "me", Endpoint: oauth2.Endpoint{TokenURL: tokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	if err := s.Keep(t.Context(), cfg, &oauth2.Token{AccessToken: "old", RefreshToken: "refresh-0", Expiry: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	s.last = nil
	return s
}

// Concurrent users of an expired token refresh it once: a refresh token works only once.
func TestRefreshOnce(t *testing.T) {
	t.Parallel()
	endpoint := &tokens{refresh: "refresh-0"}
	server := httptest.NewServer(endpoint)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	expired(t, dir, server.URL)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { // each like its own process
			s := source(dir, "http://server")
			if got, err := s.Token(); err != nil || got.AccessToken != "access-1" {
				t.Errorf("%v %v", got, err)
			}
		})
	}
	wg.Wait()
	if endpoint.count != 1 || endpoint.reused != 0 {
		t.Errorf("refreshed %d times, %d times with a used token", endpoint.count, endpoint.reused)
	}
	s := source(dir, "http://server")
	if got, err := s.Renew("access-1"); err != nil || got.AccessToken != "access-2" {
		t.Errorf("after a refusal: %v %v", got, err)
	}
	other := source(dir, "http://elsewhere")
	if got, err := other.Token(); got != nil || err != nil {
		t.Errorf("a token for another server: %v %v", got, err)
	}
}

func TestTokenFileIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps it private by other means")
	}
	dir := t.TempDir()
	s := expired(t, dir, "http://127.0.0.1:1")
	path := filepath.Join(dir, "mcp-tokens.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	os.Chmod(path, 0o644)
	if _, err := s.Token(); err == nil || !strings.Contains(err.Error(), "it is readable by other users (mode 0644)") {
		t.Error(err)
	}
	os.Chmod(path, 0o600)
	if os.Geteuid() == 0 {
		os.Chown(path, 65534, 65534)
		if _, err := s.Token(); err == nil || !strings.Contains(err.Error(), "is owned by another user (UID 65534)") {
			t.Error(err)
		}
		os.Chown(path, 0, 0)
	}
	if found, err := s.Forget(t.Context()); !found || err != nil {
		t.Error(found, err)
	}
	if got, err := s.Token(); got != nil || err != nil {
		t.Errorf("after logging out: %v %v", got, err)
	}
}

// Adze waits for another process that has locked the file.
func TestTokenFileLockedByAnother(t *testing.T) {
	t.Parallel()
	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("there is no flock command")
	}
	dir := t.TempDir()
	s := expired(t, dir, "http://127.0.0.1:1")
	gate, released := filepath.Join(dir, "gate"), filepath.Join(dir, "released")
	cmd := exec.Command(flock, filepath.Join(dir, "mcp-tokens.lock"), "sh", "-c", `echo held; while [ ! -e "$0" ]; do sleep 0.01; done; echo > "$1"`, gate, released)
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	io.ReadFull(out, make([]byte, 5))
	time.AfterFunc(50*time.Millisecond, func() { os.WriteFile(gate, nil, 0o600) }) // enough time to not wait
	if _, err := s.Forget(t.Context()); err != nil || !exists(released) {
		t.Errorf("%v, released: %v", err, exists(released))
	}
}
