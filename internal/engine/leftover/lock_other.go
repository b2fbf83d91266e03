//go:build !unix

package leftover

import (
	"errors"
	"io/fs"
	"os"
)

const noFollow = 0

func lock(*os.File) (own bool, err error) { return false, errors.ErrUnsupported }

func own(fs.FileInfo) bool { return false }
