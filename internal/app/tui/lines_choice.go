package tui

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// choice lets the user choose by a number, and continues with that.
func (l *Lines) choice(ctx context.Context, interrupts <-chan os.Signal, c Choice) (quit bool) {
	l.say("question", c.Title)
	for _, d := range c.Detail {
		fmt.Fprintln(l.out, "  "+visible(d))
	}
	for i, o := range c.Options {
		line := fmt.Sprintf("%d %s, %s", i+1, visible(o.Text), visible(o.About))
		fmt.Fprintln(l.out, strings.TrimSuffix(line, ", "))
	}
	read := ""
	if c.View != "" {
		read = "r reads more, "
	}
	for {
		fmt.Fprintf(l.out, "%s0 cancels. Number: ", read)
		var line string
		var ok bool
		select {
		case line, ok = <-l.lines:
		case <-interrupts:
		case <-ctx.Done():
		}
		if !ok {
			return false
		}
		line = strings.TrimSpace(line)
		n, err := strconv.Atoi(line)
		switch {
		case line == "r" && c.View != "":
			l.say("detail", c.View)
		case err != nil || n < 0 || n > len(c.Options):
			l.say("note", fmt.Sprintf("type a number from 0 to %d", len(c.Options)))
		case n == 0 || c.Options[n-1].Run == nil:
			l.say("note", "cancelled")
			return false
		default:
			return l.work(ctx, interrupts, c.Options[n-1].Run)
		}
	}
}

// follow does what a reply asks for after its text was printed.
func (l *Lines) follow(ctx context.Context, interrupts <-chan os.Signal, r Reply) (quit bool) {
	if r.Edit != "" {
		l.say("note", "the prompt was: "+r.Edit)
	}
	if r.Next != nil {
		l.host = r.Next.Host
		l.Earlier(r.Next.Earlier)
	}
	if r.Choice != nil {
		return l.choice(ctx, interrupts, *r.Choice)
	}
	return r.Quit
}

// maxSpoken is how many items of an earlier conversation are read out.
const maxSpoken = 2

// Earlier prints the end of an earlier conversation.
func (l *Lines) Earlier(items []Item) {
	labels := map[ItemKind]string{ItemPrompt: "you", ItemAnswer: "adze"}
	said := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return labels[i.Kind] == "" })
	first := max(0, len(said)-maxSpoken)
	if n := turnsOf(said[:first]); n > 0 {
		l.say("note", humanize.Count(n, "earlier turn"))
	}
	for _, i := range said[first:] {
		l.say(labels[i.Kind], i.Text)
	}
}
