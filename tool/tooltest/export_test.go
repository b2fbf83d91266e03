package tooltest

import "time"

// Within is the try with a bound for the time that a canceled Run may take.
func (t Try) Within(most time.Duration) Try {
	t.stop = most
	return t
}
