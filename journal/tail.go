package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// load reads the state of a session from its file: the first entry, and the entries since the last compaction. It
// repairs the file if it is open for writing.
func (f *File) load(blobs Blobs) (State, error) {
	size, err := f.length()
	if err = cmp.Or(f.damage, err); err != nil {
		return State{}, err
	}
	f.size = size
	var s State
	var broken *BrokenError
	for end := f.size; ; {
		start, err := findStart(f.in, end)
		if err != nil {
			return State{}, err
		}
		s = State{}
		found, err := f.fold(&s, start, end, blobs)
		if err != nil {
			return s, err
		}
		if found != nil {
			end = found.offset
		}
		if found != nil && found.torn {
			f.Repair.Torn = f.size - end
		} else if found != nil {
			broken = found
		}
		if found == nil || end > start || start == 0 {
			break
		}
		// The compaction itself is invalid: use the entries before it.
	}
	if s.Seq == 0 {
		if broken == nil {
			broken = &BrokenError{Path: f.Path(), Line: 1}
		}
		return s, broken
	}
	s.settle(blobs, f.line)
	f.last, f.newest = s.Seq, max(s.Newest, Version)
	if f.lock == nil || f.newest > Version {
		return s, nil
	}
	return s, f.repair(broken)
}

// line returns the entry at an offset; an empty one if it is invalid.
func (f *File) line(offset int64) Entry {
	line, _, whole, err := readLines(f.in, offset, f.size).next()
	if err != nil {
		return Entry{}
	}
	e, _ := parseLine(line, whole)
	return e
}

// fold adds the first entry and those between two offsets. It returns the first invalid line.
func (f *File) fold(s *State, start, end int64, blobs Blobs) (*BrokenError, error) {
	if start > 0 {
		first, _, _, err := readLines(f.in, 0, end).next()
		if err != nil {
			return nil, err
		}
		e, ok := parse(first)
		if !ok {
			return nil, &BrokenError{Path: f.Path(), Line: 1}
		}
		if err := s.add(e, blobs); err != nil {
			return nil, err
		}
	}
	first := start > 0
	for d, err := range decodeLines(f.in, start, end, blobs) {
		if err != nil {
			return nil, err
		}
		if !d.ok && !d.whole && end == f.size && d.size <= maxRead {
			return &BrokenError{offset: d.offset, torn: true}, nil
		}
		if d.ok && first {
			s.Seq = d.Seq - 1
		}
		if !d.ok || d.Seq != s.Seq+1 || s.Seq == 0 && d.Type != TypeOpened {
			broken := &BrokenError{Path: f.Path(), Line: s.Seq + 1, offset: d.offset}
			if first && d.Seq > 0 {
				broken.Line = d.Seq
			}
			return broken, nil
		}
		if d.err != nil {
			return nil, d.err
		}
		s.Lost = s.Lost.plus(d.lost)
		if d.later {
			s.applyLater(&later{d.Entry, d.offset}, d.data)
		} else {
			s.apply(d.Entry, d.data)
		}
		if !d.whole {
			f.Repair.Torn = -1 // only the newline is missing
		}
		first = false
	}
	return nil, nil
}

// repair removes the invalid part of the file.
func (f *File) repair(broken *BrokenError) error {
	switch {
	case broken != nil:
		kept, err := f.keep(broken.offset)
		if err != nil {
			return fmt.Errorf("keep the lines of %s from line %d on: %w", f.Path(), broken.Line, err)
		}
		f.Repair = Repair{Broken: broken.Line, Kept: kept}
		f.size = broken.offset
	case f.Repair.Torn < 0:
		f.Repair.Torn = 0
		n, err := f.f.Write([]byte("\n"))
		f.size += int64(n)
		return err
	case f.Repair.Torn > 0:
		f.size -= f.Repair.Torn
	default:
		return nil
	}
	return f.f.Truncate(f.size)
}

// keep copies the file from an offset on to a new file beside it.
func (f *File) keep(from int64) (string, error) {
	for i := 1; ; i++ {
		path := filepath.Join(f.dir, fmt.Sprintf("%s.broken-%d", journalName, i))
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
		if errors.Is(err, fs.ErrExist) && i < 1000 {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(out, io.NewSectionReader(f.f, from, f.size-from))
		err = errors.Join(err, out.Sync(), out.Close())
		if err != nil {
			os.Remove(path)
		}
		return path, err
	}
}

const (
	backward = 1 << 20 // bytes read at once, from the end
	maxHead  = 4 << 10 // bytes of a line that identify it
)

// findStart returns the offset from which entries count: that of the last compaction that wasn't undone, or 0. It reads
// the file from its end, and only the start of each line.
func findStart(f io.ReaderAt, size int64) (int64, error) {
	limit := int64(-1) // entries after this Seq are undone; -1: none
	var found int64
	err := eachBackward(f, size, func(offset int64, line []byte) bool {
		e, rest, ok := head(line)
		if !ok || e.By != "" || limit >= 0 && e.Seq > limit {
			return true
		}
		switch e.Type {
		case TypeCompacted:
			found = offset
			return false
		case TypeUndone:
			to, _, _ := number(memberOf(rest, "to"))
			if to > 0 { // otherwise only files were undone
				limit = to
			}
		}
		return true
	})
	return found, err
}

// eachBackward calls f with the offset and the start of each line, from the last to the first: up to maxHead bytes of
// it.
func eachBackward(r io.ReaderAt, size int64, f func(offset int64, line []byte) bool) error {
	var buf []byte
	return eachBackwardIn(r, size, 0, &buf, f)
}

// eachBackwardIn is like eachBackward, but stops at an offset and reuses a buffer. It reads little first, because the
// caller may need little.
func eachBackwardIn(r io.ReaderAt, size, stop int64, reuse *[]byte, f func(offset int64, line []byte) bool) error {
	var starts []int // of lines
	for hi, step := size, int64(16<<10); hi > stop; step = min(4*step, backward) {
		lo := max(stop, hi-step)
		if need := min(size, hi+maxHead) - lo; int64(len(*reuse)) < need {
			*reuse = make([]byte, need)
		}
		window := (*reuse)[:min(size, hi+maxHead)-lo]
		if n, err := r.ReadAt(window, lo); n < len(window) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		line := func(i int) []byte { // at this index of the window
			l, _, _ := bytes.Cut(window[i:min(len(window), i+maxHead)], []byte("\n"))
			return l
		}
		starts = starts[:0]
		for at, end := 0, int(hi-lo); at < end; at++ { // searching forward is much faster
			n := bytes.IndexByte(window[at:end], '\n')
			if n < 0 {
				break
			}
			at += n
			starts = append(starts, at+1)
		}
		for _, i := range slices.Backward(starts) {
			if lo+int64(i) < size && !f(lo+int64(i), line(i)) {
				return nil
			}
		}
		if lo == 0 {
			f(0, line(0))
			return nil
		}
		hi = lo
	}
	return nil
}
