package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// lines prints the warnings and errors of a worker in the format of command messages: what happened to which task, and the
// first line of the cause. Attributes in groups are omitted.
type lines struct {
	w        io.Writer
	terminal bool // the line may have a progress bar
	attrs    []slog.Attr
}

// Names of attributes.
const (
	runAttr   = "run"
	taskAttr  = "task"
	errorAttr = "error"
)

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	values := map[string]string{}
	keep := func(a slog.Attr) bool {
		values[a.Key] = a.Value.String()
		return true
	}
	for _, a := range l.attrs {
		keep(a)
	}
	r.Attrs(keep)
	var b strings.Builder
	if l.terminal {
		b.WriteString("\r\x1b[K")
	}
	b.WriteString("adze: ")
	if values[taskAttr] != "" {
		fmt.Fprintf(&b, "%s/%s: ", values[runAttr], values[taskAttr])
	}
	b.WriteString(r.Message + about(values[errorAttr]) + "\n")
	_, err := io.WriteString(l.w, b.String())
	return err
}

func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lines{w: l.w, terminal: l.terminal, attrs: append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)}
}

func (l *lines) WithGroup(string) slog.Handler { return l }
