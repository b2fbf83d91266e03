package document

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// Limits of the work on a PDF before a page is read.
const (
	maxPDFObject   = 4 << 20   // an object without its stream
	maxPDFObjects  = 2_000_000 // their numbers
	maxPDFUnpacked = 128 << 20 // objects that were packed in streams
)

// ErrEncrypted reports a PDF that must be decrypted first.
var ErrEncrypted = errors.New("the PDF is encrypted; decrypt it first, for example with qpdf --decrypt")

// errNotPDF reports a file without any PDF objects.
var errNotPDF = errors.New("the PDF is damaged: it has no document in it")

// repairedPDF is a PDF file with an appended table of its objects.
//
// The library that reads objects trusts the tables of a file: one that points back at itself, or claims 2^60 entries,
// would hang or kill the process. So the file's tables are not used. All objects are found by scanning, those in object
// streams are unpacked within limits, and the library gets a valid table. This also reads files whose tables are wrong
// or cut off.
type repairedPDF struct {
	data []byte
	tail []byte
	tick func() // called on every read; may panic to stop the reader
}

// Patterns in a PDF. Most sessions don't need them: each is compiled on first use.
var (
	rootRef    = lazily(`/Root\s+(\d{1,9})\s+(\d{1,5})\s+R`)
	encryptRef = lazily(`/Encrypt\s*(<<|\d{1,9}\s+\d{1,5}\s+R)`)
	catalog    = lazily(`/Type\s*/Catalog\b`)
	objStream  = lazily(`/Type\s*/ObjStm\b`)
	objCount   = lazily(`/N\s+(\d{1,7})\b`)
	objFirst   = lazily(`/First\s+(\d{1,9})\b`)
	streamWord = lazily(`>>\s*stream`) // fonts are named Bitstream
	plainFlate = lazily(`/Filter\s*(\[\s*)?/FlateDecode\b`)
)

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// pdfObject is an object and its position.
type pdfObject struct {
	id, gen int
	offset  int
	head    []byte // without its stream
	stream  []byte
}

// repairPDF finds the objects of a PDF. tick is called regularly, and may panic to stop it.
func repairPDF(data []byte, tick func()) (*repairedPDF, error) {
	if at := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); at > 0 {
		data = data[at:] // offsets are relative to this, but not used
	}
	if encryptRef().Match(data) {
		return nil, ErrEncrypted
	}
	r := &repairedPDF{data: data, tick: tick}
	at := map[int]pdfObject{}
	root, room := 0, maxPDFUnpacked
	for _, o := range scanPDF(data) {
		tick()
		at[o.id] = o
		if catalog().Match(o.head) {
			root = o.id
		}
		if o.stream == nil || !objStream().Match(o.head) {
			continue
		}
		body := unpackStream(o, room)
		room -= len(body)
		for _, inner := range packedObjects(o.head, body) {
			inner.offset = len(data) + len(r.tail)
			r.tail = fmt.Appendf(r.tail, "\n%d 0 obj\n%s\nendobj\n", inner.id, inner.head)
			inner.offset++ // after the newline
			at[inner.id] = inner
			if catalog().Match(inner.head) {
				root = inner.id
			}
		}
	}
	if refs := rootRef().FindAllSubmatch(data, -1); len(refs) > 0 {
		if id, _ := strconv.Atoi(string(refs[len(refs)-1][1])); at[id].id != 0 {
			root = id
		}
	}
	if root == 0 {
		return nil, errNotPDF
	}
	r.writeTable(at, at[root])
	return r, nil
}

