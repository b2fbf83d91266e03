package secretfiles

import (
	"time"

	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

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

// racy reports whether a directory that is read now may change without a change of its times, which are rounded to
// kernel ticks, on some file systems to seconds.
func (s stamp) racy(now time.Time) bool {
	tick := 50 * time.Millisecond
	if s.mtime%int64(time.Second) == 0 && s.ctime%int64(time.Second) == 0 {
		tick = 2 * time.Second
	}
	return max(s.mtime, s.ctime) > now.Add(-tick).UnixNano()
}

// watcher reports changes in directories: a [watch.Watcher].
type watcher interface {
	Add(path string) (wd int32, err error)
	Remove(wd int32)
	Read(visit func(watch.Event)) error
	Close()
}
