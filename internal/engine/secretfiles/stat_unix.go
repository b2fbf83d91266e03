//go:build unix

package secretfiles

import "golang.org/x/sys/unix"

func lstat(path string) (stamp, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return newStamp(&st, err)
}

func stat(path string) (stamp, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return newStamp(&st, err)
}

func newStamp(st *unix.Stat_t, err error) (stamp, error) {
	if err != nil {
		return stamp{}, err
	}
	return stamp{
		dev: uint64(st.Dev), ino: st.Ino, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), size: st.Size,
		kind: kindOf(uint32(st.Mode)),
	}, nil
}

func kindOf(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindDir
	case unix.S_IFLNK:
		return kindLink
	}
	return kindOther
}

// readable reports whether the user may read a file, mayRead whether they may list a directory, and mayEnter whether
// they may open files in it.
func readable(path string) bool { return unix.Access(path, unix.R_OK) == nil }
func mayRead(path string) bool  { return unix.Access(path, unix.R_OK) == nil }
func mayEnter(path string) bool { return unix.Access(path, unix.X_OK) == nil }
