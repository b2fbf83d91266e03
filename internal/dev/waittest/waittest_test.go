package waittest

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		checks := 0
		if !Holds(func() bool { checks++; return checks == 3 }) || time.Since(began) != 2*pause {
			t.Errorf("%d checks in %v", checks, time.Since(began))
		}
		began = time.Now()
		if Holds(func() bool { return false }) {
			t.Error("a condition that is never true holds")
		}
		if took := time.Since(began); took < Limit || took > Limit+longest {
			t.Errorf("stopped waiting after %v", took)
		}
	})
}
