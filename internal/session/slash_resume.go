package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// maxListed is how many sessions the user can choose from.
const maxListed = 100

// slashResume lets the user choose another session of the directory, or takes the one with an ID.
func slashResume(_ context.Context, s *Session, words string) (Expansion, error) {
	if words != "" {
		id, err := s.Folder.Sessions().Find(words)
		if err != nil {
			return Expansion{}, SessionError(err)
		}
		if id == s.ID {
			return Expansion{Print: "This is the current session."}, nil
		}
		return Expansion{Resume: id}, nil
	}
	found, err := s.Folder.Recorded(false)
	if err != nil {
		return Expansion{}, err
	}
	found = slices.DeleteFunc(found, func(i journal.Info) bool { return i.Title == "" || i.ID == s.ID })
	if len(found) == 0 {
		return Expansion{Print: "No other session in " + tool.Visible(s.Folder.Path) + ". List all with: adze session list --all."}, nil
	}
	c := &Choice{Title: "Resume which session?"}
	if n := s.Running(); n > 0 {
		c.Detail = []string{"This stops " + counted(n, "background command") + " of the current session."}
	}
	print := "Sessions, the newest first:\n"
	for _, i := range found[:min(len(found), maxListed)] {
		about := fmt.Sprintf("%s, %s", Age(time.Since(i.Updated)), counted(i.Turns, "turn"))
		if i.State == journal.StateOpen {
			about += ", open elsewhere"
		}
		c.Options = append(c.Options, Option{Text: tool.Visible(i.Title), About: about,
			Run: func(context.Context) (Expansion, error) { return Expansion{Resume: i.ID}, nil }})
		print += fmt.Sprintf("  %s  %s  (%s)\n", i.ID[:8], tool.Visible(i.Title), about)
	}
	return Expansion{Choice: c, Print: print + "Type /resume ID to continue one of them."}, nil
}
