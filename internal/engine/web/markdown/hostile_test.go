package markdown

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// Pages that take other converters minutes or all memory: each piece is repeated until the page has 60 kB; 10 MB with
// ADZE_SOAK, the limit of a fetch.
func TestHostilePages(t *testing.T) {
	serial.Test(t)
	size := soak.Count(60_000, 10<<20)
	pieces := map[string]string{
		"text": "hello world ", "stars": "*_`[", "angle brackets": "&lt;", "line ends": "\n", "spaces": "x&nbsp; ", "breaks": "<br>",
		"nested divs": "<div>", "nested bold": "<b>x", "nested spans": "<span>x", "quotations": "<blockquote>x", "lists": "<ul><li>x",
		"items": "<li>x", "tables": "<table><tr><td>x", "rows": "<tr><td>x</td><td>y</td></tr>", "cells": "<td>x", "headings": "<h1>x",
		"links": "<a href=/x>x", "images": "<img alt=x src=/y>", "comments": "<!-- x -->", "code": "<pre>```", "inline code": "<code>`",
		"forms": "<form><input>", "spans over rows": "<table><tr><td colspan=999999 rowspan=999999>x</td><td>y</td></tr></table>",
		"headers": "<header>x</header>", "deep headers": "<section><header>x</header>", "templates": "<template>x", "svg": "<svg><g>x", "math": "<math><mi>x",
		"attributes": "<p a=1 b=2 c=3 class='x y z' style='color:red'>x", "unclosed": "<p <p <", "entities": "&#x41;&amp;&notanentity;", "nulls": "\x00",
		"frames": "<iframe>", "selects": "<select><option>x", "options": "<option>", "spans with blocks": "<span><p>x</p></span>", "one tag": " a=b", "classes": "<p class='a b c d e f g h i j'>x", "open marks": "<b a=1><i b=2><a href=/c><p>x",
	}
	for name, piece := range pieces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := strings.Repeat(piece, size/len(piece))
			switch name {
			case "rows", "cells":
				page = "<table>" + page
			case "one tag":
				page = "<p" + page + ">x"
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second) // a hang is found, a busy machine is not blamed
			defer cancel()
			doc, err := Convert(ctx, page, Options{Limit: 300_000})
			if err != nil {
				t.Fatal(err)
			}
			if len(doc.Text) > 300_000 || !utf8.ValidString(doc.Text) {
				t.Errorf("%d bytes were written, valid UTF-8: %v", len(doc.Text), utf8.ValidString(doc.Text))
			}
		})
	}
}

// The memory for any page of 10 MB is bounded: the whole program has 64 MB. These kinds of pages need the most.
func TestTreeSize(t *testing.T) {
	serial.Test(t)
	for _, piece := range []string{
		"<img alt=x src=/y>", "<a href=/x>x", "<p>x", "<div> ", "<x", "hello world ", "<p class='language-a language-b'>",
		"<p href=a src=b alt=c class=d style=e role=f id=g colspan=1 rowspan=1 start=1 type=t>x", "<!-- x -->", "<script>x", "<li><a href='" + strings.Repeat("x", 3000) + "'>x</a>",
	} {
		page := strings.Repeat(piece, 10<<20/len(piece))
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		root, _ := parse(t.Context(), page)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; grown > 16 {
			t.Errorf("%d MB for a page of %.30s", grown, piece)
		}
		runtime.KeepAlive(root)
		runtime.KeepAlive(page)
	}
}

// Tokens that are too long: scripts and comments are skipped, of a text the beginning is kept.
func TestLongTokens(t *testing.T) {
	serial.Test(t)
	long := strings.Repeat("x ", 1<<20)
	for page, want := range map[string]string{
		"<p>a<script>" + long + "</script>b":           "ab",
		"<p>a<style>" + long + "</style><p>b":          "a\n\nb",
		"<p>a<!-- " + long + " -->b":                   "ab",
		"<p>a<p title='" + long + "'>b":                "a",
		"<p>a<script>" + long:                          "a",
		"<script>" + long + "</SCRIPT>b":               "",
		"<p>a<script>" + long + "</script><p>b" + long: "",
	} {
		doc, err := Convert(t.Context(), page, Options{Limit: 100})
		if want == "" {
			want = doc.Text
		}
		if err != nil || doc.Text != want {
			t.Errorf("%.20s: %.100q, %v", page, doc.Text, err)
		}
	}
	if doc, err := Convert(t.Context(), "<p>&lt;"+long, Options{}); err != nil || !doc.Cut || !strings.HasPrefix(doc.Text, "<x x x") || len(doc.Text) < 500_000 {
		t.Errorf("a long text: %d bytes, %.10q, %v", len(doc.Text), doc.Text, err)
	}
}

