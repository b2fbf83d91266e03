package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line, and the longest arguments, that are read.
const maxLine = 64 << 20

// eachLine answers the lines of stdin one by one, in one line each. Every answer is out before the next line is read,
// so that a driver may wait for it. Of a line that could not be taken as it is, answer is told why. what names the lines
// in errors.
func eachLine(ctx context.Context, env Env, what string, answer func(line []byte, number int, bad error) ([]byte, error)) error {
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

var errLongLine = fmt.Errorf("it is longer than %d MB", maxLine>>20)

// lineReader reads long lines, and gives up waiting when the context ends.
type lineReader struct {
	lines  chan readLine
	wanted chan struct{}
}

type readLine struct {
	text []byte
	err  error
}

func newLineReader(r io.Reader) *lineReader {
	l := &lineReader{lines: make(chan readLine), wanted: make(chan struct{})}
	go func() {
		b := bufio.NewReaderSize(r, 64<<10)
		for range l.wanted {
			text, err := readOne(b)
			l.lines <- readLine{text, err}
		}
	}()
	return l
}

// next reads one line, and no byte before it is asked for.
func (l *lineReader) next(ctx context.Context) ([]byte, error) {
	select {
	case l.wanted <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case line := <-l.lines:
		return line.text, line.err
	case <-ctx.Done():
		return nil, ctx.Err()
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
