package journal

import "io/fs"

const noFollow = 0

// movesOpen: a directory can't be moved while a file in it is open.
const movesOpen = false

func owner(fs.FileInfo) (uid int, foreign bool) { return 0, false }

func syncDir(string) error { return nil }
