package agent

import (
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// An Event tells a front end what happens: [Began], [Said], [Called], [Step], [Answered], [Responded], [Resumed]. Of
// one turn they come in this order; Steps come whenever a call moves.
type Event interface{ event() }

// Began tells that the model is asked.
type Began struct {
	Turn int // of the session, from 1
}

// Said is a piece of the model's answer as it comes: a Text, Thought, Usage or Retry.
type Said struct{ model.Event }

// Called tells that the model has said a call. From here on its ID is unique in the session.
type Called struct{ tool.Call }

// Step is what the executor tells of a call, sub-agents' too.
type Step struct{ tool.Event }

// Answered tells that the model's answer is complete, or broke off with Err.
type Answered struct {
	Turn    int
	Message model.Message
	Usage   model.Usage
	Reason  model.Reason
	Err     error
}

// Responded tells that all calls of the answer have ended: there is one outcome and one response for each, in order.
type Responded struct {
	Turn     int
	Message  model.Message
	Outcomes []tool.Outcome
}

// Resumed reports that an answer was cut off by Err, and that the model is asked to continue it. The calls that were
// complete have ended.
type Resumed struct {
	Turn  int // the one that was cut off
	Times int // for this prompt, from 1
	Most  int // after so many the run ends with the error instead
	Err   error
}

func (Began) event()     {}
func (Said) event()      {}
func (Called) event()    {}
func (Step) event()      {}
func (Answered) event()  {}
func (Responded) event() {}
func (Resumed) event()   {}
