package undo

// isNotDir: Windows reports such paths as missing.
func isNotDir(error) bool { return false }
