package cli

import (
	"context"
	"io"
	"os"
)

// answers reads what the user types at prompts.
type answers interface {
	// discard drops what was typed before the prompt that comes next: it was no answer to that one.
	discard() error
	// next reads a line, without its end.
	next(ctx context.Context) ([]byte, error)
}

// newAnswers reads from a terminal, or from a program that plays one: its lines are meant for the prompts to come.
func newAnswers(r io.Reader) answers {
	if f, ok := r.(*os.File); ok && isTerminal(f) {
		return newTTY(f)
	}
	return script{newLineReader(r)}
}

// script is a sequence of answers that were written beforehand.
type script struct{ *lineReader }

func (script) discard() error { return nil }
