package markdown_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"golang.org/x/net/html"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/markdown"
)

// example is an example of the CommonMark specification.
type example struct {
	Markdown, HTML string
	Example        int
}

// examples are those that the source of goldmark contains, in the module cache.
func examples(t *testing.T) []example {
	file, _ := runtime.FuncForPC(reflect.ValueOf(goldmark.New).Pointer()).FileLine(reflect.ValueOf(goldmark.New).Pointer())
	b, err := os.ReadFile(filepath.Join(filepath.Dir(file), "_test", "spec.json"))
	if err != nil {
		t.Skipf("the source of goldmark isn't here: %v", err)
	}
	var out []example
	if err := json.Unmarshal(b, &out); err != nil || len(out) < 600 {
		t.Fatalf("%d examples, %v", len(out), err)
	}
	return out
}

// promised are the words and the addresses of links and images in HTML.
func promised(t *testing.T, source string) (words, addresses []string) {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			words = append(words, strings.Fields(n.Data)...)
		}
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" {
				addresses = append(addresses, shownAddress(a.Val))
			}
		}
	}
	return words, addresses
}

// shownAddress makes addresses comparable: tags of HTML are shown as they are written.
func shownAddress(text string) string {
	text = html.UnescapeString(text)
	if s, err := url.PathUnescape(text); err == nil {
		text = s
	}
	return strings.Join(strings.Fields(text), " ")
}

// unresolved are examples in which * is emphasis because a reference link around it isn't read as one: its definition
// follows.
var unresolved = map[int]bool{534: true, 535: true}

const specWidth = 100_000 // nothing is wrapped

// Of all examples of CommonMark, all words and addresses are shown, and the same if they stream in, whatever the pieces
// are. Reference links used to be cut where a piece ended, lists of definitions disappeared, and so did the last line
// of blocks of HTML.
func TestSpec(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, e := range examples(t) {
		lines := markdown.Render(e.Markdown, specWidth)
		whole := texts(lines)
		words, addresses := promised(t, e.HTML)
		for _, w := range words {
			if !strings.Contains(whole, cell.Clean(w)) && !unresolved[e.Example] {
				t.Errorf("%d: %q lost %q: %q", e.Example, e.Markdown, w, whole)
			}
		}
		for _, a := range addresses {
			if !strings.Contains(shownAddress(whole), strings.TrimPrefix(a, "mailto:")) {
				t.Errorf("%d: %q lost the address %q: %q", e.Example, e.Markdown, a, whole)
			}
		}
		for i := range 10 {
			limit := []int{1, 3, 10, 40, 200}[i%5]
			var s markdown.Stream
			var got []cell.Line
			for rest := e.Markdown; rest != ""; {
				n := 1 + random.IntN(min(len(rest), limit))
				finished, _ := s.Add(rest[:n], specWidth)
				got, rest = append(got, finished...), rest[n:]
			}
			got = append(got, s.End(specWidth)...)
			if streamed := texts(got); !slices.Equal(strings.Fields(streamed), strings.Fields(whole)) {
				t.Errorf("%d: %q in pieces of %d is %q, as a whole %q", e.Example, e.Markdown, limit, streamed, whole)
				break
			}
			if a, b := targets(lines), targets(got); !slices.Equal(a, b) {
				t.Errorf("%d: %q in pieces of %d opens %q, as a whole %q", e.Example, e.Markdown, limit, b, a)
				break
			}
		}
	}
}

// targets are the addresses that links open.
func targets(lines []cell.Line) (out []string) {
	for _, l := range lines {
		for _, s := range l {
			if s.Link != "" && (len(out) == 0 || out[len(out)-1] != s.Link) {
				out = append(out, s.Link)
			}
		}
	}
	return out
}
