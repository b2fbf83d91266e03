package search

import "io/fs"

// StatOf is what a FileInfo tells of a change.
func StatOf(info fs.FileInfo) Stat {
	st := Stat{Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime().UnixNano()}
	st.Changed, st.Inode = identity(info)
	return st
}
