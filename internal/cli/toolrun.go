package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/adze-dev/adze/tool"
)

// maxLine is the longest line of calls, and the longest arguments, that are read.
const maxLine = 64 << 20

// toolRun answers calls line by line. Every answer is out before the next line is read, so that a driver may wait for
// it.
func toolRun(ctx context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "tool run < calls.jsonl"); err != nil {
		return err
	}
	s, err := openSession(env, o, manyCalls)
	if err != nil {
		return err
	}
	defer s.close(env)
	s.connect(env, "")
	lines := newLineReader(env.Stdin)
	for number := 1; ; number++ {
		line, err := lines.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return exitf(exitInterrupted, "interrupted")
		case err != nil && !errors.Is(err, errLongLine):
			return fmt.Errorf("read calls from stdin: %w", err)
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		answer, err := s.answer(ctx, env, line, number, err)
		if err != nil {
			return err
		}
		if _, err := env.Stdout.Write(append(answer, '\n')); err != nil {
			return fmt.Errorf("write a result: %w", err)
		}
	}
}

type callLine struct {
	ID   json.RawMessage `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// answer runs the call of one line.
func (s *session) answer(ctx context.Context, env Env, line []byte, number int, bad error) ([]byte, error) {
	var c callLine
	if bad == nil {
		bad = json.Unmarshal(line, &c)
	}
	id, key := c.ID, "id "+string(c.ID)
	if len(id) == 0 || string(id) == "null" || bad != nil {
		id, key = json.RawMessage(fmt.Sprint(number)), fmt.Sprint("line ", number)
	}
	if bad == nil && c.Name == "" {
		bad = errors.New(`it has no "name"`)
	}
	if bad != nil {
		err := fmt.Errorf(`line %d is not a call: %v; a call is one line {"id":…,"name":"…","args":{…}}`, number, bad)
		return failedLine(id, c.Name, err)
	}
	s.settleFor(ctx, env, c.Name)
	batch := s.exec.Batch(ctx)
	batch.Add(tool.Call{ID: key, Name: c.Name, Args: c.Args})
	return batch.Wait()[0].JSON(id)
}

func failedLine(id json.RawMessage, name string, err error) ([]byte, error) {
	o := tool.Outcome{
		Name: name, Status: tool.StatusError,
		Result: tool.TextResult(err.Error()),
		Error:  &tool.Failure{Type: tool.InvalidParams, Message: err.Error()},
	}
	return o.JSON(id)
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
