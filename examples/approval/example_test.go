package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) {
	adze.Main()
	os.Exit(m.Run())
}

// serve serves a page.
func serve() (*page, func()) {
	p := &page{token: "secret"}
	server := httptest.NewServer(p)
	p.host = strings.TrimPrefix(server.URL, "http://")
	return p, server.Close
}

var formID = regexp.MustCompile(`name="id" value="(\w+)"`)

// post answers a question as a browser does, and returns the status.
func (p *page) post(origin, token, id, verdict string) int {
	form := url.Values{"token": {token}, "id": {id}, "verdict": {verdict}}
	r, _ := http.NewRequest(http.MethodPost, "http://"+p.host+"/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", origin)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

func (p *page) get(query string) string {
	response, err := http.Get("http://" + p.host + "/" + query)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// The user allows the call in the page.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	p, end := serve()
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- run(context.Background(), dir, p) }()
	var id []string
	for id == nil && len(ended) == 0 {
		id = formID.FindStringSubmatch(p.get("?token=secret"))
	}
	fmt.Println(p.post("http://"+p.host, "secret", strings.Join(id[1:], ""), "allow"))
	fmt.Println(<-ended)
	text, err := os.ReadFile(filepath.Join(dir, "note.txt"))
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// 200
	// <nil>
	// hello
	// <nil>
}

// Nothing but the page's own form approves: no GET, no other origin, no other token, no other question.
func TestForgeries(t *testing.T) {
	p, end := serve()
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answers := make(chan tool.Verdict, 1)
	go func() {
		d, _ := p.ask(ctx, tool.Request{}, tool.Decision{})
		answers <- d.Verdict
	}()
	waittest.Until(t, "the question is open", func() bool { return p.open.Load() != nil })
	id, own := p.open.Load().ID, "http://"+p.host
	p.get("?token=secret&id=" + id + "&verdict=allow")
	for _, forged := range [][3]string{{"http://example.com", "secret", id}, {"", "secret", id}, {"null", "secret", id}, {own, "", id}, {own, "wrong", id}} {
		if code := p.post(forged[0], forged[1], forged[2], "allow"); code != http.StatusForbidden {
			t.Errorf("%q: status %d", forged, code)
		}
	}
	p.post(own, "secret", "other", "allow")
	if text := p.get("?token="); strings.Contains(text, id) {
		t.Error("the page shows the question without a token")
	}
	if len(answers) > 0 || p.open.Load() == nil {
		t.Fatal("a forged request was an answer")
	}
	if p.post(own, "secret", id, "no such verdict"); <-answers != tool.Deny {
		t.Error("an unknown verdict approved")
	}
}
