package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/gemini"
	"github.com/adze-dev/adze/tool"
)

// turn plays a request and adds the answer to the conversation the way the agent does, with responses to its calls or a
// prompt. Missing IDs are filled in. It returns the notes of retries.
func turn(t *testing.T, m *gemini.Model, r *model.Request) (notes string) {
	t.Helper()
	answer := model.Message{Role: model.Assistant}
	for e, err := range m.Stream(t.Context(), *r) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case model.Text:
			if n := len(answer.Parts) - 1; n >= 0 {
				if last, ok := answer.Parts[n].(model.Text); ok {
					answer.Parts[n] = last + e
					continue
				}
			}
			answer.Parts = append(answer.Parts, e)
		case model.Thought:
			answer.Parts = append(answer.Parts, e)
		case model.Sealed:
			answer.Parts = append(answer.Parts, e)
		case model.Call:
			if e.ID == "" {
				e.ID = "call_" + string(rune('a'+len(r.Messages)*8+len(answer.Parts)))
			}
			answer.Parts = append(answer.Parts, e)
		case model.Retry:
			notes += e.String()
		}
	}
	data, err := json.Marshal(answer) // as a transcript keeps it
	if err != nil {
		t.Fatal(err)
	}
	answer = model.Message{}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	next := model.Prompt("go on")
	if calls := answer.Calls(); len(calls) > 0 {
		next = model.Message{Role: model.Tool}
		for _, c := range calls {
			next.Parts = append(next.Parts, model.Response{ID: c.ID, Name: c.Name, Content: []tool.Part{tool.Text("ok")}})
		}
	}
	r.Messages = append(r.Messages, answer, next)
	return notes
}

// Everything that a model signs comes back where it was: the scripted server rejects anything else.
func TestSignaturesGoBack(t *testing.T) {
	for name, f := range map[string]faults{"at once": {}, "split": {Split: 2}, "in the text": {Split: 2, SignText: true}, "one event": {Together: true}} {
		t.Run(name, func(t *testing.T) {
			m, _ := open(t, script{Answers: []answer{
				{Thought: "two files", Calls: []call{{ID: "x1", Name: "f", Signature: "Zmlyc3Q="}, {ID: "x2", Name: "g"}}, Faults: f},
				{Expect: []string{`"id":"x1","name":"f","args":{}},"thoughtSignature":"Zmlyc3Q="`}, Absent: []string{"two files"},
					Text: "then", Calls: []call{{Name: "f", Signature: "c2Vjb25k"}}, Faults: f},
				{Expect: []string{"Zmlyc3Q=", "c2Vjb25k"}, Text: "done", Signature: "dGhpcmQ=", Faults: f},
				{Expect: []string{"Zmlyc3Q=", "c2Vjb25k", "dGhpcmQ="}, Text: "still done"},
			}})
			r := request("hi")
			for range 4 {
				if notes := turn(t, m, &r); notes != "" {
					t.Error(notes)
				}
			}
		})
	}
}

// Another model gets no signature of this one, and the check is skipped for its calls.
func TestAnotherModel(t *testing.T) {
	m, _ := open(t, script{Answers: []answer{{Calls: []call{{ID: "x1", Name: "f", Signature: "Zmlyc3Q="}}, Text: "a", Signature: "dGhpcmQ="}}})
	r := request("hi")
	turn(t, m, &r)
	other, _ := open(t, script{Answers: []answer{
		{Expect: []string{"skip_thought_signature_validator"}, Absent: []string{"Zmlyc3Q=", "dGhpcmQ=", "x1"}, Calls: []call{{Name: "f", Signature: "b3RoZXI="}}},
		{Expect: []string{"skip_thought_signature_validator", "b3RoZXI="}, Text: "a"},
	}}, func(o *gemini.Options) { o.Model = "gemini-3-other" })
	turn(t, other, &r)
	turn(t, other, &r)
}

// A rejected signature is dropped and the user is informed once. The ID stays. Later signatures are sent back.
func TestRejectedSignature(t *testing.T) {
	const signature = "Zmlyc3Q="
	m, srv := open(t, script{Answers: []answer{
		{Text: "a", Calls: []call{{ID: "x1", Name: "f", Signature: signature}, {ID: "x2", Name: "f"}}},
		{Expect: []string{signature}, Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", "Thought signature is not valid.")},
		{Expect: []string{`"id":"x1","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"`, `"id":"x2"`}, Absent: []string{signature},
			Calls: []call{{ID: "x3", Name: "f", Signature: "c2Vjb25k"}}},
		{Expect: []string{"c2Vjb25k"}, Absent: []string{signature}, Text: "done"},
	}})
	r := request("hi")
	var notes []string
	for range 3 {
		notes = append(notes, turn(t, m, &r))
	}
	if notes[0] != "" || !strings.Contains(notes[1], "the server rejected the signature of an earlier thought") || notes[2] != "" {
		t.Errorf("%q", notes)
	}
	if n := len(srv.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// A server that rejects every signature gets three requests: unchanged, without its own signatures, and without any.
func TestEverySignatureRejected(t *testing.T) {
	m, srv := open(t, script{Repeat: true, Answers: []answer{{Status: 400, Raw: refusal(400, "INVALID_ARGUMENT", "Corrupted thought signature.") + " c2ln"}}})
	r := conversation([]model.Part{modelCall("x1", "f", `{}`), sealed(`{"thoughtSignature":"c2ln"}`)}, response("x1", "f"))
	_, err := play(t.Context(), m, r)
	if err == nil || !strings.Contains(err.Error(), "Corrupted thought signature.") || len(srv.Requests()) != 3 {
		t.Errorf("%v, %d requests", err, len(srv.Requests()))
	}
}
