package tui

import (
	"fmt"
	"slices"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

// fact is a part of the status line. Where there is no space, those with the highest rank are omitted first.
type fact struct {
	line cell.Line // with the mark before it
	rank int
}

// Ranks of facts.
const (
	essential = iota // mode, model and context
	working          // of the prompt that runs
	pending          // what is not zero
	place            // the directory
)

// status is the last line: what is being asked of the user, or the state of the session.
func (s *Screen) status(width int) cell.Line {
	if s.testing {
		return cell.Line{{Text: " press keys to see what the terminal sends"}}.Right(cell.Line{{
			Text: "Esc", Style: cell.Cyan,
		}, {Text: " ends"}}, width)
	}
	if s.lookup.active {
		found := ""
		if s.lookup.back == 0 && s.lookup.query != "" {
			found = " (no match)"
		}
		return cell.Line{{Text: " search earlier prompts: ", Style: cell.Cyan}, {Text: cell.Clean(s.lookup.query)},
			{Text: found, Style: cell.Dim}}.Cut(width)
	}
	st := s.o.Host.Status()
	s.connecting = st.Connecting
	facts := s.facts(st)
	line := statusLine(st.Mode, facts)
	for line.Width() > width {
		i := highest(facts)
		if facts[i].rank == essential {
			break
		}
		facts = slices.Delete(facts, i, i+1)
		line = statusLine(st.Mode, facts)
	}
	if s.note != "" {
		if cell.Width(s.note)+20 > width { // a long one replaces the line
			return cell.Line{{Text: " "}, {Text: visible(s.note), Style: cell.Yellow}}.Cut(width)
		}
		return line.Right(cell.Styled(visible(s.note), cell.Yellow), width)
	}
	help := cell.Line{{Text: "?"}, {Text: " keys  ", Style: cell.Dim}, {Text: "/"},
		{Text: " commands", Style: cell.Dim}}
	if line.Width()+help.Width()+2 > width {
		return line.Cut(width)
	}
	return line.Right(help, width)
}

// facts are the model, the directory and the context, and then only what is not zero.
func (s *Screen) facts(st Status) []fact {
	where := visible(st.Directory)
	if st.Branch != "" {
		where += " (" + visible(st.Branch) + ")"
	}
	var all []fact
	add := func(rank int, text string) {
		if text != "" {
			all = append(all, fact{cell.Styled(between+text, cell.Dim), rank})
		}
	}
	add(essential, s.vim.Mode())
	if out := s.statusLine.shown; out != nil {
		all = append(all, fact{append(cell.Styled(between, cell.Dim), out...), essential})
	} else {
		add(essential, visible(st.Model))
		add(place, where)
	}
	if st.Context >= 0 && !s.statusLine.hidesContext {
		add(essential, fmt.Sprintf("context %d%%", st.Context))
	}
	if s.work != nil {
		if s.work.tokens > 0 {
			add(working, humanize.Number(s.work.tokens)+" tokens")
		}
		add(working, humanize.Seconds(s.o.Now().Sub(s.work.began)))
	}
	if st.Jobs > 0 {
		add(pending, humanize.Count(st.Jobs, "job"))
	}
	if st.Connected < st.Servers {
		add(pending, fmt.Sprintf("mcp %d/%d", st.Connected, st.Servers))
	}
	if n := len(s.queue.list()); n > 0 {
		add(pending, fmt.Sprintf("queued %d", n))
	}
	if st.Cost > 0 {
		add(pending, Dollars(st.Cost))
	}
	return all
}

// between is the mark between two facts.
const between = " · "

// highest is the index of the last fact with the highest rank.
func highest(facts []fact) int {
	at := 0
	for i, f := range facts {
		if f.rank >= facts[at].rank {
			at = i
		}
	}
	return at
}

// statusLine is the mode and facts. Plan mode and yolo are the only words with a color.
func statusLine(mode string, facts []fact) cell.Line {
	style := cell.Dim
	switch mode {
	case "plan":
		style = cell.Cyan
	case "yolo":
		style = cell.Red
	}
	line := cell.Line{{Text: " "}, {Text: mode, Style: style}}
	for _, f := range facts {
		line = append(line, f.line...)
	}
	return line
}
