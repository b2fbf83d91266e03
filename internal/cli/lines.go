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
// so that a driver may wait for it. For an invalid line, answer gets the reason. what names the lines
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
