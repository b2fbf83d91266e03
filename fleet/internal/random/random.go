// Package random makes unique names.
package random

import (
	"crypto/rand"
	"strings"
)

// Text returns a random text of lower-case letters and digits, with 130 bits.
func Text() string { return strings.ToLower(rand.Text()) }
