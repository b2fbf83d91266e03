package session

import (
	"context"
	"slices"
)

// Action is what a command does in the front end instead of printing something.
type Action string

// Actions. A front end says which of them it has: see [Session.Supports].
const (
	ListKeys Action = "keys"  // list the keys of the terminal
	SetTheme Action = "theme" // show or set the theme; its name is in Expansion.Words
)

// Supports says which actions the front end has. Commands with others are not listed. Such a front end also shows which model
// was found, so that is not told.
func (s *Session) Supports(actions ...Action) {
	s.actions = actions
	s.Models.quiet = true
}

// actionSlashes are the commands of actions that the front end has.
func (s *Session) actionSlashes() []Slash {
	all := []Slash{
		{Name: "keys", About: "show the keys, and what the terminal sends", action: ListKeys},
		{Name: "theme", Words: "[NAME]", About: "show or set the colors: auto, dark, light or high-contrast", action: SetTheme},
	}
	all = slices.DeleteFunc(all, func(c Slash) bool { return !slices.Contains(s.actions, c.action) })
	for i, c := range all {
		all[i].run = func(_ context.Context, _ *Session, words string) (Expansion, error) {
			return Expansion{Action: c.action, Words: words}, nil
		}
	}
	return all
}
