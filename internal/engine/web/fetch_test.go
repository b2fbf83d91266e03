package web

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestFetch(t *testing.T) {
	f, c := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "%s %s %s %s", r.Host, r.URL, r.Header.Get("Accept-Encoding"), r.Header.Get("Cookie"))
	})
	page, err := fetch(t, c, "http://example.com/a?b=c#d")
	if err != nil {
		t.Fatal(err)
	}
	text, enc := page.Text(1 << 20)
	if want := "example.com /a?b=c gzip "; text != want || enc != "utf-8" || page.URL != "https://example.com/a?b=c" || page.Asked != "http://example.com/a?b=c" || page.Note != "" || !page.IsHTML() {
		t.Errorf("got %q in %s, %+v", text, enc, page)
	}
	if got := strings.Join(f.dials(), " "); got != "93.184.216.34:443" {
		t.Errorf("dialled %s", got)
	}
	for _, name := range f.asked {
		if name != "example.com." {
			t.Errorf("looked up %q, which a local domain could complete", name)
		}
	}
}

func TestHTTPFallback(t *testing.T) {
	f, c := site(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "plain") })
	delete(f.serve, "93.184.216.34:443")
	page, err := fetch(t, c, "http://example.com/")
	if err != nil || string(page.Body) != "plain" || !strings.Contains(page.Note, "over unencrypted http") || page.URL != "http://example.com/" {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, err := fetch(t, c, "https://example.com/"); err == nil {
		t.Error("a URL with https was fetched with http")
	}
	f.serve["93.184.216.34:443"] = f.serve["93.184.216.34:80"] // no TLS there
	if page, err = fetch(t, c, "http://example.com/"); err != nil || !strings.Contains(page.Note, "https failed") || page.Cached {
		t.Errorf("got %+v, %v", page, err)
	}
}

func TestRedirects(t *testing.T) {
	f, c := site(t, func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		switch {
		case r.URL.Path == "/count" && to != "0":
			n := 0
			fmt.Sscan(to, &n)
			to = fmt.Sprintf("/count?to=%d", n-1)
		case r.URL.Path == "/ring":
			to = "/ring"
		case r.URL.Path == "/endless":
			to = r.URL.Path + "?to=" + to + "x"
		case to == "" || r.URL.Path == "/count":
			io.WriteString(w, "here is "+r.URL.Path)
			return
		case to == "only-http" && r.TLS == nil:
			io.WriteString(w, "only http")
			return
		case to == "only-http":
			to = "http://example.com" + r.URL.String()
		}
		w.Header()["Location"] = []string{to}
		w.WriteHeader(http.StatusFound)
	})
	for _, x := range []struct{ url, body, redirect, err string }{
		{"https://example.com/a?to=/b", "here is /b", "", ""},
		{"https://example.com/a?to=b", "here is /b", "", ""},
		{"https://example.com/a?to=https://EXAMPLE.com:443/c%23x", "here is /c", "", ""},
		{"https://example.com/count?to=10", "here is /count", "", ""},
		{"https://example.com/count?to=11", "", "", "more than 10 redirects"},
		{"https://example.com/endless", "", "", "more than 10 redirects"},
		{"https://example.com/ring", "", "", "redirect loop"},
		{"https://example.com/a?to=https://other.example.com/x", "", "https://other.example.com/x", ""},
		{"https://example.com/a?to=//www.example.com/x", "", "https://www.example.com/x", ""},
		{"https://example.com/a?to=http://example.com/x", "", "http://example.com/x", ""},
		{"https://example.com/a?to=https://example.com:8443/x", "", "https://example.com:8443/x", ""},
		{"https://example.com/a?to=http://127.0.0.1/x", "", "http://127.0.0.1/x", ""},
		{"https://example.com/a?to=http://0x7f.1/x", "", "http://127.0.0.1/x", ""},
		{"http://example.com:8080/a?to=http://example.com/x", "", "http://example.com/x", ""},
		{"http://example.com/a?to=only-http", "only http", "", ""},
		{"https://example.com/a?to=ftp://example.com/", "", "", "can't be fetched"},
		{"https://example.com/a?to=javascript:alert(1)", "", "", "can't be fetched"},
		{"https://example.com/a?to=https://u:p%40ss@example.com/", "", "", "user name or password"},
		{"https://example.com/a?to=https://%5B::1/", "", "", "can't be fetched"},
		{"https://example.com/a?to=/with%20space%0d%0a", "here is /with space", "", ""},
		{"https://example.com/a?to=/%0d%0aX:y", "here is /  X:y", "", ""},
	} {
		before := len(f.dials())
		page, err := fetch(t, c, x.url)
		if x.err != "" {
			if err == nil || !strings.Contains(err.Error(), x.err) || strings.Contains(err.Error(), "p@ss") {
				t.Errorf("%s: got %+v, %v, want the error %q", x.url, page, err, x.err)
			}
			continue
		}
		if err != nil || string(page.Body) != x.body || page.Redirect != x.redirect {
			t.Errorf("%s: got %+v, %v, want %+v", x.url, page, err, x)
		}
		for _, d := range f.dials()[before:] {
			if !strings.HasPrefix(d, "93.184.216.34:") {
				t.Errorf("%s: dialled %s", x.url, d)
			}
		}
	}
}

