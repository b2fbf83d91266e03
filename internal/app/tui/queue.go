package tui

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// queue is what was typed while a prompt ran. The agent's goroutine takes prompts from it before each turn of the
// model.
type queue struct {
	mu    sync.Mutex
	typed []string
}

// isCommand reports whether a text is a /command or a !command, which runs after the prompt.
func isCommand(typed string) bool {
	return strings.HasPrefix(typed, "/") || strings.HasPrefix(typed, "!")
}

func (q *queue) add(typed string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.typed = append(q.typed, typed)
}

func (q *queue) list() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.typed)
}

// last removes the last text and returns it.
func (q *queue) last() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.typed) == 0 {
		return "", false
	}
	end := len(q.typed) - 1
	typed := q.typed[end]
	q.typed = q.typed[:end]
	return typed, true
}

// prompts takes the texts before the first command.
func (q *queue) prompts() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.IndexFunc(q.typed, isCommand)
	if n < 0 {
		n = len(q.typed)
	}
	taken := slices.Clone(q.typed[:n])
	q.typed = q.typed[n:]
	return taken
}

// next takes what runs next: all prompts up to the first command as one, or that command; "": nothing is queued.
func (q *queue) next() string {
	if taken := q.prompts(); len(taken) > 0 {
		return strings.Join(taken, "\n\n")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.typed) == 0 {
		return ""
	}
	command := q.typed[0]
	q.typed = q.typed[1:]
	return command
}

// Typed takes the prompts that the user typed since the last turn of the model, and prints them as sent.
func (s *Screen) Typed() []string {
	taken := s.queue.prompts()
	for _, typed := range taken {
		s.send(func(s *Screen) {
			s.settleCalls()
			s.printPrompt(typed)
			s.o.History.add(typed)
		})
	}
	return taken
}

// printPrompt prints what the user typed.
func (s *Screen) printPrompt(typed string) {
	s.space()
	s.transcript.add(Item{Kind: ItemPrompt, Text: typed})
	start := opening(typed)
	s.print(promptLines(start, s.width())...)
	if n := utf8.RuneCountInString(typed[len(start):]); n > 0 {
		s.print(cell.Styled("  … "+humanize.Count(n, "more character")+inParens(s.keys.label("transcript")), cell.Dim))
	}
}
