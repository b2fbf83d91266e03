//go:build ignore

// Package fixture has one of each.
package fixture

import "fmt"

const Limit = 10

const (
	First = iota
	Second
	_
)

var a, b = 1, 2

type (
	Shape interface{ Area() float64 }

	Square struct{ side float64 }
)

type Pair[K comparable, V any] struct {
	key   K
	value V
}

/*
func commented() {}
*/

func (s *Square) Area() float64 {
	inner := func() {}
	type local struct{}
	inner()
	return s.side
}

func (p Pair[K, V]) String() string { return fmt.Sprint(p.key, p.value) }

func Map[T, U any](list []T, f func(T) U) []U {
	return nil
}

var text = `
func inText() {}
`