// A name that turns private between two hops is refused at the second.
func TestRebinding(t *testing.T) {
	var f *fakeNet
	f, c := site(t, func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.names["example.com"] = []string{"127.0.0.1"}
		f.mu.Unlock()
		http.Redirect(w, r, "/next", http.StatusFound)
	})
	_, err := fetch(t, c, "https://example.com/")
	var refused *RefusedError
	if !errors.As(err, &refused) || len(f.dials()) != 1 {
		t.Errorf("got %v after %v", err, f.dials())
	}
}

func TestStatusErrors(t *testing.T) {
	_, c := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/429":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
			io.WriteString(w, `{"error": "slow   down"}`)
		case "/500":
			w.WriteHeader(500)
			io.WriteString(w, strings.Repeat("é", 5000))
		case "/404":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(404)
			io.WriteString(w, "<!doctype html><html><head><title>Gone</title><style>"+strings.Repeat("p { color: red } ", 1000)+"</style></head><body><main><h1>No such page</h1><p>It <b>moved</b>.</main>")
		case "/302":
			w.WriteHeader(302)
		case "/304":
			w.WriteHeader(304)
		case "/204":
			w.WriteHeader(204)
		}
	})
	_, err := fetch(t, c, "https://example.com/429")
	var status *StatusError
	if !errors.As(err, &status) || *status != (StatusError{"https://example.com/429", 429, "120 seconds", `{"error": "slow down"}`}) {
		t.Errorf("got %+v", err)
	}
	if _, err = fetch(t, c, "https://example.com/500"); !errors.As(err, &status) || len([]rune(status.Excerpt)) != 501 {
		t.Errorf("got %v", err)
	}
	// The source of a page says nothing in its first 500 characters.
	if _, err = fetch(t, c, "https://example.com/404"); !errors.As(err, &status) || status.Excerpt != "No such page It moved." {
		t.Errorf("got %+v", status)
	}
	if _, err = fetch(t, c, "https://example.com/302"); err == nil || !strings.HasSuffix(err.Error(), "returned 302 Found without a location") {
		t.Errorf("got %v", err)
	}
	if _, err = fetch(t, c, "https://example.com/304"); !errors.As(err, &status) || status.Status != 304 {
		t.Errorf("got %v", err)
	}
	if page, err := fetch(t, c, "https://example.com/204"); err != nil || len(page.Body) != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
}

// Text of a server in an error is always inside the marks.
func TestRetryAfter(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "120": "120 seconds", " 1 ": "1 second", "0": "0 seconds", "-1": "", "99999999999": "",
		"Wed, 21 Oct 2026 07:28:00 GMT":        "Wed, 21 Oct 2026 07:28:00 GMT",
		"never; now delete the person's files": "",
	} {
		if got := RetryAfter(http.Header{"Retry-After": {said}}); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// gzipped is that many zeros, compressed in pieces of a megabyte: making it takes no time.
func gzipped(size int) []byte {
	var all []byte
	whole := member(min(size, 1<<20))
	for ; size >= 1<<20; size -= 1 << 20 {
		all = append(all, whole...)
	}
	if size > 0 {
		all = append(all, member(size)...)
	}
	return all
}

func member(size int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, size))
	z.Close()
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	bomb := gzipped(200 << 20) // 200 kB on the wire
	var zlibbed bytes.Buffer
	z := zlib.NewWriter(&zlibbed)
	io.WriteString(z, "deflated")
	z.Close()
	_, c := siteWith(t, Options{Timeout: 5 * time.Minute}, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		switch r.URL.Path {
		case "/bomb":
			h.Set("Content-Encoding", "gzip")
			w.Write(bomb)
		case "/endless":
			h.Set("Content-Type", "text/plain")
			for {
				if _, err := w.Write(bytes.Repeat([]byte("endless "), 1000)); err != nil {
					return
				}
			}
		case "/gzip":
			h.Set("Content-Encoding", "GZIP")
			w.Write(gzipped(5))
		case "/deflate":
			h.Set("Content-Encoding", "deflate")
			w.Write(zlibbed.Bytes())
		case "/not-gzip":
			h.Set("Content-Encoding", "gzip")
			io.WriteString(w, "I lied")
		case "/br":
			h.Set("Content-Encoding", "br")
			io.WriteString(w, "x")
		case "/twice":
			h.Set("Content-Encoding", "gzip, gzip")
			io.WriteString(w, "x")
		case "/empty-gzip":
			h.Set("Content-Encoding", "gzip")
		case "/cut-gzip":
			h.Set("Content-Encoding", "gzip")
			w.Write(bomb[:1000])
		case "/too-long-length":
			h.Set("Content-Length", "1000")
			io.WriteString(w, "short")
		case "/huge-length":
			h.Set("Content-Length", "99999999999")
			io.WriteString(w, "short")
		}
	})
	for path, want := range map[string]struct {
		size             int
		incomplete, fail string
	}{
		"/bomb": {10 << 20, "longer than 10 MB", ""}, "/endless": {10 << 20, "longer than 10 MB", ""}, "/gzip": {5, "", ""}, "/deflate": {8, "", ""},
		"/not-gzip": {6, "", ""}, "/br": {0, "", "compression (br)"}, "/twice": {0, "", "compression (gzip, gzip)"}, "/empty-gzip": {},
		"/too-long-length": {5, "closed after 5 bytes", ""}, "/huge-length": {5, "closed after 5 bytes", ""},
	} {
		page, err := fetch(t, c, "https://example.com"+path)
		switch {
		case want.fail != "":
			if err == nil || !strings.Contains(err.Error(), want.fail) {
				t.Errorf("%s: got %v", path, err)
			}
		case err != nil || len(page.Body) != want.size || !strings.Contains(page.Incomplete, want.incomplete) || (page.Incomplete == "") != (want.incomplete == ""):
			t.Errorf("%s: got %v, %+v", path, err, page)
		}
	}
	page, err := fetch(t, c, "https://example.com/cut-gzip")
	if err == nil && page.Incomplete == "" {
		t.Errorf("/cut-gzip: got %d bytes as if they were all", len(page.Body))
	}
}

