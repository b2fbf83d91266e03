package tui

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// paste inserts pasted text. The paths of images, which a terminal pastes when files are dropped on it, become
// attachments.
func (s *Screen) paste(ctx context.Context, text string) {
	if labels, note := s.dropped(text); len(labels) > 0 {
		for i, l := range labels {
			if i > 0 {
				s.editor.Insert(" ")
			}
			s.editor.Attach(l)
		}
	} else {
		s.note = note
		s.editor.Paste(text)
	}
	s.typed(ctx)
}

// pasteClipboard reads the clipboard in the background and pastes what is in it: other programs may be slow to tell.
func (s *Screen) pasteClipboard(ctx context.Context) {
	host := s.o.Host
	s.spawn(func() {
		label, text, err := host.Clipboard(ctx)
		s.send(func(s *Screen) {
			s.urgent = true
			switch q := s.asked(); {
			case err != nil:
				s.note = err.Error()
			case label == "":
				s.pasted(ctx, strings.ReplaceAll(text, "\r\n", "\n"))
			case s.owner() <= searchKeys || q != nil && (q.typing || q.stage.letters()):
				s.note = "an image can be pasted into the prompt only"
			default:
				s.editor.Attach(label)
				s.typed(ctx)
			}
		})
	})
}

// dropped is the labels of images, if a text is their paths and nothing else; otherwise why it is text, if that is of
// interest.
func (s *Screen) dropped(text string) (labels []string, note string) {
	paths := droppedPaths(text)
	if len(paths) == 0 {
		return nil, ""
	}
	for _, p := range paths {
		label, why := s.o.Host.Attach(p)
		if label == "" {
			return nil, why
		}
		labels = append(labels, label)
	}
	return labels, ""
}

// maxDropped is the length of the longest text that is looked through for paths.
const maxDropped = 16 << 10

// droppedPaths are the absolute paths that a text consists of: quoted, with escaped spaces, as file:// addresses, or as
// they are. It is nil for any other text.
func droppedPaths(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxDropped {
		return nil
	}
	split := shellwords.Split(text, runtime.GOOS != "windows") // quotes and backslashes keep spaces
	if split.Open != 0 {
		return nil
	}
	words := split.Words
	relative := func(w string) bool { _, ok := absolutePath(w); return !ok }
	if slices.ContainsFunc(words, relative) && !strings.ContainsAny(text, "\n'\"\\") { // one path with spaces in it
		words = []string{text}
	}
	var out []string
	for _, w := range words {
		p, ok := absolutePath(w)
		if !ok {
			return nil
		}
		out = append(out, p)
	}
	return out
}

// absolutePath is the path that a word is, or that a file:// address names.
func absolutePath(word string) (string, bool) {
	if strings.HasPrefix(word, "file://") {
		word = names.FromURI(word)
	}
	return word, filepath.IsAbs(word) && !strings.Contains(word, "\x00")
}
