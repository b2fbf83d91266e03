package model

import "time"

// An Event is a piece of an answer: [Text], [Thought], [Call], [Usage], [Retry] or [End].
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

// Plus adds up two answers.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input:         u.Input + v.Input,
		Output:        u.Output + v.Output,
		CacheRead:     u.CacheRead + v.CacheRead,
		CacheCreation: u.CacheCreation + v.CacheCreation,
		Reasoning:     u.Reasoning + v.Reasoning,
	}
}

// Total is all tokens of the answer and its question.
func (u Usage) Total() int { return u.Input + u.Output }

// Retry tells that the request failed and will be sent again. Nothing of the answer was handed out before it.
type Retry struct {
	Attempt int           // the one that failed, from 1
	Wait    time.Duration // until the next
	Err     error
}

// End is the last event of an answer.
type End struct{ Reason Reason }

// Reason says why an answer ended. A server's own word that is none of these is kept as it came.
type Reason string

// The reasons that servers have in common.
const (
	Stop   Reason = "stop"   // the model had said what it wanted
	Length Reason = "length" // cut: what came last, a call too, may lack its end
	Calls  Reason = "calls"  // the model waits for the answers to its calls
	Filter Reason = "filter" // the server held the rest back
)

func (Text) event()    {}
func (Thought) event() {}
func (Call) event()    {}
func (Usage) event()   {}
func (Retry) event()   {}
func (End) event()     {}
