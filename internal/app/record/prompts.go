package record

import (
	"slices"
	"time"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
)

// Prompt is a prompt that the conversation can return to.
type Prompt struct {
	Seq  int64 // of its entry
	Text string
	At   time.Time
	// What is removed with it: prompts, including this one, and messages.
	Prompts, Messages int
}

// Prompts returns the user's prompts in the conversation of a session, the newest first.
func (f Sessions) Prompts(id string) ([]Prompt, error) {
	log, err := f.Entries(id)
	if err != nil {
		return nil, nil // there are no messages yet
	}
	defer log.Close()
	var found []Prompt
	var said []int64 // entries of messages
	for e, err := range log.Read(1) {
		if err != nil {
			return nil, err
		}
		if e.By != "" {
			continue
		}
		switch e.Type {
		case journal.TypeAnswer, journal.TypeResponses:
			said = append(said, e.Seq)
			continue
		case journal.TypeMessage, journal.TypeUndone, journal.TypeCompacted:
		default:
			continue
		}
		data, err := journal.Decode(e, f.Store())
		if err != nil {
			return nil, err
		}
		switch d := data.(type) {
		case journal.Message:
			said = append(said, e.Seq)
			if d.Kind == journal.Prompt && d.Message.Role == model.User {
				found = append(found, Prompt{Seq: e.Seq, Text: journal.Typed(d.Message), At: e.At})
			}
		case journal.Undone:
			if d.To > 0 {
				found = slices.DeleteFunc(found, func(p Prompt) bool { return p.Seq > d.To })
				said = slices.DeleteFunc(said, func(seq int64) bool { return seq > d.To })
			}
		case journal.Compacted:
			if len(d.Messages) == 0 { // a new conversation
				found, said = nil, nil
			}
		}
	}
	slices.Reverse(found)
	for i := range found {
		n, _ := slices.BinarySearch(said, found[i].Seq)
		found[i].Prompts, found[i].Messages = i+1, len(said)-n
	}
	return found, nil
}
