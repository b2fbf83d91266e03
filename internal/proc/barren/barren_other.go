//go:build !linux

package barren

import "errors"

// Places are the names of all places: none, on this system.
func Places() []string { return nil }

// Become fails: only Linux has such places.
func Become(string) error { return errors.New("become barren: only Linux can") }
