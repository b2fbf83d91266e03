package slash

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// maxListed is the maximum number of sessions that the user can choose from.
const maxListed = 100

// slashResume has the user choose another session of the directory, or uses the one with an ID.
func slashResume(_ context.Context, s *session.Session, words string) (Expansion, error) {
	if words != "" {
		id, err := record.Of(s.Directory).Find(words)
		if err != nil {
			return Expansion{}, record.SessionError(err)
		}
		if id == s.ID {
			return Expansion{Print: "This is the current session."}, nil
		}
		return Expansion{Resume: id}, nil
	}
	found, err := record.Of(s.Directory).Recorded(false)
	if err != nil {
		return Expansion{}, err
	}
	found = slices.DeleteFunc(found, func(i journal.Info) bool { return i.Title == "" || i.ID == s.ID })
	if len(found) == 0 {
		return Expansion{
			Print: "No other session in " + tool.Visible(s.Directory.Path) +
				". List all with: adze session list --all.",
		}, nil
	}
	c := &Choice{Title: "Resume which session?"}
	if n := len(s.Tools.Running()); n > 0 {
		c.Detail = []string{"This stops " + humanize.Count(n, "background command") + " of the current session."}
	}
	print := "Sessions, the newest first:\n"
	for _, i := range found[:min(len(found), maxListed)] {
		about := fmt.Sprintf("%s, %s", humanize.Age(time.Since(i.Updated)), humanize.Count(i.Turns, "turn"))
		if i.State == journal.StateOpen {
			about += ", open elsewhere"
		}
		c.Options = append(c.Options, Option{Text: tool.Visible(i.Label()), About: about,
			Run: func(context.Context) (Expansion, error) { return Expansion{Resume: i.ID}, nil }})
		print += fmt.Sprintf("  %s  %s  (%s)\n", i.ID[:8], tool.Visible(i.Label()), about)
	}
	return Expansion{Choice: c, Print: print + "Type /resume ID to continue one of them."}, nil
}

// slashRename names the session.
func slashRename(_ context.Context, s *session.Session, name string) (Expansion, error) {
	if name = strings.TrimSpace(name); name == "" {
		return Expansion{}, errorf("/rename: expected a name for this session")
	}
	if err := s.Recorder.Rename(name); err != nil {
		return Expansion{}, err
	}
	return Expansion{
		Print: "This session is named " + name + ". Continue it with: adze -r " + shellwords.Quote(name),
	}, nil
}

// slashGoal sets a goal for the prompt in the lines after it, or for one that only names it.
func slashGoal(_ context.Context, _ *session.Session, words string) (Expansion, error) {
	g, err := goal.Parse(words)
	if err != nil {
		return Expansion{}, errorf("/goal: %v", err)
	}
	return Expansion{Goal: g, Parts: []model.Part{model.Text("Make this command exit with 0: " + g.Command)}}, nil
}

// slashRewind has the user choose a prompt, or uses the Nth from the end, and rewinds to before it.
func slashRewind(_ context.Context, s *session.Session, words string) (Expansion, error) {
	if !s.Recorder.Sync() {
		return Expansion{}, record.Errorf("this session isn't recorded, so it can't be rewound")
	}
	found, err := record.Of(s.Directory).Prompts(s.ID)
	if err != nil {
		return Expansion{}, err
	}
	if len(found) == 0 {
		return Expansion{Print: "Nothing to rewind: there is no prompt in this conversation."}, nil
	}
	if words != "" {
		n, err := strconv.Atoi(words)
		if err != nil || n < 1 || n > len(found) {
			return Expansion{}, errorf("/rewind: expected the number of a prompt, from 1 (the last) "+
				"to %d, got %q", len(found), words)
		}
		return previewRewind(s, found[n-1])
	}
	c := &Choice{Title: "Rewind to before which prompt?"}
	print := "Prompts, the newest first:\n"
	for i, p := range found {
		c.Options = append(c.Options, Option{
			Text: humanize.Line(tool.Visible(p.Text), 120), About: humanize.Age(time.Since(p.At)),
			Run: func(context.Context) (Expansion, error) { return previewRewind(s, p) },
		})
		print += fmt.Sprintf("%3d  %s\n", i+1, humanize.Line(tool.Visible(p.Text), 70))
	}
	return Expansion{Choice: c, Print: print + "Type /rewind N to go back to before one of them."}, nil
}

// maxPreview is how many paths the preview of a rewind names.
const maxPreview = 6

// previewRewind describes a rewind, and has the user choose whether files are restored too.
func previewRewind(s *session.Session, p record.Prompt) (Expansion, error) {
	u, err := undoSince(s, p.Seq)
	if err != nil {
		return Expansion{}, err
	}
	c := &Choice{Title: fmt.Sprintf("Rewind to before %q", humanize.Line(tool.Visible(p.Text), 50))}
	c.Detail = append(c.Detail, fmt.Sprintf("conversation  %s and %s less", humanize.Count(p.Prompts, "prompt"),
		humanize.Count(p.Messages-p.Prompts, "other message")))
	then := func(u *record.Undo) func(context.Context) (Expansion, error) {
		return func(ctx context.Context) (Expansion, error) { return rewind(ctx, s, p, u) }
	}
	c.Options = []Option{{Text: "conversation only", About: "files don't change", Run: then(nil)}}
	if u != nil {
		c.View = UndoList(u, s.Directory.Path)
		for i, step := range u.Todo() {
			if i == maxPreview {
				c.Detail = append(c.Detail, fmt.Sprintf("              and %d more", len(u.Todo())-i))
				break
			}
			label := ""
			if i == 0 {
				label = "files"
			}
			c.Detail = append(c.Detail, fmt.Sprintf("%-13s %s %s", label, step.Verb(),
				shortPath(step.Path, s.Directory.Path)))
		}
		lost := 0
		for _, l := range u.Left {
			if l.Lost {
				lost++
			}
		}
		if n := len(u.Left) - lost; n > 0 {
			c.Detail = append(c.Detail, fmt.Sprintf("left alone    %s that changed since", humanize.Count(n, "path")))
		}
		if lost > 0 {
			c.Detail = append(c.Detail, fmt.Sprintf("lost          %s that can't be restored",
				humanize.Count(lost, "path")))
		}
		if n := len(files(u.Todo())); n > 0 {
			c.Options = append(c.Options, Option{
				Text: "files and conversation", About: "restores " + humanize.Count(n, "file"), Run: then(u),
			})
		}
	} else {
		c.Detail = append(c.Detail, "files         none were changed")
	}
	c.Options = append(c.Options, Option{Text: "cancel"})
	return Expansion{Choice: c, Print: c.Title + "\n" + strings.Join(c.Detail, "\n")}, nil
}

// undoSince plans to undo all calls after an entry; nil if they changed nothing.
func undoSince(s *session.Session, seq int64) (*record.Undo, error) {
	u, err := s.Effects.Undo(record.Selection{Since: seq})
	if _, nothing := err.(*record.NothingError); nothing {
		return nil, nil
	}
	return u, err
}

// rewind rewinds to before a prompt, and describes the result.
func rewind(ctx context.Context, s *session.Session, p record.Prompt, u *record.Undo) (Expansion, error) {
	left, err := s.Rewind(ctx, p, u)
	if err != nil {
		return Expansion{}, err
	}
	text := fmt.Sprintf("Rewound to before %q.", humanize.Line(tool.Visible(p.Text), 50))
	if u != nil {
		text += fmt.Sprintf(" %s restored.", humanize.Count(restored(u, left), "file"))
	}
	return Expansion{Print: text + leftLines(left, s.Directory.Path), Edit: p.Text}, nil
}
