package record

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Entry is an entry of an agent that isn't in a journal yet.
type Entry struct {
	By   string
	Data journal.Data
}

// Response returns the result of a call as a message to the model.
func Response(c tool.Call, o tool.Outcome) model.Response {
	content := o.Result.Content
	if o.Result.Text() == "" {
		content = []tool.Part{tool.Text("(empty)")}
	}
	return model.Response{
		ID: c.ID, Name: c.Name, Content: content, IsError: o.Status != tool.StatusSuccess,
		Denied: o.Status == tool.StatusDenied,
	}
}

const (
	unknownText = "%s: interrupted: the session ended or could no longer be recorded while this call was running, so " +
		"its effect is unknown. It may have " +
		"happened in full, in part or not at all. Check the current state before you decide whether to repeat it."
	neverText = "%s: not executed: the session ended before this call started. Repeat it if it is still needed."
	triedText = "%s: not executed: the session ended while this call was tried, before anything of it was kept. " +
		"Nothing was changed. " +
		"Repeat it if it is still needed."
	interruptText = "the session ended before the answer did"
)

// LostName is a file beside a journal that can't be written anymore, usually because the disk is full: a line for each
// call that ran after that. An empty file needs no space.
const LostName = "lost"

// maxLost is how many lost calls are named.
const maxLost = 20

// LostCalls returns the news about calls of a session that weren't recorded; "": all were.
func LostCalls(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	news := "The end of this session wasn't recorded, because its journal couldn't be written. Calls may have run " +
		"after the last " +
		"one that you see, and their results are lost. Check the current state before you continue."
	if len(text) > 0 {
		calls := strings.Split(string(text), "\n")
		if more := len(calls) - maxLost; more > 0 {
			calls = append(calls[:maxLost], fmt.Sprintf("%d more", more))
		}
		news += " These calls ran: " + strings.Join(calls, "; ") + "."
	}
	return news
}

// Settle returns the entries that settle unfinished work of every agent: an answer with the calls whose answer never
// ended, and a response for each call without one. lost: calls may have run that weren't recorded.
func Settle(state *journal.State, lost bool) []Entry {
	var out []Entry
	for _, by := range slices.Sorted(maps.Keys(state.Agents)) {
		a := state.Agents[by]
		var lone []model.Part
		answered, rest := model.Message{Role: model.Tool}, model.Message{Role: model.Tool}
		for _, c := range a.Calls {
			if c.Answered {
				answered.Parts = append(answered.Parts, settled(c, lost))
				continue
			}
			lone = append(lone, c.Call)
			rest.Parts = append(rest.Parts, settled(c, lost))
		}
		if len(answered.Parts) > 0 {
			out = append(out, Entry{by, journal.Responses{Turn: a.Turn, Message: answered}})
		}
		if len(lone) > 0 {
			answer := agent.Sendable(model.Message{Role: model.Assistant, Parts: lone})
			out = append(out, Entry{by, journal.Answer{Turn: a.Turn, Error: interruptText, Message: answer}},
				Entry{by, journal.Responses{Turn: a.Turn, Message: rest}})
		}
		if by != "" && running(a) {
			last := model.Message{Role: model.Assistant, Parts: []model.Part{model.Text("(" + interruptText + ")")}}
			out = append(out, Entry{by, journal.Answer{Turn: a.Turn, Error: interruptText, Message: last}})
		}
	}
	return out
}

// settled returns the response to a call without one: its result, that its effect is unknown, or that it didn't run.
func settled(c journal.Call, lost bool) model.Response {
	text := neverText
	switch {
	case c.Finished != nil:
		o := c.Finished.Outcome
		return Response(c.Call.Call, tool.Outcome{Status: o.Status, Result: o.Result})
	case c.Started != nil || lost:
		text = unknownText
	case c.Tried != nil:
		text = triedText
	}
	return model.Response{
		ID: c.Call.ID, Name: c.Call.Name, IsError: true,
		Content: []tool.Part{tool.Text(fmt.Sprintf(text, c.Call.Name))},
	}
}

// Unfinished returns the subagents that were running.
func Unfinished(state *journal.State) []string {
	var names []string
	for _, by := range slices.Sorted(maps.Keys(state.Agents)) {
		if by != "" && running(state.Agents[by]) {
			names = append(names, by)
		}
	}
	return names
}

// running reports whether an agent has not given its final answer.
func running(a *journal.Agent) bool {
	if n := len(a.History) - 1; n >= 0 && len(a.Calls) == 0 {
		last := a.History[n]
		return last.Role != model.Assistant || len(last.Calls()) > 0
	}
	return true
}

// Seen returns what all agents of the session have read. If several read a file, the first agent's record counts.
func Seen(state *journal.State) []builtin.FileRecord {
	seen := map[string]journal.Seen{}
	for _, by := range slices.Backward(slices.Sorted(maps.Keys(state.Agents))) {
		maps.Copy(seen, state.Agents[by].Seen)
	}
	var out []builtin.FileRecord
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		s := seen[path]
		out = append(out, builtin.FileRecord{
			Path: path, Hash: s.Hash, Lines: s.Lines, Whole: s.Whole, Opaque: s.Opaque, Read: s.Read,
		})
	}
	return out
}
