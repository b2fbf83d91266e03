//go:build unix && !linux

package atomicfile

import "errors"

func onFullDisk(string) error { return errors.ErrUnsupported }
