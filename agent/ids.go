package agent

import (
	"fmt"

	"github.com/adze-dev/adze/model"
)

// ids are the IDs of the session's calls. Servers don't keep them unique: some number from call_0 in each answer, some
// send none.
type ids struct{ used map[string]bool }

// unique returns the server's ID if it is new, else one made of turn and index. It has nine letters and digits because some
// servers accept nothing else.
func (s *ids) unique(id string, turn, index int) string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	for n := index; id == "" || s.used[id]; n += 100 {
		id = fmt.Sprintf("t%05dc%02d", turn, n)
	}
	s.used[id] = true
	return id
}

// add records the IDs of a continued conversation.
func (s *ids) add(history []model.Message) {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	for _, m := range history {
		for _, c := range m.Calls() {
			s.used[c.ID] = true
		}
	}
}
