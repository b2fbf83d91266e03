package journal

import (
	"io"
	"iter"
	"runtime"
	"sync"
)

// decoded is a line of a journal.
type decoded struct {
	Entry  // its Seq is set if the start of the line is valid
	data   Data
	later  bool // decoded by decodeLater
	ok     bool // the line is valid
	whole  bool // it ends with a newline
	size   int
	offset int64
	lost   Lost
	err    error // a content is missing
}

// part is the minimum number of bytes that each processor decodes.
const part = 1 << 20

// decodeLines yields the lines between two offsets. It decodes them in parallel, in parts that bound the memory.
func decodeLines(r io.ReaderAt, start, end int64, blobs Blobs) iter.Seq2[decoded, error] {
	return func(yield func(decoded, error) bool) {
		for workers := int64(runtime.GOMAXPROCS(0)); start < end; {
			stop := end
			if workers > 1 {
				stop = min(end, start+workers*4*part)
			}
			at, err := split(r, start, stop, end, workers)
			if err != nil {
				yield(decoded{}, err)
				return
			}
			if len(at) == 2 {
				if !decodePart(r, at[0], at[1], blobs, yield) {
					return
				}
			} else if !inParts(r, at, blobs, yield) {
				return
			}
			start = at[len(at)-1]
		}
	}
}

// split returns offsets of lines that divide the bytes from start to about stop evenly, including both ends.
func split(r io.ReaderAt, start, stop, end, parts int64) ([]int64, error) {
	parts = max(1, min(parts, (stop-start)/part))
	at := []int64{start}
	for n := int64(1); n <= parts; n++ {
		from := start + (stop-start)*n/parts
		if from >= end {
			break
		}
		in := readLines(r, from, end)
		_, _, whole, err := in.next()
		if err != nil && err != io.EOF {
			return nil, err
		}
		if !whole || in.at >= end {
			break // the last line starts before
		}
		if in.at > at[len(at)-1] {
			at = append(at, in.at)
		}
		if n == parts {
			return at, nil
		}
	}
	return append(at, end), nil
}

// inParts decodes the parts in parallel. It reports whether there may be more lines.
func inParts(r io.ReaderAt, at []int64, blobs Blobs, yield func(decoded, error) bool) bool {
	parts := make([][]decoded, len(at)-1)
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for n := range parts {
		wg.Go(func() {
			decodePart(r, at[n], at[n+1], blobs, func(d decoded, err error) bool {
				if errs[n] = err; err == nil {
					parts[n] = append(parts[n], d)
				}
				return err == nil && d.ok
			})
		})
	}
	wg.Wait()
	for n, lines := range parts {
		for _, d := range lines {
			if !yield(d, nil) || !d.ok {
				return false
			}
		}
		if errs[n] != nil {
			yield(decoded{}, errs[n])
			return false
		}
	}
	return true
}

// decodePart decodes lines one after another. It reports whether all were yielded.
func decodePart(r io.ReaderAt, start, end int64, blobs Blobs, yield func(decoded, error) bool) bool {
	in := readLines(r, start, end)
	for {
		line, offset, whole, err := in.next()
		if err == io.EOF {
			return true
		}
		if err != nil {
			yield(decoded{}, err)
			return false
		}
		d := decodeLine(line, whole, blobs)
		d.offset, d.Data = offset, nil // the line is only valid here
		if !yield(d, nil) {
			return false
		}
	}
}

func decodeLine(line []byte, whole bool, blobs Blobs) decoded {
	d := decoded{whole: whole, size: len(line)}
	e, ok := parseLine(line, whole)
	if !ok {
		e, _, _ = head(line)
		d.Seq = e.Seq
		return d
	}
	d.Entry = e
	if d.data, d.later = decodeLater(e); d.later {
		d.ok = true
		return d
	}
	raw, lost, err := unpackRest(e.Data, blobs)
	if err != nil {
		d.ok, d.err = true, e.invalid(err)
		return d
	}
	d.data, err = decode(e.Type, raw)
	switch {
	case err != nil && e.V <= Version:
		return d
	case d.data == nil: // a format or a type of a newer version
		end, ok := valueEnd(e.Data, 0, 0)
		d.ok = ok && end == len(e.Data)
		return d
	}
	d.ok, d.lost, d.data = true, lost, recovered(d.data, lost)
	return d
}

// parseLine reads a line. The data of a complete line is checked when it is decoded.
func parseLine(line []byte, whole bool) (Entry, bool) {
	if e, rest, ok := head(line); ok && whole && len(rest) > 2 && rest[len(rest)-1] == '}' && intact(line) {
		e.Data = rest[: len(rest)-1 : len(rest)-1]
		return e, true
	}
	return parse(line)
}
