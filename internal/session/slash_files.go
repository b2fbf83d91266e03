package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/atomicfile"
	"github.com/adze-dev/adze/internal/edit"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/journal/export"
	"github.com/adze-dev/adze/tool"
)

// maxDiff is how many characters /diff shows.
const maxDiff = 200_000

// Diff is what the calls of this session changed on disk and is different now, as a unified diff; "": nothing is.
func (s *Session) Diff() (string, error) {
	u, err := s.Undo(Selection{All: true, Force: true})
	var nothing *NothingError
	var unknown *journal.UnknownError
	switch {
	case errors.As(err, &nothing), errors.As(err, &unknown):
		return "", nil
	case err != nil:
		return "", err
	}
	var b strings.Builder
	for _, step := range u.Todo() {
		now, before, err := u.Contents(step)
		name := shortPath(step.Path, s.Folder.Path)
		switch {
		case err != nil:
			fmt.Fprintf(&b, "%s: %v\n", name, err)
		case bytes.IndexByte(now, 0) >= 0 || bytes.IndexByte(before, 0) >= 0:
			fmt.Fprintf(&b, "%s: binary, %d bytes before and %d now\n", name, len(before), len(now))
		case bytes.Equal(now, before):
			fmt.Fprintf(&b, "%s: mode %v before and %v now\n", name, step.To.Mode, step.Now.Mode)
		default:
			old, current := "a/"+name, "b/"+name
			if step.To.Is == "" {
				old = "/dev/null"
			}
			if step.Now.Is == "" {
				current = "/dev/null"
			}
			b.WriteString(edit.Compare(string(before), string(now)).Unified(old, current))
		}
		if b.Len() > maxDiff {
			return b.String()[:maxDiff] + "\n… truncated\n", nil
		}
	}
	for _, l := range u.Left {
		fmt.Fprintf(&b, "%s: %s\n", shortPath(l.Path, s.Folder.Path), tool.Visible(l.Why))
	}
	return b.String(), nil
}

func slashDiff(_ context.Context, s *Session, _ string) (Expansion, error) {
	diff, err := s.Diff()
	switch {
	case err != nil:
		return Expansion{}, errorf(ErrPrompt, "/diff: %v", err)
	case diff == "":
		return Expansion{Print: "No files changed in this session."}, nil
	}
	return Expansion{Print: tool.Fence("diff", diff), Markdown: true}, nil
}

// ExportFormats are the formats of an export.
func ExportFormats() []string { return []string{"md", "html", "json"} }

// Export writes a recorded session in a format for people or programs; "" is Markdown.
func (f Folder) Export(w io.Writer, id, format string) error {
	all := f.Sessions()
	log, err := all.Entries(id)
	if err != nil {
		return SessionError(err)
	}
	defer log.Close()
	write := export.Markdown
	switch format {
	case "html":
		write = export.HTML
	case "json":
		write = export.JSON
	}
	out := bufio.NewWriter(w)
	if err := write(out, log.Read(1), all.Store()); err != nil {
		return SessionError(err)
	}
	return out.Flush()
}

// slashExport writes the session to a file that doesn't exist yet.
func slashExport(_ context.Context, s *Session, words string) (Expansion, error) {
	file, format := "", ""
	for _, w := range splitQuoted(words) {
		switch {
		case format == "" && slices.Contains(ExportFormats(), w):
			format = w
		case file == "":
			file = w
		default:
			return Expansion{}, errorf(ErrPrompt, "/export: unexpected %q\nUsage: /export [FILE] [%s]", w, strings.Join(ExportFormats(), "|"))
		}
	}
	if format == "" {
		format = "md"
		if ext := strings.TrimPrefix(filepath.Ext(file), "."); slices.Contains(ExportFormats(), ext) {
			format = ext
		}
	}
	if file == "" {
		file = "adze-" + s.ID[:8] + "." + format
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok && s.env.Home != "" {
		file = filepath.Join(s.env.Home, rest)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Folder.Path, file)
	}
	if s.recorder == nil {
		return Expansion{}, errorf(ErrSession, "/export: this session isn't recorded (general.chatRecording)")
	}
	s.recorder.sync()
	var b bytes.Buffer
	err := s.Folder.Export(&b, s.ID, format)
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) {
		return Expansion{Print: "Nothing to export: the conversation has not started."}, nil
	}
	if err == nil {
		_, err = atomicfile.Write(file, b.Bytes(), atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return Expansion{}, errorf(ErrPrompt, "/export: %v", err)
	}
	return Expansion{Print: "Exported the session to " + tool.Visible(file) + "."}, nil
}
