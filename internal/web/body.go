package web

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// read takes the body, decompressed, up to a limit. What is counted are the decompressed bytes, so a bomb is only ever
// unpacked up to the limit.
func (p *Page) read(ctx context.Context, resp *http.Response, limit int64) error {
	body, err := decoded(resp)
	if err != nil {
		return err
	}
	data, err := readUpTo(body, limit+1)
	if err == nil && int64(len(data)) > limit {
		data = data[:limit]
		p.Incomplete = fmt.Sprintf("truncated: it is longer than %s", megabytes(limit))
	}
	var late *TimeoutError
	switch {
	case len(data) == 0 || p.Incomplete != "":
	case errors.As(context.Cause(ctx), &late): // also without an error: the end of a connection that we gave up may look like the page's
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

// usual is what most bodies fit into.
const usual = 512 << 10

// readUpTo reads up to limit bytes. What is longer than usual gets the room for all at once: a buffer that doubles would
// leave as much behind as it holds. Memory that is not written to costs nothing.
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

// brokenOff reports whether an error is of the far end, which may leave a usable beginning.
func brokenOff(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zlib.ErrChecksum) ||
		errors.As(err, &corrupt) || strings.Contains(err.Error(), "connection reset") || strings.Contains(err.Error(), "malformed chunked")
}

func megabytes(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// decoded undoes the one compression that was asked for, and the other one that the standard library knows.
func decoded(resp *http.Response) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ",")))
	body := bufio.NewReader(resp.Body)
	if _, err := body.Peek(1); err == io.EOF {
		return body, nil // an empty body is not compressed, whatever the header says
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
	return nil, fmt.Errorf("the server uses unsupported compression (%s). Another program, such as curl --compressed, may support it", shown(encoding))
}
