package models

import (
	"context"
	"sync"
)

// gate lets one caller in at a time. Unlike with a mutex, a caller that waits can stop waiting. The zero value is ready
// to use.
type gate struct {
	once sync.Once
	in   chan struct{}
}

func (g *gate) enter(ctx context.Context) error {
	g.once.Do(func() { g.in = make(chan struct{}, 1) })
	select {
	case g.in <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) leave() { <-g.in }
