package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// What the program and a keeper say to each other, over a stream socket: a
// letter, the length of what follows, and that.
const (
	msgRun     = 'R' // to the keeper: a spec
	msgStop    = 'T' // to the keeper: grace in milliseconds
	msgReady   = 'K' // the keeper stands and waits for its command
	msgStarted = 'S' // pid
	msgFailed  = 'F' // errno; if the box could not be made, text that says why
	msgExited  = 'X' // wait status, number of processes left; the sandbox's report as JSON
	msgEmpty   = 'E' // nothing is left; the keeper ends
	msgLeft    = 'L' // number of processes that would not end; the keeper ends
)

// maxMessage bounds a message: a command line and an environment are smaller.
const maxMessage = 64 << 20

func send(w io.Writer, kind byte, body []byte) error {
	m := make([]byte, 5, 5+len(body))
	m[0] = kind
	binary.BigEndian.PutUint32(m[1:], uint32(len(body)))
	_, err := w.Write(append(m, body...))
	return err
}

func receive(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxMessage {
		return 0, nil, fmt.Errorf("read message of %d bytes: larger than %d", n, maxMessage)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

// numbers writes numbers, and number reads the i-th; 0 if it is missing.
func numbers(ns ...int) []byte {
	var b []byte
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

func number(b []byte, i int) int {
	if len(b) < 4*i+4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(b[4*i:]))
}

// encode writes a spec as strings with their lengths: environments hold any
// bytes, so JSON would not do.
func (s *spec) encode() []byte {
	var b []byte
	str := func(v string) {
		b = binary.AppendUvarint(b, uint64(len(v)))
		b = append(b, v...)
	}
	list := func(v []string) {
		b = binary.AppendUvarint(b, uint64(len(v)))
		for _, e := range v {
			str(e)
		}
	}
	str(s.dir)
	str(s.script)
	list(s.argv)
	list(s.env)
	str(s.input)
	str(strconv.FormatBool(s.split))
	switch {
	case s.made != nil:
		str(string(s.made.Encode()))
	case s.box != nil:
		str(string(sandbox.New(s.box, s.plan, boxTemp(s.marker)).Encode()))
	default:
		str("")
	}
	return b
}

// decodeSpec reads what encode has written. The box is its own, if there is one.
func decodeSpec(b []byte) (*spec, *sandbox.Box, error) {
	bad := errors.New("read the command: invalid message")
	str := func() (v string, ok bool) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return "", false
		}
		v, b = string(b[k:k+int(n)]), b[k+int(n):]
		return v, true
	}
	list := func() (v []string, ok bool) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)) {
			return nil, false
		}
		b = b[k:]
		for range n {
			e, ok := str()
			if !ok {
				return nil, false
			}
			v = append(v, e)
		}
		return v, true
	}
	s := &spec{}
	var ok [7]bool
	s.dir, ok[0] = str()
	s.script, ok[1] = str()
	s.argv, ok[2] = list()
	s.env, ok[3] = list()
	s.input, ok[4] = str()
	split, isSplit := str()
	s.split, ok[5] = split == "true", isSplit
	raw, last := str()
	if ok[6] = last; slices.Contains(ok[:], false) || len(s.argv) == 0 || len(b) > 0 {
		return nil, nil, bad
	}
	if raw == "" {
		return s, nil, nil
	}
	box, err := sandbox.DecodeBox([]byte(raw))
	return s, box, err
}
