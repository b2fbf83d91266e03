package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"pgregory.net/rapid"
)

// fragments are what the texts of the comparison are made of.
var fragments = strings.Fields("| |- |:-- |:-: |--: :-: --- \\| ` ~~ ~ ~~~ [x] [X] [_] [] - * 1. # > a b.c é 日本 http:// https:// HTTPS:// ftp:// " +
	"www. example.com example. a.b1 x@example.com x@y @ : :80 :x / /a(b) ( ) ). ; &amp; &x; ? ! , . _ ** [l](u) [ ] <a> _ $ # \" ^ {} %20")

// Texts look as goldmark's own extensions read them.
func TestExtensionsAgree(t *testing.T) {
	reference := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList,
		extension.Linkify)).Parser()
	check := func(t interface{ Fatalf(string, ...any) }, src string) {
		r := newRenderer(src, 60)
		want, got := r.blocks(r.parse(reference)), r.blocks(r.parse(newParser()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-goldmark's +ours):\n%s", src, diff)
		}
	}
	for _, src := range []string{
		"a | b\n--|:-:\n1 | `x\\|y` | z\n2", "text\n|a|\n|-|\n|b|c|\n\nmore", "|a|\n|--|--|", "- [x] done\n- [ ] open\n- [y] no",
		"~~gone~~ ~also~ ~~~not~~~", "see https://example.com/a(b). (www.example.com/x?y=1), me@example.com.", "http://a.b1 www.x",
		"https://" + strings.Repeat("a", 255) + ".com https://" + strings.Repeat("b", 256) + ".com", "| a |\n| :: |", "|a|b|\n|-|-|\n|`\\|` \\| x|y|",
	} {
		check(t, src)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(fragments), 1, 25).Draw(t, "words")
		var b strings.Builder
		for _, w := range words {
			b.WriteString(w + rapid.SampledFrom([]string{" ", "", "\n", "  \n", "\n\n", "|"}).Draw(t, "end"))
		}
		check(t, b.String())
	})
}
