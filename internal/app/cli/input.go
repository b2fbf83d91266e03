package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/tty"
)

// eachLine answers the lines of stdin one by one, in one line each. Every answer is out before the next line is read,
// so that a driver may wait for it. For an invalid line, answer gets the reason. what names the lines
// in errors.
func eachLine(ctx context.Context, env Env, what string, answer func(line []byte, number int, bad error) ([]byte,
	error)) error {
	lines := tty.NewLines(env.Stdin)
	for number := 1; ; number++ {
		line, err := lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return exitf(exitInterrupted, "interrupted")
		case err != nil && !errors.Is(err, tty.ErrLongLine):
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
		if err != nil || tty.IsTerminal(f) || info.Mode()&fs.ModeCharDevice != 0 {
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
