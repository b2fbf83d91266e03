package session_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// serveScripted is a language server, in which each line with "bad" is an error. For a hover, it tries what it must not do, and says what happened.
// An argument names a way in which it is broken.
func serveScripted() {
	way := ""
	if len(os.Args) > 1 {
		way = os.Args[1]
	}
	switch way {
	case "garbage":
		fmt.Println("Hello, world!")
	case "header":
		fmt.Print("Content-Length: 1073741824\r\n\r\n")
	case "exits":
		os.Exit(3)
	case "deaf":
		select {}
	case "forks":
		for range 20 {
			exec.Command("sh", "-c", "sleep "+os.Args[2]+" > /dev/null 2>&1 &").Run()
		}
	}
	texts := map[string]string{}
	r := bufio.NewReader(os.Stdin)
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				RootPath       string
				NewName        string
				TextDocument   struct{ URI, Text string }
				ContentChanges []struct{ Text string }
			}
		}
		json.Unmarshal(body, &m)
		uri := m.Params.TextDocument.URI
		var result any
		switch m.Method {
		case "initialize":
			os.Chdir(m.Params.RootPath)
			fmt.Fprintln(os.Stderr, "hello from the server")
			result = map[string]any{"capabilities": map[string]any{
				"diagnosticProvider": map[string]any{}, "hoverProvider": true, "renameProvider": true}}
		case "textDocument/didOpen":
			texts[uri] = m.Params.TextDocument.Text
		case "textDocument/didChange":
			texts[uri] = m.Params.ContentChanges[0].Text
		case "textDocument/diagnostic":
			items := []any{}
			for i, line := range strings.Split(texts[uri], "\n") {
				if strings.Contains(line, "bad") {
					at := map[string]int{"line": i, "character": 0}
					items = append(items, map[string]any{"severity": 1, "message": line + "\x1b[31m is\nbad",
						"range": map[string]any{"start": at, "end": at}})
				}
			}
			result = map[string]any{"kind": "full", "items": items}
		case "textDocument/hover":
			result = map[string]any{"contents": tryAll(texts[uri])}
		case "textDocument/rename":
			changes := map[string]any{}
			dir := filepath.Dir(strings.TrimPrefix(uri, "file://"))
			all, _ := filepath.Glob(dir + "/*.x")
			for _, path := range all {
				text, _ := os.ReadFile(path)
				word, _, _ := strings.Cut(string(text), " ")
				changes["file://"+path] = []any{map[string]any{
					"newText": m.Params.NewName, "range": map[string]any{"start": map[string]int{"line": 0, "character": 0},
						"end": map[string]int{"line": 0, "character": len(word)}}}}
			}
			result = map[string]any{"changes": changes}
		}
		if m.ID != nil {
			raw, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
			fmt.Printf("Content-Length: %d\r\n\r\n%s", len(raw), raw)
		}
	}
}

// tryAll tries to read, write, send and stay. text has the names: lines of a word and its argument.
func tryAll(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		verb, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		said := ""
		switch verb {
		case "read":
			b, err := os.ReadFile(arg)
			said = fmt.Sprint(string(b), err)
		case "write":
			said = fmt.Sprint(os.WriteFile(arg, []byte("x"), 0o600))
		case "dial":
			_, err := net.DialTimeout("tcp", arg, time.Second)
			said = fmt.Sprint(err)
		case "stay":
			said = fmt.Sprint(exec.Command("sh", "-c", "sleep "+arg+" > /dev/null 2>&1 &").Run())
		}
		out = append(out, verb+": "+said)
	}
	return strings.Join(out, "\n")
}
