//go:build !linux

package tui

import "os"

func typedAhead(*os.File) bool { return false }
