package web

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/adze-dev/adze/internal/dev/serial"
)

func encoded(t *testing.T, e encoding.Encoding, s string) string {
	t.Helper()
	out, err := e.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestText(t *testing.T) {
	const words = "Größe: 12 €, naïve café, déjà vu. Übergröße für Ärzte."
	const japaneseWords = "これは日本語の文章です。東京は大きい都市です。漢字とひらがなとカタカナ。"
	latin := encoded(t, charmap.Windows1252, words)
	for name, c := range map[string]struct{ contentType, body, want, enc string }{
		"header":                       {"text/plain; charset=windows-1252", latin, words, "windows-1252"},
		"header of another name":       {`text/plain; charset="ISO-8859-1"`, latin, words, "windows-1252"},
		"meta":                         {"text/html", `<meta charset="windows-1252">` + latin, `<meta charset="windows-1252">` + words, "windows-1252"},
		"old meta":                     {"text/html", `<meta http-equiv=Content-Type content="text/html; charset=Shift_JIS">` + encoded(t, japanese.ShiftJIS, japaneseWords), `<meta http-equiv=Content-Type content="text/html; charset=Shift_JIS">` + japaneseWords, "shift_jis"},
		"mark":                         {"text/plain; charset=ascii", "\xEF\xBB\xBF" + words, words, "utf-8"},
		"mark of UTF-16":               {"text/html; charset=utf-8", encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), words), words, "utf-16le"},
		"UTF-16 by header":             {"text/plain; charset=utf-16be", encoded(t, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), words), words, "utf-16be"},
		"no word of it, UTF-8":         {"text/plain", words, words, "utf-8"},
		"no word of it, 1252":          {"text/plain", latin, words, "windows-1252"},
		"no type at all":               {"", words, words, "utf-8"},
		"says UTF-8 and is 1252":       {"text/plain; charset=utf-8", latin, words, "windows-1252"},
		"says 1252 and is UTF-8":       {"text/plain; charset=windows-1252", words, words, "utf-8"},
		"says what does not exist":     {"text/plain; charset=klingon", words, words, "utf-8"},
		"says GBK":                     {"text/html; charset=gb2312", encoded(t, simplifiedchinese.GBK, "简体中文网页"), "简体中文网页", "gbk"},
		"ISO-2022-JP":                  {"text/html; charset=iso-2022-jp", encoded(t, japanese.ISO2022JP, japaneseWords), japaneseWords, "iso-2022-jp"},
		"a broken header":              {"text/html; charset=;;;=", words, words, "utf-8"},
		"an encoding that was attacks": {"text/plain; charset=iso-2022-kr", "plain", "plain", "utf-8"},
	} {
		p := Page{Body: []byte(c.body), contentType: c.contentType}
		if got, enc := p.Text(1 << 20); got != c.want || enc != c.enc {
			t.Errorf("%s: got %q in %s, want %q in %s", name, got, enc, c.want, c.enc)
		}
	}
	p := Page{Body: []byte(words)[:len("Größe: 12 €")-1], Incomplete: "cut"}
	if got, enc := p.Text(1 << 20); enc != "utf-8" || !strings.HasPrefix(got, "Größe: 12 ") {
		t.Errorf("a text that was cut in a character: %q in %s", got, enc)
	}
}

func TestMIME(t *testing.T) {
	for in, want := range map[string]struct {
		mime       string
		html, json bool
	}{
		"text/html; charset=x":             {"text/html", true, false},
		"TEXT/HTML;charset=;;":             {"text/html", true, false},
		"application/vnd.api+json":         {"application/vnd.api+json", false, true},
		"application/json":                 {"application/json", false, true},
		"":                                 {"text/html", true, false},
		"application/octet-stream":         {"text/html", true, false},
		"nonsense":                         {"text/html", true, false},
		"text/plain":                       {"text/plain", false, false},
		"text/" + strings.Repeat("x", 999): {"text/html", true, false},
	} {
		p := Page{Body: []byte("<!doctype html><p>x"), contentType: in}
		if p.MIME() != want.mime || p.IsHTML() != want.html || p.IsJSON() != want.json {
			t.Errorf("%q: got %s, %v, %v", in, p.MIME(), p.IsHTML(), p.IsJSON())
		}
	}
}

