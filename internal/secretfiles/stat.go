package secretfiles

import "time"

// kind is what a name stands for.
type kind uint8

const (
	kindOther kind = iota
	kindFile
	kindDir
	kindLink
)

// stamp tells a file from others, and from itself before a change.
type stamp struct {
	dev, ino     uint64
	mtime, ctime int64 // nanoseconds
	size         int64
	kind         kind
}

// same reports whether two stamps are of one file.
func (s stamp) same(o stamp) bool { return s.dev == o.dev && s.ino == o.ino }

// racy reports whether a directory that is read now may change without a change of its times, which count in ticks of
// the kernel, on some file systems in seconds.
func (s stamp) racy(now time.Time) bool {
	tick := 50 * time.Millisecond
	if s.mtime%int64(time.Second) == 0 && s.ctime%int64(time.Second) == 0 {
		tick = 2 * time.Second
	}
	return max(s.mtime, s.ctime) > now.Add(-tick).UnixNano()
}

// watcher reports changes in directories.
type watcher interface {
	// add watches a directory, not through a link; a directory has one number, wherever it is mounted.
	add(path string) (wd int32, err error)
	remove(wd int32)
	// most is how many watches to use.
	most() int
	// read visits the changes up to now without waiting.
	read(visit func(event)) error
	close()
}

// event is a change that a watcher reports.
type event struct {
	wd       int32
	name     string // the changed name in the directory
	self     bool   // the directory itself was deleted or moved
	ended    bool   // the watch no longer exists
	overflow bool   // events are missing
}
