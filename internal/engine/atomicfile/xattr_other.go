//go:build unix && !linux && !darwin

package atomicfile

import "os"

// copyAttributes does nothing: extended attributes aren't supported here.
func copyAttributes(_, _ *os.File) (string, error) { return "", nil }
