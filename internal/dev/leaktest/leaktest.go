// Package leaktest finds goroutines that still run after the tests of a package.
//
//	func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to return. goleak.VerifyTestMain gives them half a second, which is too
// short on a busy machine.
const patience = time.Minute

// Run runs the tests of a package and returns the exit code of the test binary: an error if goroutines still run.
func Run(m *testing.M, options ...goleak.Option) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := find(patience, options...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// find waits until no goroutine of a test runs, for at most the given time.
func find(limit time.Duration, options ...goleak.Option) error {
	for end := time.Now().Add(limit); ; {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
