package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/adze-dev/adze/model/internal/scripted"
	"github.com/adze-dev/adze/model/modeltest"
)

// object is a JSON object whose keys keep their order, as the real server's do.
type object = scripted.Object

// kindJSON is the content type of answers that aren't streams.
const kindJSON = "application/json; charset=UTF-8"

// reply converts the answer for the server.
func (a Answer) reply() modeltest.Reply {
	return modeltest.Reply{
		When: a.When, Expect: a.Expect, Absent: a.Absent, Status: a.Status, Header: a.Header,
		Pause: time.Duration(a.Faults.Pause), Chunk: a.Faults.Chunk, Cut: a.Faults.Cut, End: a.Faults.End,
		Body: a.body,
	}
}

// body returns a stream, or a body instead of one.
func (a Answer) body(n int, _ string) (kind string, frames []string) {
	const one, stream = kindJSON, "text/event-stream"
	if a.Status != 0 || a.Raw != "" {
		return scripted.Raw(a.Raw, a.Status, one, stream)
	}
	events := a.events(fmt.Sprintf("response_%d", n))
	if a.Faults.Plain {
		return one, []string{"[" + strings.Join(events, "\n,\r\n") + "]\n"}
	}
	for i, e := range events {
		events[i] = "data: " + e + "\n\n"
	}
	if a.Faults.Done {
		events = append(events, "data: [DONE]\n\n")
	}
	return stream, scripted.Dress(events, !a.Faults.LF, a.Faults.Comments)
}

// signedPart is a part of an answer, to check it when it is sent back.
type signedPart struct {
	json      object
	signature string
	content   string // the text, or the name of the call
}

// parts returns the parts of the answer as the server sends them.
func (a Answer) parts() []signedPart {
	var out []signedPart
	for _, p := range scripted.Runes(a.Thought, a.Faults.Split) {
		out = append(out, signedPart{json: object{{"text", p}, {"thought", true}}})
	}
	texts := scripted.Runes(a.Text, a.Faults.Split)
	for i, p := range texts {
		if i == len(texts)-1 && a.Faults.SignText {
			out = append(out, signed(object{{"text", p}}, a.Signature, p))
			continue
		}
		out = append(out, signedPart{json: object{{"text", p}}})
	}
	for _, c := range a.Calls {
		call := object{{"name", c.Name}}
		if c.Args != nil {
			call = append(call, scripted.Field{"args", json.RawMessage(scripted.Arguments(c.Args))})
		}
		if c.ID != "" {
			call = append(call, scripted.Field{"id", c.ID})
		}
		out = append(out, signed(object{{"functionCall", call}}, c.Signature, c.Name))
	}
	if a.Signature != "" && !a.Faults.SignText {
		out = append(out, signed(object{{"text", ""}}, a.Signature, ""))
	}
	return out
}

func signed(json object, signature, content string) signedPart {
	if signature != "" {
		json = append(json, scripted.Field{"thoughtSignature", signature})
	}
	return signedPart{json, signature, content}
}

// events returns the events of the answer: one for each part, or one for all. The last has the reason.
func (a Answer) events(id string) []string {
	var groups [][]object
	for i, p := range a.parts() {
		if a.Faults.Together && i > 0 {
			groups[0] = append(groups[0], p.json)
			continue
		}
		groups = append(groups, []object{p.json})
	}
	if len(groups) == 0 {
		groups = [][]object{nil}
	}
	var out []string
	for i, parts := range groups {
		last := i == len(groups)-1 && a.Error == ""
		out = append(out, scripted.JSON(a.event(parts, last, id)))
	}
	if a.Error != "" {
		out = append(out, scripted.JSON(failure(http.StatusServiceUnavailable, a.Error,
			"The model is overloaded. Please try again later.", nil)))
	}
	return out
}

func (a Answer) event(parts []object, last bool, id string) object {
	var out object
	if a.Block != "" {
		feedback := object{{"blockReason", a.Block}}
		if a.Message != "" {
			feedback = append(feedback, scripted.Field{"blockReasonMessage", a.Message})
		}
		out = object{{"promptFeedback", feedback}}
	} else {
		candidate := object{}
		if parts != nil {
			candidate = append(candidate, scripted.Field{"content", object{{"parts", parts}, {"role", "model"}}})
		}
		if last {
			candidate = append(candidate, scripted.Field{"finishReason", a.finish()})
		}
		candidate = append(candidate, scripted.Field{"index", 0})
		if last && a.Message != "" {
			candidate = append(candidate, scripted.Field{"finishMessage", a.Message})
		}
		out = object{{"candidates", []object{candidate}}}
	}
	return append(out, scripted.Field{"usageMetadata", a.Usage.json(last)}, scripted.Field{"modelVersion", "scripted"},
		scripted.Field{"responseId", id})
}

func (a Answer) finish() string {
	if a.Finish == "" {
		return "STOP"
	}
	return a.Finish
}

// json returns the count so far. Zeros are omitted, as by the real server.
func (u Usage) json(last bool) object {
	out := object{{"promptTokenCount", u.Input}}
	total := u.Input
	add := func(name string, n int) {
		if n > 0 {
			out = append(out, scripted.Field{name, n})
		}
	}
	if last {
		add("candidatesTokenCount", u.Output)
		total += u.Output
	}
	add("cachedContentTokenCount", u.Cached)
	add("thoughtsTokenCount", u.Thoughts)
	return append(out, scripted.Field{"totalTokenCount", total + u.Thoughts})
}
