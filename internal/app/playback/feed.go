package playback

import (
	"iter"

	"github.com/adze-dev/adze/journal"
)

// Limits of reading ahead.
const (
	maxAhead      = 2000
	maxAheadBytes = 16 << 20
)

// feed is the entries of a journal, with lookahead.
type feed struct {
	next  func() (journal.Entry, error, bool)
	close func()
	ahead []journal.Entry
	bytes int   // of ahead
	err   error // why there are no more entries
	ended bool
}

func newFeed(entries iter.Seq2[journal.Entry, error]) *feed {
	f := &feed{}
	f.next, f.close = iter.Pull2(entries)
	return f
}

// take returns the next entry.
func (f *feed) take() (journal.Entry, bool) {
	if len(f.ahead) == 0 && !f.read() {
		return journal.Entry{}, false
	}
	e := f.ahead[0]
	f.ahead[0] = journal.Entry{}
	f.ahead = f.ahead[1:]
	f.bytes -= len(e.Data)
	return e, true
}

// read reads one entry ahead.
func (f *feed) read() bool {
	if f.ended {
		return false
	}
	e, err, ok := f.next()
	if !ok || err != nil {
		f.err, f.ended = err, true
		return false
	}
	f.ahead = append(f.ahead, e)
	f.bytes += len(e.Data)
	return true
}

// find searches the next entries, until look returns a match or stops. It is bounded by the limits.
func (f *feed) find(look func(journal.Entry) verdict) (journal.Entry, bool) {
	for i := 0; ; i++ {
		if i == len(f.ahead) && (i >= maxAhead || f.bytes >= maxAheadBytes || !f.read()) {
			return journal.Entry{}, false
		}
		switch look(f.ahead[i]) {
		case match:
			return f.ahead[i], true
		case enough:
			return journal.Entry{}, false
		}
	}
}

// verdict is what find does next.
type verdict uint8

const (
	further verdict = iota
	match
	enough
)
