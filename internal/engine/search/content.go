package search

import "io"

// content is the content of a file, whose beginning is read once for all members. The buffer is reused.
type content struct {
	buf     []byte // of size bytes
	n       int    // bytes of it that were read
	size    int
	eof     bool // these are all
	file    file // nil: not open
	err     error
	scratch scratch
}

// open opens a file and reads its beginning.
func (c *content) open(at *openDir, name []byte) {
	if c.file, c.err = at.handle.open(&c.scratch, name); c.err == nil {
		c.fill(binaryHead)
	}
}

// close closes the file.
func (c *content) close() {
	if c.file != nil {
		c.file.Close()
	}
	c.file, c.err, c.n, c.eof = nil, nil, 0, false
}

// fill reads until there are that many bytes or the file ends, and returns all that were read.
func (c *content) fill(size int) ([]byte, error) {
	if c.buf == nil {
		c.buf = make([]byte, c.size)
	}
	if size = min(size, c.size); c.n < size && !c.eof && c.err == nil {
		var n int
		n, c.err = fill(c.file, c.buf[c.n:size])
		c.n += n
		if c.err == io.EOF {
			c.eof, c.err = true, nil
		}
	}
	return c.buf[:c.n], c.err
}

// fill reads until the buffer is full; it returns io.EOF at the end of the file.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		if n += more; more == 0 && err == nil {
			break // too little room for a character
		}
	}
	return n, err
}

// rest returns a reader of what fill hasn't read.
func (c *content) rest() io.Reader {
	if c.eof {
		return io.LimitReader(c.file, 0)
	}
	return io.NewSectionReader(c.file, int64(c.n), 1<<62)
}
