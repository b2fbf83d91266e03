//go:build !linux

package sandbox

import "os"

// onLinux has no equal here.
type onLinux struct{}

func (b *Box) makeHere() {}

func (b *Box) removeHere() {}

// Enter does nothing: on this system a program in front of the command makes
// the box, see Argv.
func (b *Box) Enter(dir string) error { return nil }

func (b *Box) inSession() bool { return false }

func (b *Box) writable() []string { return nil }

func (b *Box) reportTrial(*Report) {}

func (b *Box) openedHidden() (paths []string, more bool) { return nil, false }

func (b *Box) coverMounts() [][2]string { return nil }

func (b *Box) coversErr() error { return nil }

func (b *Box) innerArgv(argv []string, _ func(*os.File, error) (string, error)) ([]string, error) {
	return argv, nil
}

func (b *Box) filterFile() (*os.File, error) { return nil, nil }
