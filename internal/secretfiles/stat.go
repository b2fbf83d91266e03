package secretfiles

import "time"

// kind is the type of a directory entry.
type kind uint8

const (
	kindOther kind = iota
	kindFile
	kindDir
	kindLink
)

// stamp identifies a version of a file.
type stamp struct {
	dev, ino     uint64
	mtime, ctime int64 // nanoseconds
	size         int64
	kind         kind
}

// same reports whether two stamps are of the same file.
func (s stamp) same(o stamp) bool { return s.dev == o.dev && s.ino == o.ino }

// racy reports whether a directory that is read now may change without a change of its times, which are rounded to kernel
// ticks, on some file systems to seconds.
func (s stamp) racy(now time.Time) bool {
	tick := 50 * time.Millisecond
	if s.mtime%int64(time.Second) == 0 && s.ctime%int64(time.Second) == 0 {
		tick = 2 * time.Second
	}
	return max(s.mtime, s.ctime) > now.Add(-tick).UnixNano()
}

// watcher reports changes in directories.
type watcher interface {
	// add watches a directory, without following links; a directory has one number, even if it is mounted several times.
	add(path string) (wd int32, err error)
	remove(wd int32)
	// most returns the maximum number of watches to use.
	most() int
	// read visits the changes so far without blocking.
	read(visit func(event)) error
	close()
}

// event is a change that a watcher reports.
type event struct {
	wd       int32
	name     string // the changed name in the directory
	self     bool   // the directory itself was deleted or moved
	ended    bool   // the watch no longer exists
	arrived  bool   // a file was created there, or moved or linked to that name
	overflow bool   // events are missing
}
