package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// drainWait is how long running calls may continue after the input has ended, so that a file of requests gets its
// responses.
const drainWait = 600 * time.Millisecond

// unanswered counts the forwarded requests without a response.
type unanswered struct {
	mu   sync.Mutex
	open int
}

// envelope has the fields that distinguish requests from responses.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func (e envelope) hasID() bool { return len(e.ID) > 0 && string(e.ID) != "null" }

// asked records a message from the client.
func (u *unanswered) asked(message []byte) {
	u.count(message, func(e envelope) int {
		if e.Method != "" && e.hasID() {
			return 1
		}
		return 0
	})
}

// answered records a message to the client.
func (u *unanswered) answered(message []byte) {
	u.count(message, func(e envelope) int {
		if e.Method == "" && e.hasID() {
			return -1
		}
		return 0
	})
}

func (u *unanswered) count(message []byte, worth func(envelope) int) {
	all := make([]envelope, 1)
	if bytes.HasPrefix(bytes.TrimSpace(message), []byte("[")) {
		_ = json.Unmarshal(message, &all) // invalid messages don't count
	} else {
		_ = json.Unmarshal(message, &all[0])
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range all {
		u.open += worth(e)
	}
}

// drain waits until all requests are answered, or a short time has passed.
func (u *unanswered) drain() {
	for end := time.Now().Add(drainWait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		u.mu.Lock()
		open := u.open
		u.mu.Unlock()
		if open <= 0 {
			return
		}
	}
}

// answers is the output of a connection: each write is one message, and writes may be concurrent.
type answers struct {
	mu   sync.Mutex
	open *unanswered
	io.WriteCloser
}

func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.WriteCloser.Write(p)
	a.open.answered(p)
	return n, err
}
