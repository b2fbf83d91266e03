// Package lazy compiles regular expressions when they are first used. The program starts for every command and every
// completion of a word, which need none of them.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles an expression once. It panics if the expression is invalid.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
