package sandbox

import (
	"runtime"
	"time"
)

// meter watches how much a trial uses of a resource. What the system has left is read often: it changes at once and
// shows how much the trial can have used meanwhile. The exact use takes longer, and is counted when that may exceed the
// limit, and from time to time, because other programs free the resource, too.
type meter struct {
	limit int64
	why   string        // why the trial is stopped over the limit
	rate  int64         // the most that one processor uses in a second
	every time.Duration // between counts
	left  func() int64  // of the system
	count func() int64  // exact use
	// mine reports whether the trial can have used that much, if nothing else shows who did.
	mine func(int64) bool

	counted, base int64    // exact use at the last count, and what was left then
	first         [2]int64 // the same at the start
	at            time.Time
	took          time.Duration
}

// slack is how much more of a resource may be gone before the next count.
func (m *meter) slack() int64 { return min(m.limit/8, 128<<20) }

// recount counts.
func (m *meter) recount() {
	began := time.Now()
	m.base = m.left() // before counting: what is used meanwhile counts twice
	m.counted = m.count()
	m.at = time.Now()
	m.took = m.at.Sub(began)
}

// start counts for the first time.
func (m *meter) start() {
	m.recount()
	m.first = [2]int64{m.counted, m.base}
}

// over reports whether the limit is exceeded. While that is found out, frozen processes can't use more.
func (m *meter) over(freeze func(bool)) bool {
	lost := m.base - m.left()
	due := m.counted+lost > m.limit && lost > m.slack()
	if !due && time.Since(m.at) < max(m.every, 20*m.took) {
		return m.counted > m.limit
	}
	if due {
		freeze(true)
	}
	m.recount()
	// Files that no directory and no process shows: descriptors in a socket, for example.
	hidden := m.first[1] - m.base - (m.counted - m.first[0])
	if m.counted > m.limit || hidden > m.limit && m.mine(hidden) {
		return true
	}
	if due {
		freeze(false)
	}
	return false
}

// pause returns when to look again: before the trial can exceed the limit by much.
func (m *meter) pause() time.Duration {
	room := m.limit - m.counted - max(0, m.base-m.left())
	perSecond := m.rate * int64(runtime.NumCPU())
	return time.Duration(float64(max(0, room)+m.slack()) / float64(perSecond) * float64(time.Second))
}
