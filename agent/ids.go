package agent

import (
	"fmt"

	"github.com/adze-dev/adze/model"
)

// ids are those of the session's calls. Servers do not keep them apart: some number from call_0 in each answer, some
// send none.
type ids struct{ used map[string]bool }

// unique is the server's id if it is new, else one made of turn and index. Nine letters and digits: there are servers
// that take nothing else.
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

// add takes the ids of a conversation that goes on.
func (s *ids) add(history []model.Message) {
	for _, m := range history {
		for _, c := range m.Calls() {
			s.unique(c.ID, 0, 0)
		}
	}
}
