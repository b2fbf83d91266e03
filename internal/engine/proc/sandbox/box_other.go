//go:build !linux

package sandbox

import (
	"os"
	"runtime"
)

// onLinux is empty on other systems.
type onLinux struct{}

func (b *Box) makeHere() {}

func (b *Box) removeHere() {}

// Enter does nothing: on this system a wrapper program makes the sandbox, see Argv.
func (b *Box) Enter(dir string) error { return nil }

func (b *Box) inSession() bool { return false }

func (b *Box) writable() []string { return nil }

func (b *Box) reportTrial(*Report) {}

func (b *Box) openedHidden() (paths []string, more bool) { return nil, false }

func (b *Box) coverMounts() ([][2]string, error) { return nil, nil }

func (b *Box) innerArgv(argv []string, _ func(*os.File, error) (string, error)) ([]string, error) {
	return argv, nil
}

func (s Support) launches() Support { return s }

func (s Support) hosts() Support { return s }

func (b *Box) filterFile() (*os.File, error) { return nil, nil }

// Identify finds nothing: paths are only pinned on Linux.
func Identify(string) (ID, bool) { return ID{}, false }

// Probe reports whether sandbox-exec exists on macOS. Adze has no sandbox for other systems.
func Probe() Support {
	why := "Adze has no sandbox for this system"
	if runtime.GOOS == "darwin" {
		const program = "/usr/bin/sandbox-exec"
		if _, err := os.Stat(program); err == nil {
			return Support{Seatbelt: true}
		}
		why = program + " not found"
	}
	return Support{LandlockWhy: why, SeccompWhy: why, NamespacesWhy: why, BubblewrapWhy: why}
}
