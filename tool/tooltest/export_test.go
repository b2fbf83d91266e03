package tooltest

import "time"

// Within returns the try with a bound for the time that a canceled Run may take.
func (t Try) Within(limit time.Duration) Try {
	t.stop = limit
	return t
}
