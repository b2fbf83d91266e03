package markdown

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func base(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://site.example/docs/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Each page of testdata, as Markdown and as plain text.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.html")
	if err != nil || len(pages) < 12 {
		t.Fatalf("pages: %v, %v", pages, err)
	}
	for _, page := range pages {
		src, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for ext, o := range map[string]Options{".md": {Base: base(t)}, ".txt": {Base: base(t), Plain: true}} {
			name := strings.TrimSuffix(page, ".html") + ext
			t.Run(filepath.Base(name), func(t *testing.T) {
				doc, err := Convert(t.Context(), string(src), o)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, name, "title: "+doc.Title+"\n\n"+doc.Text+"\n")
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the code gives now; look at the difference and run go test -update:\n%s", name, diff)
	}
}
