package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"
)

// drainWait is how long running calls may continue after the input has ended, so that a file of requests gets its
// responses.
const drainWait = 600 * time.Millisecond

// unanswered has the IDs of the forwarded requests without a response.
type unanswered struct {
	mu      sync.Mutex
	open    map[string]bool
	writing int // responses
}

func newUnanswered() *unanswered { return &unanswered{open: map[string]bool{}} }

// envelope has the fields that distinguish requests from responses.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// asked records a message from the client. It returns the ID of one that has no response yet: the SDK would drop the
// message.
func (u *unanswered) asked(message []byte) (used string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range envelopes(message) {
		if e.Method != "" {
			if u.open[string(e.ID)] {
				used = string(e.ID)
			}
			u.open[string(e.ID)] = true
		}
	}
	return used
}

// answered records that a message to the client is written, until the returned function is called. Then the client may
// have used the ID again.
func (u *unanswered) answered(message []byte) (written func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writing++
	for _, e := range envelopes(message) {
		if e.Method == "" {
			delete(u.open, string(e.ID))
		}
	}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.writing--
	}
}

// envelopes returns what is known of the messages with an ID.
func envelopes(message []byte) []envelope {
	all := make([]envelope, 1)
	if bytes.HasPrefix(bytes.TrimSpace(message), []byte("[")) {
		_ = json.Unmarshal(message, &all) // invalid messages don't count
	} else {
		_ = json.Unmarshal(message, &all[0])
	}
	return slices.DeleteFunc(all, func(e envelope) bool { return len(e.ID) == 0 || string(e.ID) == "null" })
}

// drain waits until all requests are answered, or a short time has passed.
func (u *unanswered) drain() {
	for end := time.Now().Add(drainWait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		u.mu.Lock()
		open := len(u.open) + u.writing
		u.mu.Unlock()
		if open == 0 {
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
	defer a.open.answered(p)()
	return a.WriteCloser.Write(p)
}
