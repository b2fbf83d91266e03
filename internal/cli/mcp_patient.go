package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// drainWait is how long calls under way may go on after stdin has ended, so that a file of requests gets its answers.
const drainWait = 600 * time.Millisecond

// patient is the two ends of a connection. It tells of the end of the input once all requests are answered, or a short
// time has passed.
type patient struct {
	in  io.Reader
	out io.Writer

	mu             sync.Mutex
	open           int // requests without an answer
	asked, answers lineSplitter
	err            error // of the input, not told yet
}

func (p *patient) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.drained()
	}
	n, err := p.in.Read(b)
	p.count(&p.asked, b[:n], func(m envelope) int {
		if m.Method != "" && len(m.ID) > 0 {
			return 1
		}
		return 0
	})
	if err == nil {
		return n, nil
	}
	p.err = err
	if n > 0 {
		return n, nil
	}
	return 0, p.drained()
}

func (p *patient) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	p.count(&p.answers, b[:n], func(m envelope) int {
		if m.Method == "" && len(m.ID) > 0 {
			return -1
		}
		return 0
	})
	return n, err
}

// Close keeps stdout open: it is not the protocol's to close.
func (p *patient) Close() error { return nil }

// drained waits until nothing is left to answer.
func (p *patient) drained() error {
	for end := time.Now().Add(drainWait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		if open <= 0 {
			break
		}
	}
	return p.err
}

// envelope is what tells a request from an answer.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func (p *patient) count(lines *lineSplitter, b []byte, worth func(envelope) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines.add(b, func(line []byte) {
		var m envelope
		if json.Unmarshal(line, &m) == nil {
			p.open += worth(m)
		}
	})
}

// lineSplitter puts lines together from pieces.
type lineSplitter struct{ rest []byte }

func (l *lineSplitter) add(b []byte, each func(line []byte)) {
	for {
		line, after, ended := bytes.Cut(b, []byte("\n"))
		if !ended {
			if len(l.rest)+len(b) <= maxLine { // of a longer line nothing is known
				l.rest = append(l.rest, b...)
			}
			return
		}
		each(append(l.rest, line...))
		l.rest, b = nil, after
	}
}
