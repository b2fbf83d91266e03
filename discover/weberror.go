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
		return plain("%s is not an MCP server (got content type %s)", at, orElse(m[1], "none"))
	}
	switch {
	case strings.Contains(text, "failed to decode response"):
		return plain("%s is not an MCP server (got JSON that is not a message)", at)
	case strings.Contains(text, "missing endpoint"):
		return plain("%s is not an MCP server with SSE transport. For streamable HTTP, use httpUrl", at)
	case strings.Contains(text, "request terminated without response"):
		return plain("%s closed the first request without a response", at)
	}
	last := text[strings.LastIndex(text, ": ")+1:]
	for code := 400; code < 600; code++ {
		if name := http.StatusText(code); name != "" && strings.TrimSpace(last) == name {
			return plain("%s returned %d %s%s", at, code, name, doubt(code))
		}
	}
	return err
}

func doubt(status int) string {
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone {
		return ". Is that the address of an MCP server?"
	}
	return ""
}
