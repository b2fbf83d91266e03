package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
	"pgregory.net/rapid"
)

// The count is the server's plus an estimate of later messages, if the server's is plausible.
func TestMeter(t *testing.T) {
	m := meter{fixed: 1000, messages: 500}
	check := func(what string, want int) {
		t.Helper()
		if got := m.total(); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	check("estimated", 1500)
	m.messages += 100 // the answer
	m.count(model.Usage{Input: 3000, Output: 60}, 1500)
	check("counted", 3060)
	m.messages += 200
	check("counted and more, twice as many as estimated", 3460)
	m.count(model.Usage{}, 1500)
	check("no usage", 3460)
	m.count(model.Usage{Input: 10, Output: 1}, 1600)
	check("a count that can't be", 720)
	m.count(model.Usage{Input: 3000, Output: 60}, 1500)
	m.reject()
	m.restart([]model.Message{model.Prompt(strings.Repeat("x", 350))})
	check("after a compaction", 2208)
	if m.reject(); m.ceiling != 2208 {
		t.Errorf("ceiling %d", m.ceiling)
	}
	history := []model.Message{model.Prompt(strings.Repeat("x", 350))}
	m.check("other", history)
	check("another model", 1104)
	if m.ceiling != 0 {
		t.Errorf("ceiling %d of another model", m.ceiling)
	}
	m.count(model.Usage{Input: 1104, Output: 10}, 1104)
	m.check("other", nil)
	check("another history", 1000)
}

func TestEstimate(t *testing.T) {
	for want, m := range map[int]model.Message{
		104:  model.Prompt(strings.Repeat("x", 350)),
		14:   model.Prompt(strings.Repeat("語", 10)),
		1004: {Role: model.User, Parts: []model.Part{model.Media{Media: tool.Media{MIMEType: "image/png", Data: make([]byte, 1<<20)}}}},
		4:    {Role: model.Assistant, Parts: []model.Part{model.Thought("not sent")}},
		5004: {Role: model.User, Parts: []model.Part{model.Media{Media: tool.Media{MIMEType: "application/pdf", Data: make([]byte, 250_000)}}}},
	} {
		if got := estimate(m); got != want {
			t.Errorf("%d, want %d for %.60v", got, want, m)
		}
	}
}

func TestFreed(t *testing.T) {
	for _, tt := range []struct {
		name string
		room room
		left int
		want bool
	}{
		{"a tenth", room{before: 1000}, 900, true},
		{"less than a tenth", room{before: 1000}, 901, false},
		{"more than before", room{before: 1000}, 1100, false},
		{"a quarter of the conversation beside a long system prompt", room{before: 1000, fixed: 800}, 950, true},
		{"the same, and the server counts less", room{before: 1000, fixed: 800, input: 980}, 950, true},
		{"the same, but the server counts as before", room{before: 1000, fixed: 800, input: 950}, 950, false},
	} {
		if got := tt.room.freed(tt.left); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// For any history, calls stay with their responses, and the last answer of the model stays.
func TestCutsKeepPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := []model.Message{model.Prompt("go")}
		for i := range rapid.IntRange(0, 12).Draw(t, "messages") {
			text := strings.Repeat("x", rapid.IntRange(0, 400).Draw(t, "length"))
			id := fmt.Sprint(i)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				history = append(history, model.Prompt(text))
			case 1:
				history = append(history, model.Message{Role: model.Assistant, Parts: []model.Part{model.Text(text)}})
			case 2:
				history = append(history,
					model.Message{Role: model.Assistant, Parts: []model.Part{model.Call{Call: tool.Call{ID: id, Name: "a", Args: json.RawMessage(`{}`)}}}},
					model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: id, Name: "a", Content: []tool.Part{tool.Text(text)}}}})
			}
		}
		at := recent(history, rapid.IntRange(0, 1000).Draw(t, "window"))
		if at < len(history) && history[at].Role == model.Tool {
			t.Fatalf("the last turns of %v start at %d", history, at)
		}
		for _, m := range history[at:] {
			if m.Role == model.Assistant {
				at = 0
			}
		}
		for _, m := range history[:at] {
			if m.Role == model.Assistant {
				t.Fatal("the last answer is not among the last turns")
			}
		}
		for half := history; len(half) >= 3; {
			half = newerHalf(half)
			for i, m := range half {
				if m.Role == model.Tool && (i == 0 || half[i-1].Role != model.Assistant) || len(m.Calls()) > 0 && (i+1 == len(half) || half[i+1].Role != model.Tool) {
					t.Fatalf("half of %v is %v", history, half)
				}
			}
		}
	})
}
