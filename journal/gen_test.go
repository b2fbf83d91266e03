package journal

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

const testID = "123e4567-e89b-42d3-a456-426614174000"

// sameState compares states. Empty and missing lists are equal, because JSON doesn't tell them apart.
var sameState = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.AllowUnexported(State{}, Agent{}, checkpoint{}, todosAt{}, Call{}),
}

// diffStates compares what JSON shows of the states first, because cmp is slow on long texts.
func diffStates(a, b State) string {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX == nil && errY == nil && string(x) == string(y) {
		return ""
	}
	return cmp.Diff(a, b, sameState)
}

// testClock returns times that differ by a second.
func testClock() func() time.Time {
	at := time.Date(2026, 11, 16, 6, 0, 0, 123456789, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// generator makes random entries in the order of a session: prompts, answers with parallel calls, subagents, compactions.
type generator struct {
	r     *rand.Rand
	turns map[string]int
	calls int
	seq   int64
	long  bool // some texts are over the limits
}

func newGenerator(seed uint64) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 1)), turns: map[string]int{}}
}

func (g *generator) text() string {
	words := []string{"alpha", "\"quoted\"", "back\\slash", "línea", "日本", "tab\t", "new\nline", "<b>&amp;</b>", "\x1b[31m", "😀", " ", "sha256:ab", `{"blob":"x"}`}
	n := 1 + g.r.IntN(12)
	if g.long && g.r.IntN(8) == 0 {
		n = 8_000 + g.r.IntN(4_000)
	}
	var b strings.Builder
	for range n {
		b.WriteString(words[g.r.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

func (g *generator) call() tool.Call {
	g.calls++
	args := []string{`{"path":"a.go"}`, `{"blob":"sha256:00","bytes":1}`, `not json`, `{"n":1e400,"deep":[[{"blob":"b"}]]}`, ``, `{"mimeType":"x","data":"no base64!"}`,
		`{"mimeType":"image/png","data":"aGVsbG8="}`}
	raw := args[g.r.IntN(len(args))]
	if g.long && g.r.IntN(4) == 0 {
		b, _ := humanize.JSON(map[string]string{"content": g.text()})
		raw = string(b)
	}
	return tool.Call{ID: fmt.Sprint("call-", g.calls), Name: "edit", Args: json.RawMessage(raw)}
}

func (g *generator) by() string {
	return []string{"", "", "explore-1", "explore-1/2"}[g.r.IntN(4)]
}

// next returns some entries that belong together.
func (g *generator) next() (by string, all []Data) {
	by = g.by()
	switch n := g.r.IntN(24); n {
	case 0:
		return "", []Data{Mode{Mode: "plan"}, Model{Model: "m2"}}
	case 1:
		return by, []Data{Compacted{Messages: []model.Message{model.Prompt(g.text())}}}
	case 2:
		return "", []Data{Undone{To: max(1, g.seq-int64(g.r.IntN(60)))}}
	case 3:
		return "", []Data{Resumed{CWD: "/other", Model: "m3"}}
	case 4, 5:
		media := model.Media{Media: tool.Media{MIMEType: "image/png", Data: []byte(g.text())}}
		return by, []Data{Message{Message: model.Message{Role: model.User, Parts: []model.Part{model.Text(g.text()), media}}}}
	case 6:
		return by, []Data{Message{Kind: News, Message: model.Prompt(g.text())}}
	}
	return by, g.turn(by)
}

// turn returns an answer with calls, cut off anywhere.
func (g *generator) turn(by string) []Data {
	g.turns[by]++
	turn := g.turns[by]
	all := []Data{Asked{Turn: turn, Model: "m"}}
	answer := model.Message{Role: model.Assistant, Parts: []model.Part{
		model.Thought(g.text()), model.Sealed{API: "anthropic", Model: "m", JSON: json.RawMessage(`{"a": "b"}`)}, model.Text(g.text()),
	}}
	responses := model.Message{Role: model.Tool}
	for range g.r.IntN(4) {
		c := g.call()
		answer.Parts = append(answer.Parts, model.Call{Call: c})
		all = append(all, Called{Turn: turn, Call: model.Call{Call: c}})
		if g.r.IntN(5) == 0 {
			all = append(all, Tried{ID: c.ID, Name: c.Name, Args: json.RawMessage(`{"path":"a.go"}`), Access: []tool.Access{{Verb: tool.Execs, Target: "x"}}})
		}
		if g.r.IntN(5) > 0 {
			all = append(all, Started{ID: c.ID, Name: c.Name, Args: json.RawMessage(`{"path":"a.go"}`), Access: []tool.Access{{Verb: tool.Writes, Target: "/a.go"}}})
		}
		result := tool.Result{Content: []tool.Part{tool.Text(g.text())}, Display: tool.FileDiff{Diff: g.text(), File: "a.go", New: g.text()}}
		if g.r.IntN(4) == 0 {
			result.Content = append(result.Content, tool.Media{MIMEType: "image/png", Data: []byte{0, 1, 2, 255}})
		}
		all = append(all, Finished{
			ID: c.ID, Outcome: Outcome{Name: c.Name, Status: tool.StatusSuccess, Result: result, MS: 3},
			Seen:    []Seen{{Path: fmt.Sprint("/", g.r.IntN(5)), Hash: "00", Whole: true}},
			Changes: []Change{{Path: "/a.go", Before: RefOf([]byte("x")).Blob}}, Unsaved: []Unsaved{{Path: "/b", Why: "too large"}}, Running: g.calls%2 == 0, Todos: json.RawMessage(fmt.Sprintf(`[{"id":"%d"}]`, g.calls)),
			Jobs: []Job{{ID: "bg_1", Command: "sleep 1"}},
		})
		responses.Parts = append(responses.Parts, model.Response{ID: c.ID, Name: c.Name, Content: result.Content})
	}
	all = append(all, Answer{Turn: turn, Usage: model.Usage{Input: 10, Output: 5}, Reason: model.Stop, Message: answer})
	if len(responses.Parts) > 0 {
		all = append(all, Responses{Turn: turn, Message: responses})
	}
	if g.r.IntN(6) == 0 {
		all = all[:1+g.r.IntN(len(all))]
	}
	return all
}

// fill writes random entries.
func (g *generator) fill(t testing.TB, w *Writer, groups int) {
	t.Helper()
	write := func(by string, d Data) {
		e, err := w.Write(by, d)
		if err != nil {
			t.Fatal(err)
		}
		g.seq = e.Seq
	}
	if g.seq == 0 {
		write("", Opened{ID: testID, CWD: "/work", Roots: []string{"/work"}, Model: "m", Mode: "default", System: g.text(),
			Declarations: []Declaration{{Name: "edit", Description: g.text(), Parameters: json.RawMessage(`{"type":"object"}`)}}})
	}
	for range groups {
		by, all := g.next()
		for _, d := range all {
			write(by, d)
		}
	}
}

func newTestWriter(log Log, blobs Blobs) *Writer {
	w := NewWriter(log, blobs, State{})
	w.Now = testClock()
	return w
}