// writeTable appends a table of the objects.
func (r *repairedPDF) writeTable(at map[int]pdfObject, root pdfObject) {
	ids := make([]int, 0, len(at))
	for id := range at {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	r.tail = append(r.tail, '\n')
	start := len(r.data) + len(r.tail)
	r.tail = append(r.tail, "xref\n"...)
	for _, id := range ids {
		r.tail = fmt.Appendf(r.tail, "%d 1\n%010d %05d n \n", id, at[id].offset, at[id].gen)
	}
	r.tail = fmt.Appendf(r.tail, "trailer\n<< /Size %d /Root %d %d R >>\nstartxref\n%d\n%%%%EOF\n", ids[len(ids)-1]+1,
		root.id, root.gen, start)
}

// scanPDF lists the objects in the file itself, in order.
func scanPDF(data []byte) []pdfObject {
	var out []pdfObject
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("obj"))
		if i < 0 {
			return out
		}
		word := at + i
		at = word + len("obj")
		o, ok := objectHeader(data, word)
		if !ok {
			continue
		}
		end := bytes.Index(data[at:], []byte("endobj"))
		if end < 0 {
			end = len(data) - at
		}
		o.head = data[at : at+end]
		if s := streamWord().FindIndex(o.head); s != nil {
			body := at + s[1]
			o.head = o.head[:s[0]+len(">>")]
			stop := bytes.Index(data[body:], []byte("endstream"))
			if stop < 0 {
				stop = len(data) - body
			}
			o.stream = bytes.TrimPrefix(bytes.TrimPrefix(data[body:body+stop], []byte("\r")), []byte("\n"))
			at = body + stop
		} else {
			at += end
		}
		if len(o.head) <= maxPDFObject && o.id > 0 && o.id < maxPDFObjects {
			out = append(out, o)
		}
	}
}

// objectHeader reads the two numbers before "obj" at offset word.
func objectHeader(data []byte, word int) (pdfObject, bool) {
	gen, at, ok1 := numberBefore(data, word)
	id, at, ok2 := numberBefore(data, at)
	return pdfObject{id: id, gen: gen, offset: at}, ok1 && ok2 && gen <= 65535
}

// numberBefore reads the number before offset end, skipping spaces, and returns where it begins.
func numberBefore(data []byte, end int) (n, start int, ok bool) {
	i := end
	for i > 0 && isPDFSpace(data[i-1]) {
		i--
	}
	digits := i
	for i > 0 && data[i-1] >= '0' && data[i-1] <= '9' && digits-i < 10 {
		i--
	}
	n, err := strconv.Atoi(string(data[i:digits]))
	return n, i, err == nil && digits < end
}

func isPDFSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

// unpackStream returns the content of an object stream, limited to room bytes. Of a damaged stream it returns the part
// before the error.
func unpackStream(o pdfObject, room int) []byte {
	if !plainFlate().Match(o.head) {
		if bytes.Contains(o.head, []byte("/Filter")) {
			return nil
		}
		return o.stream[:min(len(o.stream), room)]
	}
	z, err := zlib.NewReader(bytes.NewReader(o.stream))
	if err != nil {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(z, int64(room)))
	return body
}

// packedObjects lists the objects in the content of an object stream.
func packedObjects(head, body []byte) []pdfObject {
	count, first := intIn(objCount(), head), intIn(objFirst(), head)
	if first <= 0 || first > len(body) {
		return nil
	}
	numbers := bytes.Fields(body[:first])
	count = min(count, len(numbers)/2)
	var out []pdfObject
	for i := range count {
		id, err1 := strconv.Atoi(string(numbers[2*i]))
		from, err2 := strconv.Atoi(string(numbers[2*i+1]))
		to := len(body) - first
		if i+1 < count {
			if next, err := strconv.Atoi(string(numbers[2*i+3])); err == nil && next >= from {
				to = min(to, next)
			}
		}
		if err1 != nil || err2 != nil || id <= 0 || id >= maxPDFObjects || from < 0 || from > to ||
			to-from > maxPDFObject {
			continue
		}
		out = append(out, pdfObject{id: id, head: body[first+from : first+to]})
	}
	return out
}

func intIn(re *regexp.Regexp, s []byte) int {
	m := re.FindSubmatch(s)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

func (r *repairedPDF) size() int64 { return int64(len(r.data) + len(r.tail)) }

// pdfHeader is the only header that the library accepts; it replaces the file's own, with any version.
const pdfHeader = "%PDF-1.7\n"

// ReadAt reads the file, with its header replaced, and then the tail.
func (r *repairedPDF) ReadAt(p []byte, off int64) (int, error) {
	r.tick()
	if off < 0 || off >= r.size() {
		return 0, io.EOF
	}
	n := 0
	if off < int64(len(r.data)) {
		n = copy(p, r.data[off:])
		if off < int64(len(pdfHeader)) {
			copy(p[:n], pdfHeader[off:])
		}
	}
	if at := off + int64(n) - int64(len(r.data)); n < len(p) && at >= 0 {
		n += copy(p[n:], r.tail[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
