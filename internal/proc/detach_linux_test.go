package proc

import (
	"context"
	"testing"
	"time"
)

// A command that was moved to the background was sometimes killed: its context was canceled right after Detach, and the
// cancellation was seen first.
func TestDetachHoldsAgainstWhatEndsAfterIt(t *testing.T) {
	r := opened(t, Options{})
	for range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := r.Start(ctx, Command{Line: "sleep 600", Timeout: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		p.Detach()
		cancel()
		select {
		case <-p.Done():
			t.Fatalf("it ended: %+v", ended(t, p))
		case <-time.After(5 * time.Millisecond):
		}
		p.Stop()
		ended(t, p)
	}
}
