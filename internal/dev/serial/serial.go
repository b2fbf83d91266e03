// Package serial marks tests of code that runs in one goroutine. The race detector finds nothing there and takes ten
// times as long, so make test runs them without it: go run ./internal/dev/soak/list -package serial.
package serial

import "testing"

// Test skips a test under the race detector.
func Test(t testing.TB) {
	t.Helper()
	if race {
		t.Skip("make test runs it without the race detector")
	}
}
