package cli

import (
	"strings"

	"github.com/adze-dev/adze/tool"
)

// ink colors text, if it is true.
type ink bool

func (i ink) dim(s string) string   { return i.wrap("2", s) }
func (i ink) red(s string) string   { return i.wrap("31", s) }
func (i ink) green(s string) string { return i.wrap("32", s) }
func (i ink) cyan(s string) string  { return i.wrap("36", s) }

func (i ink) wrap(code, s string) string {
	if !i || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// diff is a unified diff with colored lines. Everything else in it stays visible.
func (i ink) diff(text string) string {
	lines := strings.SplitAfter(tool.Visible(text), "\n")
	inHunk := false
	for n, line := range lines {
		body := strings.TrimSuffix(line, "\n")
		end := line[len(body):]
		switch {
		case strings.HasPrefix(body, "@@"):
			inHunk = true
			body = i.cyan(body)
		case !inHunk: // the names of the files
			body = i.dim(body)
		case strings.HasPrefix(body, "+"):
			body = i.green(body)
		case strings.HasPrefix(body, "-"):
			body = i.red(body)
		}
		lines[n] = body + end
	}
	return strings.Join(lines, "")
}
