package adze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/tty"
	"github.com/adze-dev/adze/tool"
)

// answers has the reader of the process's terminal: agents take turns. It is a fact about the process, as helper is.
var answers = sync.OnceValue(func() chan reader {
	turn := make(chan reader, 1)
	turn <- reader{}
	return turn
})

// reader reads what the user types.
type reader struct {
	from *os.File
	tty.Answers
}

// OnTerminal asks on the terminal: it is for [Ask]. It prints the [Question] to stderr; y or yes, typed after that,
// approves the call, and anything else denies it. Without a terminal, calls are denied.
func OnTerminal(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	if !tty.IsTerminal(os.Stdin) || !tty.IsTerminal(os.Stderr) {
		return tool.Decision{}, tool.Unapproved(r, why, "there is no terminal")
	}
	select {
	case in := <-answers():
		defer func() { answers() <- in }()
		if in.from != os.Stdin {
			in = reader{os.Stdin, tty.NewAnswers(os.Stdin)}
		}
		typed, err := tty.Prompt(ctx, os.Stderr, in, "\n"+Question(r, why)+"\nAllow? [y/n] ")
		if err != nil {
			fmt.Fprintln(os.Stderr, "(no answer)")
			return tool.Decision{}, fmt.Errorf("read the answer: %w", err)
		}
		if approval.IsYes(typed) {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		return tool.Decision{Verdict: tool.Deny}, nil
	case <-ctx.Done():
		return tool.Decision{}, ctx.Err()
	}
}

// Print writes the events of a run as text: the model's answer as it comes, a line for each call that is done, and
// notices. It returns the error that ended the run.
func Print(w io.Writer, events iter.Seq2[Event, error]) error {
	end := "" // of the line that was written last
	for event, err := range events {
		text := ""
		switch e := event.(type) {
		case Text:
			text = tool.Visible(string(e))
		case Notice:
			text = end + tool.Visible(string(e)) + "\n"
		case Call:
			if e.Stage == tool.Done {
				text = fmt.Sprintf("%s%s: %s\n", end, e.Outcome.Name, e.Outcome.Status)
			}
		case End:
			text = end
		}
		if _, failed := io.WriteString(w, text); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
		switch {
		case strings.HasSuffix(text, "\n"):
			end = ""
		case text != "":
			end = "\n"
		}
	}
	return nil
}
