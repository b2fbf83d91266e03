package journal

import (
	"io"
	"iter"
	"time"

	"github.com/adze-dev/adze/model"
)

// Spent is what one answer of a session took.
type Spent struct {
	Session string
	At      time.Time
	Model   string
	Usage   model.Usage
	Calls   int // tool calls that ended since the answer before
}

// Spent are the answers since a time, of all sessions that can be read. A copy of a session counts only its own.
func (s Sessions) Spent(since time.Time) iter.Seq2[Spent, error] {
	return func(yield func(Spent, error) bool) {
		all, err := s.List()
		if err != nil {
			yield(Spent{}, err)
			return
		}
		for _, i := range all {
			if i.Updated.Before(since) {
				continue
			}
			if !s.spent(i, since, yield) {
				return
			}
		}
	}
}

// spent reads one session. It reports whether to continue with the next.
func (s Sessions) spent(i Info, since time.Time, yield func(Spent, error) bool) bool {
	f, err := s.Entries(i.ID)
	if err != nil {
		return true // deleted meanwhile
	}
	defer f.Close()
	in := readLines(f.f, 0, i.Bytes)
	for calls := 0; ; {
		line, _, _, err := in.next()
		if err != nil {
			return err == io.EOF || yield(Spent{}, err)
		}
		e, data, ok := head(line)
		if !ok || i.Parent != nil && e.Seq <= i.Parent.Seq || e.At.Before(since) {
			continue
		}
		switch e.Type {
		case TypeFinished:
			calls++
		case TypeAnswer:
			answer := spentBy(data)
			answer.Session, answer.At, answer.Calls = i.ID, e.At, calls
			if calls = 0; !yield(answer, nil) {
				return false
			}
		}
	}
}

// spentBy reads the members of an answer that come before the long one.
func spentBy(data []byte) (out Spent) {
	members(data, func(key, v []byte) bool {
		switch string(key) {
		case `"model"`:
			out.Model, _ = text(v)
		case `"usage"`:
			d := decoder{b: v}
			out.Usage = d.usage()
		case `"message"`:
			return false
		}
		return true
	})
	return out
}
