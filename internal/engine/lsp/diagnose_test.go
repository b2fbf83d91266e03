package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// change writes a file as a call does, and returns what is new and fixed.
func change(t *testing.T, s *Servers, path, text string) News {
	t.Helper()
	before, err := Text(path)
	c := Change{Path: path, Created: os.IsNotExist(err)}
	if err == nil {
		c.Before = &before
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Changed([]Change{c})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.News(ctx)
}

func ready(t *testing.T, s *Servers, path string) {
	t.Helper()
	s.Touch(path)
	waittest.Until(t, "the server's answer", s.Ready)
}

// 200 random changes of three files: exactly what changed is news, from a server that is asked and from one that
// publishes by version.
func TestNews(t *testing.T) {
	for _, pulls := range []bool{true, false} {
		t.Run(fmt.Sprint("pull ", pulls), func(t *testing.T) {
			server := newScripted(t)
			if !pulls {
				delete(server.can, "diagnosticProvider")
				for _, method := range []string{"textDocument/didOpen", "textDocument/didChange"} {
					server.answers[method] = func(params json.RawMessage) (any, *ResponseError) {
						var p struct{ TextDocument struct{ URI string } }
						json.Unmarshal(params, &p)
						server.mu.Lock()
						text, version := server.texts[p.TextDocument.URI], server.versions[p.TextDocument.URI]
						server.mu.Unlock()
						stale := version - 1
						wrong := []map[string]any{{"severity": 1, "message": "stale"}}
						for v, list := range map[*int][]map[string]any{&stale: wrong, nil: wrong} {
							server.notify("textDocument/publishDiagnostics",
								map[string]any{"uri": p.TextDocument.URI, "version": v, "diagnostics": list})
						}
						server.notify("textDocument/publishDiagnostics", map[string]any{
							"uri": p.TextDocument.URI, "version": version, "diagnostics": scriptedDiagnostics(text)})
						return nil, nil
					}
				}
			}
			s, dir := serve(t, server)
			names := []string{"a.x", "b.x", "c.x"}
			texts := map[string]string{}
			for _, name := range names {
				texts[name] = "fine\nbad from the start\n"
				write(t, dir, name, texts[name])
			}
			ready(t, s, dir+"/a.x")
			r := rand.New(rand.NewPCG(1, 2))
			for i := range 200 {
				name := names[r.IntN(3)]
				was := strings.Contains(texts[name], "bad now")
				text, wantNew, wantFixed := fmt.Sprintf("fine %d\nbad from the start\n", i), "", ""
				if was {
					wantFixed = name + ":1 bad now"
				} else {
					text, wantNew = fmt.Sprintf("bad now\nbad from the start\n%d\n", i), name+":1 bad now"
				}
				texts[name] = text
				n := change(t, s, dir+"/"+name, text)
				if lines(n.New) != wantNew || lines(n.Fixed) != wantFixed {
					t.Fatalf("change %d of %s: new %q, fixed %q; want %q, %q", i, name, lines(n.New), lines(n.Fixed),
						wantNew, wantFixed)
				}
			}
		})
	}
}

// What a server says after the time of a result is in the next one, and a result isn't held up by a server that starts.
func TestLateNews(t *testing.T) {
	server := newScripted(t)
	release := make(chan struct{})
	server.answers["initialize"] = func(json.RawMessage) (any, *ResponseError) {
		<-release
		return map[string]any{"capabilities": server.can}, nil
	}
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "fine\n")
	if n := change(t, s, path, "bad\n"); len(n.New) > 0 {
		t.Fatalf("news of a server that hasn't started: %v", n)
	}
	if n := change(t, s, path, "bad\nodd\n"); len(n.New) > 0 {
		t.Fatalf("news of a server that hasn't started: %v", n)
	}
	close(release)
	waittest.Until(t, "the server's answer", s.Ready)
	if n := s.News(context.Background()); lines(n.New) != "a.x:1 bad; a.x:2 odd" {
		t.Fatalf("got %v", n)
	}
	if n := s.News(context.Background()); len(n.New)+len(n.Fixed) > 0 {
		t.Fatalf("the same news again: %v", n)
	}
}

func TestNewAndDeletedFiles(t *testing.T) {
	s, dir := serve(t, newScripted(t))
	ready(t, s, write(t, dir, "a.x", "fine\n"))
	if n := change(t, s, dir+"/new.x", "odd\nbad\n"); lines(n.New) != "new.x:2 bad; new.x:1 odd" {
		t.Fatalf("a new file, errors first: %v", n)
	}
	if n := change(t, s, dir+"/secret.x", "bad\n"); len(n.New) > 0 {
		t.Fatalf("a hidden file: %v", n)
	}
	text := "bad\n"
	os.Remove(dir + "/new.x")
	s.Changed([]Change{{Path: dir + "/new.x", Before: &text}})
	if n := s.News(context.Background()); len(n.New) > 0 {
		t.Fatalf("a deleted file: %v", n)
	}
}
