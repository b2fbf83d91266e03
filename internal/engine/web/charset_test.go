package web

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// libraryDeclared is what declaredIn was: the encoding that x/net finds in the beginning of a page.
func libraryDeclared(head []byte) string {
	if _, name, certain := charset.DetermineEncoding(head, "text/html"); certain || name != "windows-1252" {
		return name
	}
	if bytes.Contains(bytes.ToLower(head), []byte("charset")) {
		return "windows-1252"
	}
	return ""
}

// Pages name their encoding as in x/net: random elements of meta attributes, valid and invalid.
func TestDeclared(t *testing.T) {
	pieces := []string{
		`<meta charset=gbk>`, `<META Charset="Big5">`, `<meta charset='utf-16'/>`, `<meta charset="no such">`, `<meta charset>`,
		`<meta charset=" Shift_JIS ">`, `<meta charset=koi8-r charset=gbk>`, `<meta name=charset content=gbk>`,
		`<meta http-equiv=Content-Type content="text/html; charset=euc-kr">`, `<meta content='text/html; CHARSET = "latin2"; x' http-equiv=content-type>`,
		`<meta content="text/html; charset=gbk">`, `<meta http-equiv=refresh content="text/html; charset=gbk">`,
		`<meta http-equiv=content-type content="charset charset=euc-jp">`, `<meta http-equiv=content-type content="charset= ">`,
		`<meta http-equiv=content-type content="charset='gbk'" charset=big5>`, `<meta http-equiv=content-type charset=big5 content="charset='gbk'">`,
		`<meta http-equiv=content-type charset=none content="charset=gbk">`, `<meta http-equiv=content-type content="charset=utf-16le;">`,
		`<meta http-equiv=content-type content="charset=;gbk">`, `<meta http-equiv=content-type content="charset=hz-gb-2312">`,
		`<!-- <meta charset=gbk> -->`, `<script>"<meta charset=gbk>"</script>`, `<title><meta charset=gbk></title>`, `<p>text &eacute;`,
		"é中", "\xff\xe9", "charset", "<!doctype html>", "<meta", strings.Repeat(" ", 400),
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		var page strings.Builder
		for range 1 + random.IntN(5) {
			page.WriteString(pieces[random.IntN(len(pieces))])
		}
		head := []byte(page.String() + "<p>end")
		head = head[:min(len(head), 1024)]
		want := libraryDeclared(head)
		if got := declaredIn(head); got != want && want != "utf-8" {
			t.Fatalf("%q declares %q, want %q", head, got, want)
		} else if want == "utf-8" && got != want && got != "" {
			t.Fatalf("%q declares %q, want UTF-8 or nothing", head, got)
		}
	}
}

// Text in a legacy encoding is cut after a whole character.
func TestTextLimit(t *testing.T) {
	raw, err := simplifiedchinese.GBK.NewEncoder().String(strings.Repeat("中文网页", 100))
	if err != nil {
		t.Fatal(err)
	}
	p := Page{Body: []byte(raw), contentType: "text/html; charset=gb2312"}
	if text, label := p.Text(100); label != "gbk" || text != strings.Repeat("中文网页", 100)[:99] {
		t.Errorf("%s: %q", label, text)
	}
}
