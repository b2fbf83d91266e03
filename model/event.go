package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// An Event is a piece of an answer: [Text], [Thought], [Call], [Sealed], [Usage], [Retry] or [End].
type Event interface{ event() }

// Usage counts tokens. A later one of the same answer replaces an earlier one. Input includes CacheRead and
// CacheCreation; Output includes Reasoning.
type Usage struct {
	Input         int `json:"input"`
	Output        int `json:"output"`
	CacheRead     int `json:"cacheRead,omitempty"`
	CacheCreation int `json:"cacheCreation,omitempty"`
	Reasoning     int `json:"reasoning,omitempty"`
}

// Plus returns the sum of two answers.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input:         u.Input + v.Input,
		Output:        u.Output + v.Output,
		CacheRead:     u.CacheRead + v.CacheRead,
		CacheCreation: u.CacheCreation + v.CacheCreation,
		Reasoning:     u.Reasoning + v.Reasoning,
	}
}

// Total returns all tokens of the request and the answer.
func (u Usage) Total() int { return u.Input + u.Output }

// Retry reports that the request failed and will be sent again. Nothing of the answer was emitted before it. Its
// String is a line for front ends.
type Retry struct {
	Attempt int           // the one that failed, from 1
	Wait    time.Duration // until the next
	Err     error
}

// String returns one line such as "rate limited, retrying in 8 s (attempt 3)". The attempt is the next one.
func (r Retry) String() string {
	var e *Error
	errors.As(r.Err, &e)
	cause := "request failed"
	switch {
	case e == nil && r.Err != nil:
		cause = r.Err.Error()
	case e == nil:
	case e.Kind == ErrRateLimit:
		cause = "rate limited"
	case e.Kind == ErrServer && e.Status != 0:
		cause = fmt.Sprintf("server error %d", e.Status)
	default:
		cause = string(e.Kind)
	}
	if r.Wait <= 0 {
		return fmt.Sprintf("%s, retrying (attempt %d)", cause, r.Attempt+1)
	}
	return fmt.Sprintf("%s, retrying in %s (attempt %d)", cause, humanize.Wait(r.Wait), r.Attempt+1)
}

// End is the last event of an answer.
type End struct{ Reason Reason }

// Reason is why an answer ended. Other values of a server are kept unchanged.
type Reason string

// The reasons that all servers share.
const (
	Stop   Reason = "stop"   // the model finished
	Length Reason = "length" // truncated: the last text or call may be incomplete
	Calls  Reason = "calls"  // the model waits for the results of its calls
	Filter Reason = "filter" // the server filtered the rest
)

func (Text) event()    {}
func (Thought) event() {}
func (Call) event()    {}
func (Sealed) event()  {}
func (Usage) event()   {}
func (Retry) event()   {}
func (End) event()     {}
