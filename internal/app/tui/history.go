package tui

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/keys"
)

// History is the prompts of earlier sessions and of this one.
type History struct {
	Prompts []string          // oldest first
	Save    func(text string) // called for each new prompt; may be nil

}

const (
	// maxPrompts is how many earlier prompts are kept in memory.
	maxPrompts = 1000
	// maxPromptFile is the size at which the file of prompts is cut to those.
	maxPromptFile = 4 << 20
)

// OpenHistory reads the prompts that the user typed in earlier conversations from a file, and adds new ones to it: a
// line of JSON each, for the user's eyes only.
func OpenHistory(path string) History {
	h := History{Prompts: readPrompts(path)}
	h.Save = func(text string) { _ = appendPrompt(path, text) } // the conversation is more important
	if info, err := os.Stat(path); err == nil && info.Size() > maxPromptFile {
		_ = rewritePrompts(path, h.Prompts)
	}
	return h
}

func readPrompts(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			out = append(out, text)
		}
	}
	return out[max(0, len(out)-maxPrompts):]
}

func appendPrompt(path, text string) error {
	if len(text) > 64<<10 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

func rewritePrompts(path string, prompts []string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	for _, p := range prompts {
		if err := appendPrompt(path, p); err != nil {
			return err
		}
	}
	return nil
}

// add adds a prompt, unless it repeats the last one.
func (h *History) add(text string) {
	if n := len(h.Prompts); n > 0 && h.Prompts[n-1] == text {
		return
	}
	h.Prompts = append(h.Prompts, text)
	if h.Save != nil {
		h.Save(text)
	}
}

// browse is a walk through the history. The zero value is not in it.
type browse struct {
	back  int    // how far, from the end; 0: not in it
	draft string // what was typed before
}

// earlier is the prompt before.
func (b *browse) earlier(h History, typed string) (string, bool) {
	if b.back >= len(h.Prompts) {
		return "", false
	}
	if b.back == 0 {
		b.draft = typed
	}
	b.back++
	return h.Prompts[len(h.Prompts)-b.back], true
}

// later is the prompt after, and at the end what was typed before.
func (b *browse) later(h History) (string, bool) {
	if b.back == 0 {
		return "", false
	}
	b.back--
	if b.back == 0 {
		return b.draft, true
	}
	return h.Prompts[len(h.Prompts)-b.back], true
}

// leave ends the walk: the text was changed.
func (b *browse) leave() { *b = browse{} }

// lookup is a search in the history, from the newest prompt back. The zero value is not active.
type lookup struct {
	active bool
	query  string
	back   int // the prompt that was found, from the end; 0: none
	draft  string
}

// searchHistory is Ctrl+R: it starts a search, or goes to an earlier prompt that matches.
func (s *Screen) searchHistory() {
	if !s.lookup.active {
		s.lookup = lookup{active: true, draft: s.editor.Text()}
		return
	}
	s.lookup.find(s, s.lookup.back+1)
}

// find shows the first prompt with the query in it, from one on.
func (l *lookup) find(s *Screen, from int) {
	all := s.o.History.Prompts
	for back := max(1, from); back <= len(all) && l.query != ""; back++ {
		if text := all[len(all)-back]; strings.Contains(strings.ToLower(text), strings.ToLower(l.query)) {
			l.back = back
			s.editor.Set(text)
			return
		}
	}
	if from <= 1 {
		l.back = 0
		s.editor.Set(l.draft)
	}
}

// key handles a key of the search. Keys that don't belong to it end it, and keep what was found.
func (l *lookup) key(s *Screen, k keys.Key) bool {
	a, _ := s.keys.find(k)
	switch name := k.String(); {
	case a.name == searchAction:
		return false
	case name == "esc" || name == "ctrl+c" || name == "ctrl+g":
		s.editor.Set(l.draft)
		*l = lookup{}
	case name == "backspace":
		_, n := utf8.DecodeLastRuneInString(l.query)
		l.query = l.query[:len(l.query)-n]
		l.find(s, 1)
	case k.Text != "":
		l.query += k.Text
		l.find(s, 1)
	default:
		*l = lookup{}
		return name == "enter" && s.editor.Empty()
	}
	return true
}
