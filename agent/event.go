package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// An Event reports progress to a front end: [Told], [Declared], [Began], [Said], [Called], [Step], [Answered],
// [Responded], [Resumed], [Compacted], [Stuck]. Within a turn they come in this order; Steps come whenever a call
// changes its stage. Told, Answered and Responded together report every message that enters the history, and Compacted
// what replaces it.
type Event interface{ event() }

// Told reports a message to the model: a prompt, news, or the request to continue an answer.
type Told struct {
	Message model.Message
	News    bool // it is not a prompt
}

// Declared reports how requests begin, before the first one and whenever a tool was added.
type Declared struct {
	System  string             // the system prompt, without Listing
	Listing string             // of the tools that were deferred at the first turn; the system prompt ends with it
	Tools   []tool.Declaration // in the order of the request
}

// Began reports a request to the model.
type Began struct {
	Turn int // of the session, from 1
}

// Said is a piece of the model's answer as it streams: a Text, Thought, Usage or Retry.
type Said struct{ model.Event }

// Called reports a call of the model. From here on its ID is unique in the session.
type Called struct{ tool.Call }

// Step is an event of the executor, including those of subagents.
type Step struct{ tool.Event }

// Answered reports that the model's answer is complete, or was cut off by Err.
type Answered struct {
	Turn    int
	Message model.Message
	Sent    model.Message // as it is in the history and servers accept it; without parts if it was dropped
	Usage   model.Usage
	Reason  model.Reason
	Took    time.Duration
	Err     error
	Model   string // that answered
}

// Responded reports that all calls of the answer have ended, with one outcome and one response for each, in order.
type Responded struct {
	Turn     int
	Message  model.Message
	Outcomes []tool.Outcome
}

// Resumed reports that an answer was cut off by Err and the model is asked to continue it. All complete calls have
// ended.
type Resumed struct {
	Turn  int // the one that was cut off
	Times int // for this prompt, from 1
	Most  int // after so many the run ends with the error instead
	Err   error
}

// Compacted reports that the conversation was shortened before a turn, to fit into the model's context: old results
// became the paths of files that have them and, if that wasn't enough, a summary replaced all but the last turns.
type Compacted struct {
	Turn          int             // whose request was too long, or the last one
	Before, After int             // tokens of the next request
	Results       int             // results that became paths
	Summary       string          // "": none was needed, or Err says why there is none
	Messages      []model.Message // the conversation from now on
	Prompts       [][]model.Part  // the user's, for Options.Prompts
	Usage         model.Usage     // of the requests for a summary
	// why the agent's own model wrote the summary instead of the configured one; nil: it didn't
	Fallback error
	Err      error // why there is no summary. Nothing is lost
}

// String returns one line for users.
func (c Compacted) String() string {
	if c.Err != nil {
		return strings.ReplaceAll(c.Err.Error(), "\n", " ")
	}
	how := "replaced " + humanize.Count(c.Results, "old result") + " by saved files"
	if c.Summary != "" {
		how = "summarized all but the last turns"
	}
	line := fmt.Sprintf("compacted the conversation from %s to %s tokens: %s", humanize.Number(c.Before),
		humanize.Number(c.After), how)
	if c.Fallback != nil {
		line += " (with the current model, because the model for summaries failed: " +
			strings.ReplaceAll(c.Fallback.Error(), "\n", " ") + ")"
	}
	return line
}

// Stuck reports a model that repeats calls with the results it had before.
type Stuck struct {
	Turn  int
	Times int // turns in a row without anything new
	Calls []tool.Call
}

// String returns one line for users.
func (s Stuck) String() string {
	return fmt.Sprintf("the last %d turns repeated calls with the same results (%s)", s.Times, callNames(s.Calls))
}

// callNames returns the names of tools, as a short line.
func callNames(calls []tool.Call) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Name)
	}
	return short(strings.Join(names, ", "), 200)
}

// Changed reports what a background command changed, after it has ended. An agent doesn't send it: what runs commands
// does.
type Changed struct {
	ID      string    // of the command
	Call    tool.Call // that started it
	Changes tool.Changes
}

// String describes the changes in a line.
func (c Changed) String() string { return "background command " + c.ID + ": " + c.Changes.Count() }

func (Told) event()      {}
func (Declared) event()  {}
func (Began) event()     {}
func (Said) event()      {}
func (Called) event()    {}
func (Step) event()      {}
func (Answered) event()  {}
func (Responded) event() {}
func (Resumed) event()   {}
func (Compacted) event() {}
func (Stuck) event()     {}
func (Changed) event()   {}
