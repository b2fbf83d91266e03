package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// helloOf reads the beginning of TLS, and checks that it names the host.
func helloOf(r *bufio.Reader, t Target) ([]byte, error) {
	raw, message, err := readHello(r)
	var h hello
	if err == nil {
		h, err = parseHello(message)
	}
	name := t.Host
	if t.Addr.IsValid() {
		name = "" // TLS has no addresses there
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: this is not TLS: %w", t, err)
	case h.encrypted:
		return nil, fmt.Errorf("%s: the server name is encrypted (ECH), so it can't be checked", t)
	case !strings.EqualFold(h.name, name):
		return nil, fmt.Errorf("%s: the server name in TLS is %q", t, h.name)
	}
	rest, _ := r.Peek(r.Buffered())
	return append(raw, rest...), nil
}

var errHello = errors.New("invalid ClientHello")

// readHello reads the records of a ClientHello: all bytes, and the message in them.
func readHello(r io.Reader) (raw, message []byte, err error) {
	const maxRecord, maxMessage = 16 << 10, 64 << 10
	for {
		var head [5]byte // type, version, length
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, nil, err
		}
		n := int(binary.BigEndian.Uint16(head[3:]))
		if head[0] != 0x16 || head[1] != 3 || n == 0 || n > maxRecord {
			return nil, nil, errHello
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, nil, err
		}
		raw, message = append(append(raw, head[:]...), body...), append(message, body...)
		if message[0] != 1 || len(message) > maxMessage {
			return nil, nil, errHello
		}
		if len(message) < 4 {
			continue
		}
		switch n := int(binary.BigEndian.Uint32(message) & 0xffffff); {
		case n > maxMessage || len(message) > 4+n: // there is nothing else before the host answers
			return nil, nil, errHello
		case len(message) == 4+n:
			return raw, message[4:], nil
		}
	}
}

// hello is what counts in a ClientHello.
type hello struct {
	name      string
	encrypted bool
}

// part is a part of a message that wasn't read yet; bad once something was missing.
type part struct {
	b   []byte
	bad bool
}

// take returns the next n bytes.
func (p *part) take(n int) []byte {
	if n > len(p.b) {
		p.b, p.bad = nil, true
		return make([]byte, min(n, 4))
	}
	out := p.b[:n]
	p.b = p.b[n:]
	return out
}

// list returns the next list, whose length is in a number of that many bytes.
func (p *part) list(size int) *part {
	n := 0
	for _, b := range p.take(size) {
		n = n<<8 | int(b)
	}
	if n > len(p.b) {
		p.b, p.bad = nil, true
		return &part{bad: true}
	}
	return &part{b: p.take(n)}
}

// parseHello reads a ClientHello, strictly: another program must not read it differently.
func parseHello(message []byte) (h hello, err error) {
	const serverName, encryptedHello = 0, 0xfe0d
	m := &part{b: message}
	m.take(2 + 32) // version, random
	m.list(1)      // session
	m.list(2)      // ciphers
	m.list(1)      // compression
	all := m.list(2)
	if m.bad || len(m.b) > 0 {
		return h, errHello
	}
	seen := map[uint16]bool{}
	for len(all.b) > 0 {
		kind := binary.BigEndian.Uint16(all.take(2))
		value := all.list(2)
		if all.bad || seen[kind] {
			return h, errHello
		}
		seen[kind] = true
		switch kind {
		case serverName:
			names := value.list(2)
			isHost := names.take(1)[0] == 0
			name := names.list(2)
			if value.bad || names.bad || !isHost || len(value.b)+len(names.b) > 0 || len(name.b) == 0 {
				return h, errHello // not exactly one name
			}
			h.name = string(name.b)
		case encryptedHello:
			h.encrypted = true
		}
	}
	return h, nil
}
