// Package tty reads what the user types at prompts. A line typed before a prompt answers nothing.
package tty

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Answers reads what the user types at prompts.
type Answers interface {
	// Discard drops what was typed before the prompt that comes next: it was no answer to that one.
	Discard() error
	// Next reads a line, without its end.
	Next(ctx context.Context) ([]byte, error)
}

// NewAnswers reads from a terminal, or from a program that plays one: its lines are meant for the prompts to come.
func NewAnswers(r io.Reader) Answers {
	if f, ok := r.(*os.File); ok && IsTerminal(f) {
		return newTerminal(f)
	}
	return script{NewLines(r)}
}

// Prompt prints a prompt and reads a line typed after it: a line typed earlier, or pasted with the answer to another
// prompt, approves nothing.
func Prompt(ctx context.Context, w io.Writer, in Answers, text string) (string, error) {
	if err := in.Discard(); err != nil {
		return "", err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return "", err
	}
	line, err := in.Next(ctx)
	return strings.TrimSpace(string(line)), err
}

// script is a sequence of answers that were written beforehand.
type script struct{ *Lines }

func (script) Discard() error { return nil }

// MaxLine is the longest line, and the longest arguments, that are read.
const MaxLine = 64 << 20

// ErrLongLine is the error of a longer line.
var ErrLongLine = fmt.Errorf("longer than %d MB", MaxLine>>20)

// Lines reads long lines, and gives up waiting when the context ends. Its methods are called one at a time.
type Lines struct {
	lines   chan readLine
	wanted  chan bool // whether to forget what is buffered
	pending bool      // a line was wanted by a next that gave up
	forgets bool      // of the lines that were typed until now
}

type readLine struct {
	text []byte
	err  error
}

func NewLines(r io.Reader) *Lines {
	l := &Lines{lines: make(chan readLine), wanted: make(chan bool)}
	go func() {
		b := bufio.NewReaderSize(r, 64<<10)
		for forget := range l.wanted {
			if forget {
				_, _ = b.Discard(b.Buffered()) // which it has
			}
			text, err := readOne(b)
			l.lines <- readLine{text, err}
		}
	}()
	return l
}

// Next reads one line, and no byte before it is asked for.
func (l *Lines) Next(ctx context.Context) ([]byte, error) {
	if l.pending && l.forgets {
		if line := l.await(ctx); line.err != nil {
			return nil, line.err
		}
	}
	if !l.pending {
		select {
		case l.wanted <- l.forgets:
			l.pending, l.forgets = true, false
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	line := l.await(ctx)
	return line.text, line.err
}

// await waits for the line that was asked for.
func (l *Lines) await(ctx context.Context) readLine {
	select {
	case line := <-l.lines:
		l.pending = false
		return line
	case <-ctx.Done():
		return readLine{err: ctx.Err()}
	}
}

// readOne reads to the next newline. Of a line that is too long it reads the rest and forgets it.
func readOne(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > MaxLine+1 {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = b.ReadSlice('\n')
			}
			return nil, ErrLongLine
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		}
		return line[:len(line)-1], nil
	}
}
