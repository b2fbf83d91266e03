package tui

import "os"

// watchResize reports nothing: the size is read for each frame.
func watchResize() (chan os.Signal, func()) { return make(chan os.Signal), func() {} }
