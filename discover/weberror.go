package discover

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// webError says in plain words what came back from an address that does not speak MCP. The SDK tells it as what it was
// doing, and has no types for it.
type webError struct {
	text  string
	cause error
}

func (e *webError) Error() string { return e.text }

func (e *webError) Unwrap() error { return e.cause }

var contentType = regexp.MustCompile(`unsupported content type "([^"]*)"`)

func (l *link) webError(err error) error {
	at, text := l.conf.Target(), err.Error()
	plain := func(format string, args ...any) error { return &webError{fmt.Sprintf(format, args...), err} }
	if m := contentType.FindStringSubmatch(text); m != nil {
		return plain("what answers at %s is no MCP server: it sent %s", at, orElse(m[1], "an answer without a type"))
	}
	switch {
	case strings.Contains(text, "failed to decode response"):
		return plain("what answers at %s is no MCP server: it sent JSON that is no message", at)
	case strings.Contains(text, "missing endpoint"):
		return plain("what answers at %s is no MCP server of the SSE kind; one of the newer kind, streamable HTTP, is configured with httpUrl", at)
	case strings.Contains(text, "request terminated without response"):
		return plain("what answers at %s ended the first request without an answer", at)
	}
	last := text[strings.LastIndex(text, ": ")+1:]
	for code := 400; code < 600; code++ {
		if name := http.StatusText(code); name != "" && strings.TrimSpace(last) == name {
			return plain("%s answered %d %s%s", at, code, name, doubt(code))
		}
	}
	return err
}

func doubt(status int) string {
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone {
		return "; is that the address of an MCP server?"
	}
	return ""
}
