package web

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/web/markdown"
)

// Page is a fetched page.
type Page struct {
	Asked string // the requested URL
	// the target of a redirect to another host: then nothing was fetched from there, and all below is empty
	URL      string
	Redirect string // where it leads to, on another host: then nothing was fetched from there, and all below is empty
	Status   int
	Body     []byte
	Size     int // of the body, even after it was released
	// Note describes how the page was fetched, if that was unusual; usually "".
	Note string
	// Incomplete is why the body is only the beginning of the page; "" if it is complete.
	Incomplete string
	Cached     bool // it was fetched a while ago

	contentType string
	noStore     bool
}

// MIME returns the declared type, without parameters, or the type of the content if none is declared.
func (p *Page) MIME() string {
	if t := p.declared(); t != "" {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(p.Body), ";")
	return t
}

// declared returns the media type of the header in lower case.
func (p *Page) declared() string {
	t, _, err := mime.ParseMediaType(p.contentType)
	if err != nil { // ignore an invalid parameter
		t, _, _ = strings.Cut(p.contentType, ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	if t == "application/octet-stream" || !strings.Contains(t, "/") || len(t) > 127 ||
		strings.ContainsAny(t, " \t\r\n") {
		return ""
	}
	return t
}

// IsHTML reports whether the body is HTML.
func (p *Page) IsHTML() bool {
	switch t := p.declared(); t {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(http.DetectContentType(p.Body), "text/html")
	}
	return false
}

// IsJSON reports whether the body is declared as JSON.
func (p *Page) IsJSON() bool {
	t := p.declared()
	return t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json")
}

// Name returns a file name for the body.
func (p *Page) Name() string {
	t, err := Parse(p.URL)
	if err != nil {
		return "download"
	}
	name := path.Base(t.Path())
	if name == "/" || name == "." {
		return t.host.name
	}
	return name
}

// excerpt returns the beginning of the text, in one line. For HTML it is the visible text.
func (p *Page) excerpt(ctx context.Context) string {
	if strings.ContainsRune(string(p.Body[:min(len(p.Body), 512)]), 0) {
		return ""
	}
	short := *p
	short.Body = p.Body[:min(len(p.Body), 256<<10)]
	text, _ := short.Text(len(short.Body))
	if p.IsHTML() {
		if doc, err := markdown.Convert(ctx, text, markdown.Options{Limit: 4000, Plain: true}); err == nil {
			text = cmp.Or(doc.Text, doc.Title)
		}
	}
	text = strings.ToValidUTF8(text[:min(len(text), 4000)], "")
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 500 {
		text = string(runes[:500]) + "…"
	}
	return text
}

// read reads the body, decompressed, up to a limit. The limit applies to decompressed bytes, so a zip bomb is only
// unpacked up to the limit.
func (p *Page) read(ctx context.Context, resp *http.Response, limit int64) error {
	body, err := decoded(resp)
	if err != nil {
		return err
	}
	data, err := readUpTo(body, limit+1)
	if err == nil && int64(len(data)) > limit {
		data = data[:limit]
		p.Incomplete = fmt.Sprintf("truncated: it is longer than %s", humanize.Bytes(limit))
	}
	var late *TimeoutError
	switch {
	case len(data) == 0 || p.Incomplete != "":
	// also without an error: a connection that was closed here may look complete
	case errors.As(context.Cause(ctx), &late):
		p.Incomplete = fmt.Sprintf("truncated: the server did not finish within %s", late.After)
		err = nil
	case err != nil && brokenOff(err):
		p.Incomplete = fmt.Sprintf("the connection was closed after %d bytes", len(data))
		err = nil
	}
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	p.Body, p.Size = data, len(data)
	return nil
}

// usual is the initial buffer size, enough for most bodies.
const usual = 512 << 10

// readUpTo reads up to limit bytes. For longer bodies it allocates the limit at once: a buffer that doubles would leave
// as much garbage as it has data, and unused memory costs nothing.
func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	data := make([]byte, 0, min(usual, limit))
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return bytes.Clone(data), nil
		case err != nil || int64(len(data)) == limit:
			return data, err
		case len(data) == cap(data):
			data = append(make([]byte, 0, limit), data...)
		}
	}
}

// brokenOff reports whether an error is from the other side, so that the beginning may be usable.
func brokenOff(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, zlib.ErrChecksum) ||
		errors.As(err, &corrupt) || strings.Contains(err.Error(), "connection reset") ||
		strings.Contains(err.Error(), "malformed chunked")
}

// decoded decompresses a response, in the requested compression or the other one in the standard library.
func decoded(resp *http.Response) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ",")))
	body := bufio.NewReader(resp.Body)
	if _, err := body.Peek(1); err == io.EOF {
		return body, nil // an empty body isn't compressed, whatever the header says
	}
	switch encoding {
	case "", "identity", "utf-8", "none":
		return body, nil
	case "gzip", "x-gzip":
		if head, _ := body.Peek(2); string(head) != "\x1f\x8b" {
			return body, nil // a wrong header
		}
		r, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("decompress the body: %w", err)
		}
		return r, nil
	case "deflate":
		if head, _ := body.Peek(2); len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8+int(head[1]))%31 == 0 {
			r, err := zlib.NewReader(body)
			if err != nil {
				return nil, fmt.Errorf("decompress the body: %w", err)
			}
			return r, nil
		}
		return flate.NewReader(body), nil
	}
	return nil, fmt.Errorf("the server uses unsupported compression (%s). Another program, such as curl "+
		"--compressed, may support it", shown(encoding))
}

// IndentJSON formats JSON in lines, up to limit bytes; cut reports whether there is more. Invalid JSON is returned
// unchanged, up to the limit too. It takes one pass and stops at the limit: deep nesting makes indentation grow without
// bound.
func IndentJSON(src []byte, limit int) (out string, cut bool) {
	if !json.Valid(src) {
		return strings.ToValidUTF8(string(wholeRunes(src[:min(len(src), limit)])), "\uFFFD"), len(src) > limit
	}
	var b strings.Builder
	depth := 0
	line := func() {
		b.WriteByte('\n')
		for range min(depth, 40) {
			b.WriteString("  ")
		}
	}
	for i := 0; i < len(src); i++ {
		if b.Len() > limit {
			return strings.ToValidUTF8(b.String()[:limit], ""), true
		}
		switch c := src[i]; c {
		case ' ', '\t', '\n', '\r':
		case '"':
			end := stringEnd(src, i)
			b.Write(src[i:min(end, i+limit+1)])
			i = end - 1
		case '{', '[':
			b.WriteByte(c)
			if next := skipSpace(src, i+1); src[next] == '}' || src[next] == ']' {
				b.WriteByte(src[next])
				i = next
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			b.WriteByte(c)
		case ',':
			b.WriteByte(c)
			line()
		case ':':
			b.WriteString(": ")
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() > limit {
		return strings.ToValidUTF8(b.String()[:limit], ""), true
	}
	return b.String(), false
}

// stringEnd returns the index after the string that begins at i, in valid JSON.
func stringEnd(src []byte, i int) int {
	for i++; src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipSpace(src []byte, i int) int {
	for src[i] == ' ' || src[i] == '\t' || src[i] == '\n' || src[i] == '\r' {
		i++
	}
	return i
}
