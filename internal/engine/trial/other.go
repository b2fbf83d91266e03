//go:build !linux

package trial

import (
	"context"
	"errors"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// Layers are the directories for the changes of a session's trials.
type Layers struct{}

// Trial is a trial of one command.
type Trial struct{}

const why = "trials require Linux"

var errOther = errors.Join(errors.New(why), ErrUnsupported)

// MostContent is the maximum size of a file that Before and After return.
const MostContent = 16 << 20

// Open prepares trials. If commands can't be tried, Supported returns why.
func Open(Options) (*Layers, error) { return &Layers{}, nil }

// Supported reports whether commands can be tried here, and why not.
func (*Layers) Supported() (ok bool, reason string) { return false, why }

// New prepares a trial of one command.
func (*Layers) New(context.Context) (*Trial, error) { return nil, errOther }

// HasCache reports whether the trial has a directory of caches.
func (*Trial) HasCache() bool { return false }

// Close removes the changes of trials that weren't kept.
func (*Layers) Close() error { return nil }

// Spec returns the sandbox for the command.
func (*Trial) Spec(*sandbox.Limits, ...sandbox.Cover) *sandbox.Spec {
	return &sandbox.Spec{Mode: sandbox.Trial}
}

// Limits returns the default limits of a command that is tried.
func Limits() *sandbox.Trials { return nil }

// Substitute lets the command see other texts in place of files.
func (*Trial) Substitute([]Substitute) ([]sandbox.Cover, error) { return nil, errOther }

// Effects returns what the command changed.
func (*Trial) Effects(context.Context) (Effects, error) { return Effects{}, errOther }

// Before returns the content of a file in the workspace.
func (*Trial) Before(string) ([]byte, error) { return nil, errOther }

// After returns the content of a file as the trial left it.
func (*Trial) After(string) ([]byte, error) { return nil, errOther }

// Keep moves the changes to the workspace.
func (*Trial) Keep(context.Context, func(path string) bool) (Kept, error) { return Kept{}, errOther }

// Drop discards changes that weren't kept.
func (*Trial) Drop() error { return nil }

// DropLater drops the trial in the background.
func (*Trial) DropLater() {}

// Isolate keeps what the command wrote to temp directories and caches from later trials.
func (*Trial) Isolate() {}

// Recover undoes incomplete changes of killed sessions.
func Recover(string, []string) error { return nil }
