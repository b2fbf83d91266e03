package leaktest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestFind(t *testing.T) {
	old := goleak.IgnoreCurrent()
	release := make(chan struct{})
	go func() { <-release }()
	if err := find(0, old); err == nil {
		t.Error("a goroutine that runs was not found")
	}
	time.AfterFunc(time.Second, func() { close(release) }) // longer than goleak waits
	if err := find(patience, old); err != nil {
		t.Error(err)
	}
}