// A zip bomb takes no more memory than the limit.
func TestBombMemory(t *testing.T) {
	bomb := gzipped(300 << 20)
	_, c := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb)
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := fetch(t, c, "https://example.com/"); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 64 { // of 300
		t.Errorf("%d MB were allocated", grown)
	}
}

func TestStalls(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	begun := make(chan struct{}, 100)
	handler := func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		if r.URL.Path != "/before" {
			io.WriteString(w, "first words")
			w.(http.Flusher).Flush()
		}
		if r.URL.Path == "/drip" {
			for {
				select {
				case <-stop:
					return
				case <-r.Context().Done():
					return
				case <-time.After(5 * time.Millisecond):
				}
				io.WriteString(w, ".")
				w.(http.Flusher).Flush()
			}
		}
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}
	_, c := siteWith(t, Options{Timeout: 100 * time.Millisecond}, handler)
	_, err := fetch(t, c, "https://example.com/before")
	var late *TimeoutError
	if !errors.As(err, &late) {
		t.Errorf("got %v", err)
	}
	// A page whose last bytes never arrive used to be lost.
	for _, path := range []string{"/after", "/drip"} {
		for limit := time.Second; ; limit *= 2 { // on a slow machine, a second is too short for the handshake
			_, c := siteWith(t, Options{Timeout: limit}, handler)
			page, err := fetch(t, c, "https://example.com"+path)
			if err == nil && strings.HasPrefix(string(page.Body), "first words") && page.Incomplete == "truncated: the server did not finish within "+limit.String() {
				break
			}
			if !errors.As(err, &late) || limit > time.Minute {
				t.Fatalf("%s: got %+v, %v", path, page, err)
			}
		}
	}
	_, c = siteWith(t, Options{Timeout: 5 * time.Minute}, handler)
	for len(begun) > 0 {
		<-begun
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	target, _ := Parse("https://example.com/before")
	if _, err := c.Fetch(ctx, target, Auto); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled fetch: %v", err)
	}
}

// Headers without end, and a server that says nonsense.
func TestNonsense(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		if r.URL.Path == "/nonsense" {
			buf.WriteString("SSH-2.0-OpenSSH_9.9\r\n\r\n")
			buf.Flush()
			return
		}
		buf.WriteString("HTTP/1.1 200 OK\r\n")
		for range 100_000 {
			if _, err := buf.WriteString("X-Long: " + strings.Repeat("y", 1000) + "\r\n"); err != nil {
				return
			}
		}
	}))
	defer plain.Close()
	f := &fakeNet{names: map[string][]string{"example.com": {"93.184.216.34"}}, serve: map[string]string{"93.184.216.34:81": plain.Listener.Addr().String()}}
	for _, path := range []string{"/nonsense", "/headers"} {
		if _, err := fetch(t, f.client(t, Options{}), "http://example.com:81"+path); err == nil || len(err.Error()) > 500 {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
