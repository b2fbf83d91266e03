//go:build !linux

package trial

import (
	"context"
	"errors"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// Layers are the directories for what the trials of a session change.
type Layers struct{}

// Trial is the try of one command.
type Trial struct{}

const why = "trials require Linux"

var errOther = errors.Join(errors.New(why), ErrUnsupported)

// MostContent is the size of the largest file that Before and After return.
const MostContent = 16 << 20

// Open prepares trials. Where commands can't be tried, Supported says why.
func Open(Options) (*Layers, error) { return &Layers{}, nil }

// Supported reports whether commands can be tried here, and why not.
func (*Layers) Supported() (ok bool, reason string) { return false, why }

// New prepares a trial of one command.
func (*Layers) New(context.Context) (*Trial, error) { return nil, errOther }

// Close removes what trials changed and what was not kept.
func (*Layers) Close() error { return nil }

// Spec returns the sandbox for the command.
func (*Trial) Spec(*sandbox.Limits) *sandbox.Spec { return &sandbox.Spec{Mode: sandbox.Trial} }

// Effects finds what the command changed.
func (*Trial) Effects(context.Context) (Effects, error) { return Effects{}, errOther }

// Before returns the content of a file as it is in the workspace.
func (*Trial) Before(string) ([]byte, error) { return nil, errOther }

// After returns the content of a file as the trial left it.
func (*Trial) After(string) ([]byte, error) { return nil, errOther }

// Keep moves the changes to the workspace.
func (*Trial) Keep(context.Context, func(path string) bool) (Kept, error) { return Kept{}, errOther }

// Drop discards what was not kept.
func (*Trial) Drop() error { return nil }

// Recover undoes what sessions that were killed had begun to keep.
func Recover(string, []string) error { return nil }
