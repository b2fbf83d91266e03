package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
)

// Whatever a page of 10 MB is made of, the whole program stays under 64 MB. These pages need the most.
func TestHostilePageMemory(t *testing.T) {
	if !soak.On() {
		t.Skip("it takes a while: ADZE_SOAK=1")
	}
	pieces := []string{
		"<div>", "<a href=/x>x", "<img alt=x src=/y>", "<p class='a b c d e f g h i j'>x", "caf\xe9 cr\xe8me ", "hello world ",
		"<table><tr><td colspan=999999 rowspan=999999>x</td><td>y</td></tr></table>", "<blockquote>x", "<script>x</script>",
		"<p href=a src=b alt=c class=d style=e role=f id=g colspan=1 rowspan=1 start=1 type=t>x",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= len(pieces) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		piece := strings.Repeat(pieces[n], 1000) // and no more at once: the memory of this process counts too
		for sent := 0; sent < 10<<20; sent += len(piece) {
			if _, err := w.Write([]byte(piece)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	home := t.TempDir()
	allow := fmt.Sprintf(`{"tools":{"webFetch":{"allowPrivateHosts":[%q]}}}`, strings.TrimPrefix(server.URL, "http://"))
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(allow), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := plainProgram(t)
	for n, piece := range pieces {
		cmd := exec.Command(binary, "tool", "call", "web_fetch", fmt.Sprintf(`{"url":"%s/%d"}`, server.URL, n), "--yolo")
		cmd.Env = append(os.Environ(), "ADZE_HOME="+home)
		out, peak, err := measured(cmd)
		if err != nil {
			t.Errorf("%s: %v\n%.300s", piece, err, out)
		}
		t.Logf("%d MB for %s", peak>>20, piece)
		if peak >= 64<<20 {
			t.Errorf("%d MB for %s", peak>>20, piece)
		}
	}
}
