package main

import (
	"os"
	"testing"
)

// The first Ctrl-C cancels, the second one ends waits at the exit, and a third one kills Adze.
func TestInterrupted(t *testing.T) {
	signals, reset := make(chan os.Signal), make(chan struct{})
	ctx, hurry := interrupted(signals, func() { close(reset) })
	if ctx.Err() != nil {
		t.Error("canceled without a signal")
	}
	signals <- os.Interrupt
	<-ctx.Done()
	select {
	case <-hurry:
		t.Error("in a hurry after one signal")
	case <-reset:
		t.Error("a second signal would kill Adze")
	default:
	}
	signals <- os.Interrupt
	<-hurry
	<-reset
}
