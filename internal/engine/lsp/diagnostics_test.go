package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
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
	return s.News(context.Background(), true)
}

func ready(t *testing.T, s *Servers, path string) {
	t.Helper()
	s.Touch(path)
	waittest.Until(t, "the server's answer", s.ready)
}

// publishing makes the server one that isn't asked for diagnostics. With versions, it also sends wrong ones for older
// texts, and without a version.
func (s *scripted) publishing(versions bool) {
	delete(s.can, "diagnosticProvider")
	publish := func(params json.RawMessage) (any, *failure) {
		var p struct{ TextDocument struct{ URI string } }
		json.Unmarshal(params, &p)
		uri := p.TextDocument.URI
		s.mu.Lock()
		text, version := s.texts[uri], s.versions[uri]
		s.mu.Unlock()
		send := func(version any, list []map[string]any) {
			s.notify("textDocument/publishDiagnostics", map[string]any{"uri": uri, "version": version, "diagnostics": list})
		}
		wrong := []map[string]any{{"severity": 1, "message": "stale"}}
		if send(nil, wrong); versions {
			send(version-1, wrong)
			send(version, scriptedDiagnostics(text))
			send(version-1, wrong)
		}
		return nil, nil
	}
	s.does("textDocument/didOpen", publish)
	s.does("textDocument/didChange", publish)
}

// 200 random changes of three files: exactly what changed is news, from a server that is asked and from one that
// publishes by version.
func TestNews(t *testing.T) {
	for _, pulls := range []bool{true, false} {
		t.Run(fmt.Sprint("pull ", pulls), func(t *testing.T) {
			server := newScripted(t)
			if !pulls {
				server.publishing(true)
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
	server.does("initialize", func(json.RawMessage) (any, *failure) {
		<-release
		return map[string]any{"capabilities": server.can}, nil
	})
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "fine\n")
	for _, text := range []string{"bad\n", "bad\nodd\n"} {
		if n := change(t, s, path, text); len(n.New) > 0 {
			t.Fatalf("news of a server that hasn't started: %v", n)
		}
	}
	close(release)
	waittest.Until(t, "the server's answer", s.ready)
	if n := s.News(context.Background(), true); lines(n.New) != "a.x:1 bad; a.x:2 odd" {
		t.Fatalf("got %v", n)
	}
	if n := s.News(context.Background(), true); len(n.New)+len(n.Fixed) > 0 {
		t.Fatalf("the same news again: %v", n)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	answer := make(chan bool)
	server.does("textDocument/diagnostic", func(json.RawMessage) (any, *failure) {
		<-answer
		return map[string]any{"items": scriptedDiagnostics("fine\n")}, nil
	})
	if err := os.WriteFile(path, []byte("fine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Changed([]Change{{Path: path}})
	if n := s.News(ended, true); len(n.New)+len(n.Fixed) > 0 {
		t.Fatalf("after the end of the context: %v", n)
	}
	close(answer)
	if n := s.News(context.Background(), true); lines(n.Fixed) != "a.x:1 bad; a.x:2 odd" {
		t.Fatalf("what the result before didn't have: %v", n)
	}
}

// What a server hasn't said yet when another file changes isn't lost. It was, until the first file changed again.
func TestLateNewsAndOtherChanges(t *testing.T) {
	for _, pulls := range []bool{true, false} {
		server := newScripted(t)
		if !pulls {
			server.publishing(true)
		}
		s, dir := serve(t, server)
		path := write(t, dir, "a.x", "fine\n")
		ready(t, s, path)
		if err := os.WriteFile(path, []byte("bad\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Changed([]Change{{Path: path}})
		os.Mkdir(dir+"/other", 0o700)
		s.Changed([]Change{{Path: write(t, dir+"/other", "b.x", "fine\n"), Created: true}})
		s.Changed([]Change{{Path: write(t, dir, "README.md", "text\n")}})
		if n := s.News(context.Background(), true); lines(n.New) != "a.x:1 bad" {
			t.Errorf("pull %v: %v", pulls, n)
		}
	}
}

// A server that publishes again for the same text: the next result has the difference. Pyright does so for new files, first
// without errors, and these were never reported.
func TestPublishedAgain(t *testing.T) {
	server := newScripted(t)
	server.publishing(true)
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "fine\n")
	ready(t, s, path)
	if n := change(t, s, path, "still fine\n"); len(n.New) > 0 {
		t.Fatalf("got %v", n)
	}
	server.notify("textDocument/publishDiagnostics", map[string]any{
		"uri": names.URI(path), "version": 2, "diagnostics": scriptedDiagnostics("bad\n")})
	waittest.Until(t, "the news", func() bool { return lines(s.News(context.Background(), false).New) == "a.x:1 bad" })
	if n := s.News(context.Background(), false); len(n.New)+len(n.Fixed) > 0 {
		t.Errorf("the same news again: %v", n)
	}
}

// A file that changes before the server has looked at it is compared with its text before the change.
func TestChangeBeforeLook(t *testing.T) {
	server := newScripted(t)
	release := make(chan struct{})
	server.does("initialize", func(json.RawMessage) (any, *failure) {
		<-release
		return map[string]any{"capabilities": server.can}, nil
	})
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "bad\n")
	s.Touch(path)
	change(t, s, path, "bad\nodd more\n")
	close(release)
	waittest.Until(t, "the server's answer", s.ready)
	if n := s.News(context.Background(), true); lines(n.New) != "a.x:2 odd more" || len(n.Fixed) > 0 {
		t.Fatalf("got %v", n)
	}
}

// Errors in other files of the directory that were read are news too.
func TestOtherFiles(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	a, b := write(t, dir, "a.x", "fine\n"), write(t, dir, "b.x", "uses a\n")
	ready(t, s, a)
	s.Touch(b)
	server.does("textDocument/diagnostic", func(params json.RawMessage) (any, *failure) {
		server.mu.Lock()
		defer server.mu.Unlock()
		text := server.texts[names.URI(b)]
		if strings.Contains(string(params), "a.x") || strings.Contains(server.texts[names.URI(a)], "fine") {
			text = ""
		}
		return map[string]any{"items": scriptedDiagnostics(strings.ReplaceAll(text, "uses", "bad"))}, nil
	})
	if n := change(t, s, a, "other\n"); lines(n.New) != "b.x:1 bad a" {
		t.Fatalf("got %v", n)
	}
	if n := change(t, s, a, "fine\n"); lines(n.Fixed) != "b.x:1 bad a" {
		t.Fatalf("got %v", n)
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
	if n := s.News(context.Background(), true); len(n.New) > 0 {
		t.Fatalf("a deleted file: %v", n)
	}
}

func TestManyDiagnostics(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "fine\n")
	ready(t, s, path)
	list := make([]map[string]any, 100_000)
	for i := range list {
		list[i] = map[string]any{"message": fmt.Sprint("message ", i), "severity": 2}
	}
	list[50_000] = map[string]any{"message": "the error", "severity": 1}
	raw, _ := json.Marshal(map[string]any{"items": list})
	server.answering("textDocument/diagnostic", json.RawMessage(raw))
	n := change(t, s, path, "other\n")
	if len(n.New) != maxKept || n.New[0].Message != "the error" {
		t.Fatalf("%d diagnostics, the first is %+v", len(n.New), n.New[0])
	}
}
