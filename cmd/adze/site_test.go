package main

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveSite serves a directory on loopback: site FOLDER. Its address goes into SITE.
func serveSite(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: site FOLDER")
	}
	files := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, "http://example.com/elsewhere", http.StatusFound)
		case r.URL.Path == "/tool.zip":
			_, _ = w.Write([]byte("PK\x05\x06" + strings.Repeat("\x00", 18))) // an empty one; a client that has gone does not matter
		case strings.HasPrefix(r.URL.Path, "/search"): // as a search engine answers
			r.URL.Path = "/found.json"
			files.ServeHTTP(w, r)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("SITE", strings.TrimPrefix(server.URL, "http://"))
}
