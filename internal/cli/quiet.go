package cli

import (
	"fmt"
	"io"
	"sync"
)

// quietWriter holds back what others want to tell while a question is open.
type quietWriter struct {
	w io.Writer

	mu   sync.Mutex
	open bool
	held []string
}

// Write is for the question itself.
func (q *quietWriter) Write(p []byte) (int, error) { return q.w.Write(p) }

// tell writes a line now, or after the question.
func (q *quietWriter) tell(line string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open {
		q.held = append(q.held, line)
		return
	}
	fmt.Fprintln(q.w, line)
}

func (q *quietWriter) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = true
}

func (q *quietWriter) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range q.held {
		fmt.Fprintln(q.w, line)
	}
	q.open, q.held = false, nil
}
