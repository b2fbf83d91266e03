package tui

import (
	"context"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// paste inserts pasted text. The paths of images, which a terminal pastes when files are dropped on it, become attachments.
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

// dropped is the labels of images, if a text is their paths and nothing else; otherwise why it is text, if that is of interest.
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

// droppedPaths are the absolute paths that a text consists of: quoted, with escaped spaces, as file:// addresses, or as they
// are. It is nil for any other text.
func droppedPaths(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxDropped {
		return nil
	}
	if p, ok := absolutePath(text); ok && !strings.ContainsAny(text, "\n'\"\\") && strings.Contains(text, " ") {
		if words := pathWords(text); len(words) == 1 || !allAbsolute(words) { // a single path with spaces in it
			return []string{p}
		}
	}
	words := pathWords(text)
	if len(words) == 0 || !allAbsolute(words) {
		return nil
	}
	var out []string
	for _, w := range words {
		p, _ := absolutePath(w)
		out = append(out, p)
	}
	return out
}

func allAbsolute(words []string) bool {
	for _, w := range words {
		if _, ok := absolutePath(w); !ok {
			return false
		}
	}
	return true
}

// absolutePath is the path that a word is, or that a file:// address names.
func absolutePath(word string) (string, bool) {
	if strings.HasPrefix(word, "file://") {
		u, err := url.Parse(word)
		if err != nil || u.Host != "" && u.Host != "localhost" {
			return "", false
		}
		word = filepath.FromSlash(u.Path)
		if runtime.GOOS == "windows" {
			word = strings.TrimPrefix(word, `\`)
		}
	}
	return word, filepath.IsAbs(word) && !strings.Contains(word, "\x00")
}

// pathWords splits a text at spaces, as a shell does: quotes and backslashes keep spaces.
func pathWords(text string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'' && runtime.GOOS != "windows":
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\n' || r == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
