package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
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

// maxLine is the longest line, and the longest arguments, that are read.
const maxLine = 64 << 20

// eachLine answers the lines of stdin one by one, in one line each. Every answer is out before the next line is read,
// so that a driver may wait for it. For an invalid line, answer gets the reason. what names the lines
// in errors.
func eachLine(ctx context.Context, env Env, what string, answer func(line []byte, number int, bad error) ([]byte,
	error)) error {
	lines := newLineReader(env.Stdin)
	for number := 1; ; number++ {
		line, err := lines.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return exitf(exitInterrupted, "interrupted")
		case err != nil && !errors.Is(err, errLongLine):
			return fmt.Errorf("read %s from stdin: %w", what, err)
		case err == nil && len(bytes.TrimSpace(line)) == 0:
			continue
		}
		text, err := answer(line, number, err)
		if err != nil {
			return err
		}
		if _, err := env.Stdout.Write(append(text, '\n')); err != nil {
			return fmt.Errorf("write the answer to line %d: %w", number, err)
		}
	}
}

var errLongLine = fmt.Errorf("longer than %d MB", maxLine>>20)

// lineReader reads long lines, and gives up waiting when the context ends. Its methods are called one at a time.
type lineReader struct {
	lines   chan readLine
	wanted  chan bool // whether to forget what is buffered
	pending bool      // a line was wanted by a next that gave up
	forgets bool      // of the lines that were typed until now
}

type readLine struct {
	text []byte
	err  error
}

func newLineReader(r io.Reader) *lineReader {
	l := &lineReader{lines: make(chan readLine), wanted: make(chan bool)}
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

// next reads one line, and no byte before it is asked for.
func (l *lineReader) next(ctx context.Context) ([]byte, error) {
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
func (l *lineReader) await(ctx context.Context) readLine {
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
		if len(line)+len(part) > maxLine+1 {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = b.ReadSlice('\n')
			}
			return nil, errLongLine
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

// pipePatience is how long a prompt waits for the first byte of an open pipe: programs that start adze often leave
// one open and never write to it.
const pipePatience = 500 * time.Millisecond

// maxPiped is how much piped text a prompt may bring.
const maxPiped = 8 << 20

// piped reads the text that was piped in, if any. wait says whether it is all there is to go by.
func piped(env Env, wait bool) (string, error) {
	if env.Terminal { // what is typed are answers
		return "", nil
	}
	if f, ok := env.Stdin.(*os.File); ok {
		info, err := f.Stat()
		if err != nil || isTerminal(f) || info.Mode()&fs.ModeCharDevice != 0 {
			return "", nil // closed, a user, or /dev/null
		}
	}
	type read struct {
		text []byte
		err  error
	}
	began, done := make(chan struct{}, 1), make(chan read, 1)
	go func() {
		first := make([]byte, 4096)
		n, err := io.ReadAtLeast(env.Stdin, first, 1)
		if err != nil {
			done <- read{first[:n], nil}
			return
		}
		began <- struct{}{}
		rest, err := io.ReadAll(io.LimitReader(env.Stdin, maxPiped+1-int64(n)))
		done <- read{append(first[:n], rest...), err}
	}()
	if !wait {
		select {
		case r := <-done:
			return checkPiped(r.text, r.err)
		case <-began:
		case <-time.After(pipePatience):
			return "", nil
		}
	}
	r := <-done
	return checkPiped(r.text, r.err)
}

func checkPiped(text []byte, err error) (string, error) {
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", exitf(exitInput, "read stdin: %v", err)
	case len(text) > maxPiped:
		return "", exitf(exitInput, "stdin is larger than %d MB\nSave it to a file and name the file in the prompt.",
			maxPiped>>20)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// wish is the user's prompt.
type wish struct {
	piped  string // text that came beside the prompt
	prompt string
}

// text is all of it: piped text first, then the prompt.
func (w wish) text() string {
	if w.piped == "" {
		return w.prompt
	}
	return fmt.Sprintf("%s\n\n%s", strings.TrimRight(w.piped, "\n"), w.prompt)
}

// promptText reads the text that the user sends. Piped text alone is the prompt.
func promptText(env Env, o *options, words []string) (wish, error) {
	if o.hasPrompt && len(words) > 0 {
		return wish{}, usagef("two prompts given: -p %q and %q\nQuote a prompt that contains spaces.", o.prompt,
			strings.Join(words, " "))
	}
	prompt := o.prompt
	if len(words) > 0 {
		prompt = strings.Join(words, " ")
	}
	given := o.hasPrompt || len(words) > 0
	before, err := piped(env, !given)
	if err != nil {
		return wish{}, err
	}
	switch {
	case strings.TrimSpace(before) == "" && strings.TrimSpace(prompt) == "" && given:
		return wish{}, exitf(exitInput, "the prompt is empty")
	case strings.TrimSpace(before) == "" && !given:
		return wish{}, usagef("no prompt given, and standard input and output aren't a terminal\nRun adze -p " +
			"\"explain this project\", or see adze --help.")
	case strings.TrimSpace(before) == "":
		return wish{prompt: prompt}, nil
	case !given:
		return wish{prompt: before}, nil
	}
	return wish{piped: before, prompt: prompt}, nil
}
