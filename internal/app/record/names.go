package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/tool"
)

// maxName is the maximum length of a session's name, in characters.
const maxName = 60

// Find returns the ID of the session that a word names: by its whole name, by the start of its ID, or by a part of its
// name, in any case. Names of the directory's sessions come before those of others.
func (f Sessions) Find(word string) (string, error) {
	if journal.ValidID(word) {
		return f.Sessions.Find(word)
	}
	all, err := f.List()
	if err != nil {
		return "", err
	}
	if found := f.named(all, word, strings.EqualFold); len(found) == 1 {
		return found[0].ID, nil
	}
	id, err := f.Sessions.Find(word)
	var unknown *journal.UnknownError
	if !errors.As(err, &unknown) {
		return id, err
	}
	found := f.named(all, word, containsFold)
	switch len(found) {
	case 0:
		return "", err
	case 1:
		return found[0].ID, nil
	}
	many := &journal.AmbiguousError{Word: word}
	for _, i := range found {
		many.Matches = append(many.Matches, i.ID[:8]+"  "+tool.Visible(i.Label()))
	}
	return "", many
}

func containsFold(name, part string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(part))
}

// named returns the sessions whose names fit a word: those of the directory, or those of others if there are none.
func (f Sessions) named(all []journal.Info, word string, fits func(name, word string) bool) []journal.Info {
	found := slices.DeleteFunc(slices.Clone(all), func(i journal.Info) bool {
		return i.Name == "" || word == "" || !fits(i.Name, word)
	})
	here := slices.DeleteFunc(slices.Clone(found), func(i journal.Info) bool { return i.CWD != f.directory.Path })
	if len(here) > 0 {
		return here
	}
	return found
}

// IsName reports whether a text is the name of a session of the directory, or a part of one.
func (f Sessions) IsName(text string, whole bool) bool {
	all, err := f.Recorded(false)
	fits := containsFold
	if whole {
		fits = strings.EqualFold
	}
	return err == nil && len(f.named(all, text, fits)) > 0
}

// CheckName returns an error about a name that the session with an ID can't have.
func (f Sessions) CheckName(name, id string) error {
	odd := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	if name == "" || strings.TrimSpace(name) != name || odd || utf8.RuneCountInString(name) > maxName ||
		journal.ValidID(strings.ToLower(name)) {
		return fmt.Errorf("invalid name %q: expected 1 to %d characters in one line that aren't an ID", name, maxName)
	}
	all, err := f.Recorded(false)
	if err != nil {
		return err
	}
	for _, i := range f.named(all, name, strings.EqualFold) {
		if i.ID != id {
			return Errorf("session %s is named %q already\nUse another name, or continue it with --resume %s.",
				i.ID[:8], i.Name, i.ID[:8])
		}
	}
	return nil
}
