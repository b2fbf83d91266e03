package session

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The wait for the discovery command used to end 300 ms after the command's own time limit. On a busy machine the command's
// error came later, and was lost.
func TestWaitForTheDiscoveryCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		o := &Outside{command: &discovery{ended: ended}, until: time.Now()}
		waited := make(chan []string)
		go func() { waited <- o.Wait(t.Context()) }()
		time.Sleep(time.Minute)
		o.command.said = []string{"timed out after 10s"}
		close(ended)
		if got := <-waited; !slices.Equal(got, []string{"timed out after 10s"}) {
			t.Errorf("%q", got)
		}
	})
}