// Elements that are never closed are not made again in every paragraph.
func TestOpenMarks(t *testing.T) {
	var b strings.Builder
	b.WriteString("<p>")
	for i := range 400 {
		fmt.Fprintf(&b, "<b a=%d>", i)
	}
	b.WriteString(strings.Repeat("<p>x", 3000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	doc, err := Convert(t.Context(), b.String(), Options{})
	runtime.ReadMemStats(&after)
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || grown > 20 || strings.Count(doc.Text, "x") != 3000 {
		t.Errorf("%d MB for %d bytes, %d paragraphs, %v", grown, b.Len(), strings.Count(doc.Text, "x"), err)
	}
}

// Mistakes that authors make, and what browsers show for them.
func TestMistakes(t *testing.T) {
	for in, want := range map[string]string{
		`<p>a<p>b`:                               "a\n\nb",
		`<p>a<div>b</div>c`:                      "a\n\nb\nc",
		`<ul><li>a<ul><li>b</ul><li>c</ul>d`:     "- a\n  - b\n- c\n\nd",
		`<table><tr><td>a<td>b<tr><td>c<td>d`:    "|  |  |\n| --- | --- |\n| a | b |\n| c | d |",
		`<table><tr><td>a</b></td><td>b</table>`: "|  |  |\n| --- | --- |\n| a | b |",
		`<b>a<i>b</b>c</i>`:                      "**a*b***c",
		`a</p>b</div>c`:                          "abc",
		`<a href=/1>x<a href=/2>y`:               "[x](https://site.example/1)[y](https://site.example/2)",
		`<h1>a<h2>b`:                             "# a\n\n## b",
		`<dl><dt>a<dd>b<dt>c<dd>d</dl>`:          "**a**\n: b\n\n**c**\n: d",
		`<script>if (a<b) "</p>"</script>x`:      "x",
		`<textarea> </textarea>x`:                "x", "<textarea><p>a\nb</textarea>x": "```\n<p>a\nb\n```\n\nx",
		`<svg><title>no</title><path/>y</svg>x`: "x",
		`a</br>b`:                               "a\nb",
		`<p/>a<br/>b`:                           "a\nb",
		`x < y & z <3`:                          "x < y & z <3",
		// Text in a list or table, but in no item or cell, was lost.
		`<ul>only text</ul>`:                                      "only text",
		`<ol>text <i>in</i> a list<li>item</li>end</ol>`:          "text *in* a list\n\n1. item\n\nend",
		`<ul><li>a</li>between<li>b</li></ul>`:                    "- a\n\nbetween\n\n- b",
		`<table>loose<tr><td>a</td><td>b</td></tr></table>`:       "loose\n\n|  |  |\n| --- | --- |\n| a | b |",
		`<table><tr>in a row<td>a</td></tr><p>below</p></table>x`: "below\n\nin a row\na\n\nx",
		// So were cells without a row.
		`<table><td>a<td>b<tr><td>c</table>`:              "|  |  |\n| --- | --- |\n| a | b |\n| c |  |",
		`<table><tbody><b>bold</b><tr><th>a<th>b</table>`: "**bold**\n\n| a | b |\n| --- | --- |",
	} {
		doc, err := Convert(t.Context(), in, Options{Base: base(t)})
		if err != nil || doc.Text != want {
			t.Errorf("%s\n got %q, %v\nwant %q", in, doc.Text, err, want)
		}
	}
}

// A page nested more deeply than any tree should be is still read.
func TestDeepPage(t *testing.T) {
	page := "<title>Deep &amp; down</title><script>no()</script>" + strings.Repeat("<div>", 2000) + "<p>found &lt;it&gt;</p><p>and more</p>"
	doc, err := Convert(t.Context(), page, Options{})
	want := Document{Title: "Deep & down", Text: "found <it>\n\nand more"}
	if err != nil || doc != want {
		t.Errorf("got %+v, %v, want %+v", doc, err, want)
	}
}

// Some pages only lead to another.
func TestRefresh(t *testing.T) {
	for content, want := range map[string]string{
		"0; url=../new.html": "https://site.example/new.html", "5;URL='https://e.org/a b'": "https://e.org/a%20b", "30": "", "0;javascript:alert(1)": "", "0; url=javascript:alert(1)": "", "0;url=": "",
	} {
		doc, err := Convert(t.Context(), `<meta http-equiv="Refresh" content="`+content+`"><p>Moved.`, Options{Base: base(t)})
		if err != nil || doc.Refresh != want || doc.Text != "Moved." {
			t.Errorf("%s: %+v, %v", content, doc, err)
		}
	}
}

// The text for browsers without scripts is used if a page has no other text.
func TestNoScript(t *testing.T) {
	for page, want := range map[string]string{
		`<div id=root></div><noscript>You need to enable JavaScript.</noscript>`: "You need to enable JavaScript.",
		`<p>Text.</p><noscript><img src=/pixel alt=pixel></noscript>`:            "Text.",
	} {
		if doc, err := Convert(t.Context(), page, Options{}); err != nil || doc.Text != want {
			t.Errorf("%s: %+v, %v", page, doc, err)
		}
	}
}

// A page with only content that is usually omitted is shown anyway.
func TestOnlyNavigation(t *testing.T) {
	doc, err := Convert(t.Context(), `<nav><a href="https://e.org/a">A</a></nav><script>x</script>`, Options{})
	if want := (Document{Text: "[A](https://e.org/a)"}); err != nil || doc != want {
		t.Errorf("got %+v, %v, want %+v", doc, err, want)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Convert(ctx, strings.Repeat("<p>x", 10_000), Options{}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestCut(t *testing.T) {
	doc, err := Convert(t.Context(), strings.Repeat("<p>é twelve</p>", 100), Options{Limit: 101})
	if err != nil || !doc.Cut || len(doc.Text) > 101 || !strings.HasSuffix(doc.Text, "é twelve") {
		t.Errorf("got %+v, %v", doc, err)
	}
}

// Small pieces, one rule each.
func TestPieces(t *testing.T) {
	for in, want := range map[string]string{
		`<p>a<b>b</b>c`:                       "a**b**c",
		`<p>a <b> b </b> c`:                   "a **b** c",
		`<b><i>x</i></b>`:                     "***x***",
		`<em><em>x</em></em>`:                 "*x*",
		`<b></b>x`:                            "x",
		`<code>a ` + "`" + ` b</code>`:        "``a ` b``",
		`<a href="javascript:alert(1)">x</a>`: "x",
		`<a href="data:text/html,x">x</a>`:    "x",
		`<a href=" HTTPS://e.org/a b ">x</a>`: "[x](https://e.org/a%20b)",
		`<a href="../up">x</a>`:               "[x](https://site.example/up)",
		`<a href="//e.org/p">x</a>`:           "[x](https://e.org/p)",
		`<a href="?q=1">a]b</a>`:              `[a\]b](https://site.example/docs/page.html?q=1)`,
		`<a href="/x"></a>y`:                  "y",
		`<p># no</p><p>- no</p><p>1) no</p>`:  "\\# no\n\n\\- no\n\n1\\) no",
		`<ol><li>a<li>b</ol>`:                 "1. a\n2. b",
		`<ol start=-5><li>a</ol>`:             "1. a",
		`<li>alone`:                           "- alone",
		`<ul><li></li><li>b</li></ul>`:        "- b",
		`<pre>  a<br>b</pre>`:                 "```\n  a\nb\n```",
		`<h2>a<br>b</h2>`:                     "## a b",
		`<blockquote>a<p>b</blockquote>c`:     "> a\n>\n> b\n\nc",
		`<div>a</div><div>b</div>`:            "a\nb",
		`x<!-- y -->z`:                        "xz",
		`a<wbr>b&shy;c`:                       "ab\u00adc",
		`<p aria-hidden=true>x</p>y`:          "y",
		`<svg><text>x</text></svg>y`:          "y",
		`<p><math alttext="{\displaystyle a  b}"><mi>a</mi></math> <math><mi>c</mi></math>`:        "$a b$ c",
		`<img aria-hidden=true alt="{\displaystyle x}" src=/i><img aria-hidden=true alt=y src=/i>`: "$x$![y](https://site.example/i)",
		`<img src="data:image/gif;base64,R0" data-src="/real.jpg" alt=x>`:                          "![x](https://site.example/real.jpg)",
		`<table><tr><td><ul><li>a</li> <li>b.<li>c</ul><td><pre>x  y</pre>`:                        "|  |  |\n| --- | --- |\n| a; b. c | `x y` |",
		`<a href=/x href=/y>x</a>`: "[x](https://site.example/x)",
		`<p>x<sub>i</sub> <sub>a long remark in small letters below the line</sub>`:                         "x_i a long remark in small letters below the line",
		`<div>a</div><div><p>b</p></div><div>c</div><div>d</div>`:                                           "a\n\nb\n\nc\nd",
		`<label>a</label><label>b</label>`:                                                                  "a b",
		`<div class="language-go"><table><tr><td class=linenos>1<td><pre>x</pre></table></div><pre>y</pre>`: "```go\nx\n```\n\n```\ny\n```",
		`plain`: "plain",
		``:      "",
	} {
		doc, err := Convert(t.Context(), in, Options{Base: base(t)})
		if err != nil || doc.Text != want {
			t.Errorf("%s\n got %q, %v\nwant %q", in, doc.Text, err, want)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for _, s := range []string{"<p>x", "<table><tr><td rowspan=9>x", "<ul><li><ol><li><blockquote><pre>x", "<a href='x'><h1>y", "<b><p>x</b>y", "<template><select>"} {
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, page string, plain bool) {
		doc, err := Convert(t.Context(), page, Options{Base: base(t), Limit: 1000, Plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Text) > 1000 || len(doc.Title) > 310 || utf8.ValidString(page) && !utf8.ValidString(doc.Text) {
			t.Errorf("got %d bytes, title of %d, valid %v", len(doc.Text), len(doc.Title), utf8.ValidString(doc.Text))
		}
	})
}