func TestRaw(t *testing.T) {
	for in, want := range map[string]string{
		"https://github.com/a/b/blob/main/x/y.go":         "https://raw.githubusercontent.com/a/b/main/x/y.go",
		"https://github.com/a/b/blob/main/x%20y.go?raw=1": "https://raw.githubusercontent.com/a/b/main/x%20y.go",
		"http://GitHub.com/a/b/blob/main/README.md":       "https://raw.githubusercontent.com/a/b/main/README.md",
		"https://github.com/a/b/blob/main":                "https://github.com/a/b/blob/main",
		"https://github.com/a/b/tree/main/x":              "https://github.com/a/b/tree/main/x",
		"https://github.com/a/b":                          "https://github.com/a/b",
		"https://evil-github.com/a/b/blob/main/x":         "https://evil-github.com/a/b/blob/main/x",
		"https://github.com.evil.com/a/b/blob/main/x":     "https://github.com.evil.com/a/b/blob/main/x",
		"https://github.com:8443/a/b/blob/main/x":         "https://github.com:8443/a/b/blob/main/x",
	} {
		target, err := Parse(in)
		if err != nil || target.Raw().String() != want {
			t.Errorf("%s: got %s, %v, want %s", in, target.Raw(), err, want)
		}
	}
}

func TestCache(t *testing.T) {
	serial.Test(t)
	now := time.Now()
	hits := 0
	_, c := siteWith(t, Options{Now: func() time.Time { return now }}, func(w http.ResponseWriter, r *http.Request) {
		hits++
		switch r.URL.Path {
		case "/no-store":
			w.Header().Set("Cache-Control", "private, no-store")
		case "/error":
			w.WriteHeader(500)
		case "/big":
			io.WriteString(w, strings.Repeat("x", 4<<20-1))
		case "/huge":
			io.WriteString(w, strings.Repeat("x", 9<<20))
		}
		io.WriteString(w, "x")
	})
	get := func(url string, f Format) bool {
		before := hits
		target, err := Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		page, err := c.Fetch(t.Context(), target, f)
		return err == nil && page.Cached && hits == before
	}
	steps := []struct {
		url    string
		format Format
		wait   time.Duration
		cached bool
	}{
		{"https://example.com/a", Auto, 0, false}, {"https://example.com/a#part", Auto, 14 * time.Minute, true}, {"https://example.com/a", HTML, 0, false},
		{"https://example.com/a", Auto, 2 * time.Minute, false}, {"https://example.com/a", Auto, 0, true},
		{"https://example.com/no-store", Auto, 0, false}, {"https://example.com/no-store", Auto, 0, false}, {"https://example.com/error", Auto, 0, false}, {"https://example.com/error", Auto, 0, false},
		{"https://example.com/big", Auto, 0, false}, {"https://example.com/big?2", Auto, 0, false}, {"https://example.com/big", Auto, 0, true},
		{"https://example.com/huge", Auto, 0, false}, {"https://example.com/huge", Auto, 0, false}, {"https://example.com/a", Auto, 0, true},
		{"https://example.com/big?3", Auto, 0, false}, {"https://example.com/big?4", Auto, 0, false}, {"https://example.com/big?5", Auto, 0, false}, {"https://example.com/big?6", Auto, 0, false}, {"https://example.com/a", Auto, 0, false}, // the oldest made room
	}
	for i, s := range steps {
		now = now.Add(s.wait)
		if got := get(s.url, s.format); got != s.cached {
			t.Errorf("step %d, %s: from the cache: %v", i, s.url, got)
		}
	}
	for i := range 100 {
		get("https://example.com/n?"+strings.Repeat("x", i), Auto)
	}
	if len(c.cache.items) != cachePages {
		t.Errorf("%d pages are kept", len(c.cache.items))
	}
}

func TestIndentJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1,2.5e3,{}],"b":"x,{\"\\","c":null}`: "{\n  \"a\": [\n    1,\n    2.5e3,\n    {}\n  ],\n  \"b\": \"x,{\\\"\\\\\",\n  \"c\": null\n}",
		` [ ] `:    "[]",
		`"x"`:      `"x"`,
		`[true ]`:  "[\n  true\n]",
		`{"a":1}x`: `{"a":1}x`,
		``:         ``,
	} {
		if got, cut := IndentJSON([]byte(in), 1000); got != want || cut {
			t.Errorf("%s: got %q, %v", in, got, cut)
		}
	}
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	if got, cut := IndentJSON([]byte(deep), 5000); !cut || len(got) != 5000 {
		t.Errorf("deep nesting: %d bytes, %v", len(got), cut)
	}
	if got, cut := IndentJSON([]byte(`["`+strings.Repeat("é", 9000)+`"]`), 501); !cut || len(got) > 501 {
		t.Errorf("a long string: %d bytes, %v", len(got), cut)
	}
}
