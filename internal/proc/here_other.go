//go:build !linux

package proc

import (
	"os"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

func (h Helper) works() bool { return false }

func startHere(_ Helper, s *spec) (*os.Process, func() sandbox.Report, error) {
	p, err := startPlain(s)
	return p, noReport, err
}

// closeInherited does nothing: what this program opens is closed by itself.
func closeInherited() {}
