package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// sameErrors is how often a tool can fail with the same error before the model gets a note.
const sameErrors = 3

// Numbers of turns in a row without new results after which the model gets a note, or the user a report.
const (
	repeatsNoted = 3
	repeatsTold  = 6
)

// longestCycle is how many turns a cycle of repeated calls can have: A-B-A-B has two.
const longestCycle = 3

// stuck detects a model that repeats the same invalid call, or calls with the results it had before.
type stuck struct {
	tools   map[string]mistake
	last    []digest // the last turns, newest last
	repeats int
}

// digest stands for the calls of a turn and their results.
type digest [sha256.Size]byte

type mistake struct {
	message string
	times   int
}

// look records the outcome of a call and returns the note for the model; usually "".
func (s *stuck) look(o tool.Outcome) string {
	if s.tools == nil {
		s.tools = map[string]mistake{}
	}
	if o.Error == nil || o.Error.Type != tool.InvalidParams {
		delete(s.tools, o.Name)
		return ""
	}
	m := s.tools[o.Name]
	if m.message != o.Error.Message {
		m = mistake{message: o.Error.Message}
	}
	m.times++
	s.tools[o.Name] = m
	if m.times < sameErrors {
		return ""
	}
	return "Note: " + o.Name + " has failed with this same error several times in a row. Stop retrying it this way: " +
		"read the tool's parameters again and call it differently, or continue without it and report what is missing."
}

// turn records the calls of a turn with their results, and returns the number of turns in a row without new results.
func (s *stuck) turn(d digest) int {
	s.repeats++
	if !slices.Contains(s.last, d) {
		s.repeats = 0
	}
	s.last = append(s.last, d)
	s.last = s.last[max(0, len(s.last)-longestCycle):]
	return s.repeats
}

// forget is called after a compaction: the model may repeat a call to get its result again.
func (s *stuck) forget() { s.last, s.repeats = nil, 0 }

// compare records the results of the turn, and returns the note for a model that repeats itself; usually "". Calls of
// tools that poll are ignored.
func (t *turn) compare(outcomes []tool.Outcome) string {
	h := sha256.New()
	n := 0
	for i, o := range outcomes {
		if d, _ := t.found[i].Declaration(); d.Polls {
			continue
		}
		n++
		text := compared(o.Result)
		for _, path := range o.Saved { // each call has its own
			text = strings.ReplaceAll(text, path, "")
		}
		for _, s := range []string{o.Name, canonical(t.calls[i].Args), string(o.Status), text} {
			fmt.Fprintf(h, "%d ", len(s))
			_, _ = io.WriteString(h, s) // writing to a hash never fails
		}
	}
	if n == 0 {
		return ""
	}
	t.repeats = t.agent.stuck.turn(digest(h.Sum(nil)))
	if t.repeats < repeatsNoted {
		return ""
	}
	return fmt.Sprintf("Note: your last %d turns only repeated calls you had already made, with the same results. "+
		"Don't repeat them: "+
		"try something else, or stop and report what you found and what is missing.", t.repeats)
}

// compared returns the text by which results of the same call are compared.
func compared(r tool.Result) string {
	if r.Compare != "" {
		return r.Compare
	}
	text := r.Text()
	for _, p := range r.Content {
		if m, ok := p.(tool.Media); ok { // the text has only its size
			text += fmt.Sprintf(" %x", sha256.Sum256(m.Data))
		}
	}
	return text
}

// canonical returns the same text for arguments that differ only in whitespace and in the order of members.
func canonical(args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(out)
}

// stopIfStuck reports a model that repeats itself to the user, and ends an unattended run.
func (a *Agent) stopIfStuck(t *turn) error {
	if t.repeats == 0 || t.repeats%repeatsTold != 0 {
		return nil
	}
	found := Stuck{Turn: t.n, Times: t.repeats, Calls: t.calls}
	a.tell(found)
	if !a.o.Unattended {
		return nil
	}
	return fmt.Errorf("%w: %v\nMake the task more specific, or use another model.", ErrStuck, found)
}
