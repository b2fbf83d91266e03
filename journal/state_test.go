package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

func testCall(id string) model.Call {
	return model.Call{Call: tool.Call{ID: id, Name: "edit", Args: json.RawMessage(`{}`)}}
}

func answered(turn int, calls ...model.Call) Answer {
	m := model.Message{Role: model.Assistant, Parts: []model.Part{model.Text("text")}}
	for _, c := range calls {
		m.Parts = append(m.Parts, c)
	}
	return Answer{Turn: turn, Usage: model.Usage{Input: 10, Output: 1}, Message: m}
}

func responded(turn int, ids ...string) Responses {
	m := model.Message{Role: model.Tool}
	for _, id := range ids {
		m.Parts = append(m.Parts, model.Response{ID: id, Name: "edit", Content: []tool.Part{tool.Text("done")}})
	}
	return Responses{Turn: turn, Message: m}
}

func finished(id, todos string) Finished {
	f := Finished{ID: id, Outcome: Outcome{Name: "edit", Status: tool.StatusSuccess, Result: tool.TextResult("done")}, Seen: []Seen{{Path: "/" + id, Hash: "00"}}}
	if todos != "" {
		f.Todos = json.RawMessage(todos)
	}
	return f
}

func TestState(t *testing.T) {
	prompt := Message{Message: model.Prompt("prompt")}
	for name, test := range map[string]struct {
		entries []Data
		history int
		calls   string // IDs, with ~ if tried, + if started and ! if finished
		todos   string
		turns   int
	}{
		"a prompt":                  {[]Data{prompt}, 1, "", "", 0},
		"a call that never started": {[]Data{prompt, Called{Call: testCall("a")}}, 1, "a", "", 0},
		"a call that was tried":     {[]Data{prompt, Called{Call: testCall("a")}, Tried{ID: "a", Args: json.RawMessage("no JSON")}}, 1, "a~", "", 0},
		"an answer that never came": {[]Data{prompt, Called{Call: testCall("a")}, Started{ID: "a"}, Called{Call: testCall("b")}, finished("b", "")}, 1, "a+ b!", "", 0},
		"calls without responses":   {[]Data{prompt, Called{Call: testCall("a")}, Started{ID: "a"}, answered(1, testCall("a"), testCall("b")), finished("a", "[1]")}, 2, "a+! b", "[1]", 1},
		"a whole turn":              {[]Data{prompt, Called{Call: testCall("a")}, Started{ID: "a"}, finished("a", "[1]"), answered(1, testCall("a")), responded(1, "a")}, 3, "", "[1]", 1},
		"an empty answer":           {[]Data{prompt, Answer{Turn: 1, Error: "reset"}}, 1, "", "", 1},
		"responses to some":         {[]Data{prompt, answered(1, testCall("a"), testCall("b")), responded(1, "a")}, 3, "b", "", 1},
		"undone":                    {[]Data{prompt, answered(1, testCall("a")), finished("a", "[1]"), responded(1, "a"), prompt, answered(2, testCall("b")), finished("b", "[2]"), responded(2, "b"), Undone{To: 5}}, 3, "", "[1]", 2},
		"undone within a turn":      {[]Data{prompt, answered(1, testCall("a")), finished("a", "[1]"), responded(1, "a"), Undone{To: 3}}, 1, "", "", 1},
		"undone before a response":  {[]Data{prompt, Called{Call: testCall("a")}, Started{ID: "a"}, answered(1, testCall("a")), Mode{Mode: "plan"}, Undone{To: 5}}, 2, "a+", "", 1},
		"compacted":                 {[]Data{prompt, answered(1, testCall("a")), finished("a", "[1]"), responded(1, "a"), Compacted{Messages: []model.Message{model.Prompt("s")}}, prompt}, 2, "", "[1]", 1},
		"compacted and undone":      {[]Data{prompt, answered(1), prompt, answered(2), Compacted{Messages: []model.Message{model.Prompt("s")}}, prompt, Undone{To: 3}}, 2, "", "", 2},
		"compacted with a call":     {[]Data{prompt, Called{Call: testCall("a")}, Started{ID: "a"}, Compacted{}}, 0, "a+", "", 0},
		"unknown outcomes":          {[]Data{prompt, finished("zz", ""), Started{ID: "zz"}}, 1, "", "", 0},
	} {
		s := Sessions{Home: t.TempDir()}
		f, err := s.Create(testID)
		if err != nil {
			t.Fatal(err)
		}
		w := newTestWriter(f, s.Store())
		for _, d := range append([]Data{Opened{ID: testID}}, test.entries...) {
			if _, err := w.Write("", d); err != nil {
				t.Fatal(err)
			}
		}
		full, err := Fold(f.Read(1), s.Store())
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		_, tail, err := s.View(testID)
		if err != nil {
			t.Fatal(err)
		}
		check := func(from string, s *State) {
			a := s.Agent("")
			calls := ""
			for _, c := range a.Calls {
				if calls != "" {
					calls += " "
				}
				calls += c.Call.ID
				if c.Tried != nil {
					calls += "~"
				}
				if c.Started != nil {
					calls += "+"
				}
				if c.Finished != nil {
					calls += "!"
				}
			}
			if len(a.History) != test.history || len(a.Seqs) != test.history || calls != test.calls || string(a.Todos) != test.todos || a.Turns != test.turns {
				t.Errorf("%s, %s: %d messages, calls %q, to-dos %s, %d turns; want %d, %q, %s, %d", name, from, len(a.History), calls, a.Todos, a.Turns,
					test.history, test.calls, test.todos, test.turns)
			}
		}
		check("the file", &full)
		check("its end", &tail)
		w.View(func(s *State) { check("the writer", s) })
	}
}

// A session whose contents are gone from the store used to be impossible to open. A sentence replaces each of them, and every
// call has its response.
func TestLostContents(t *testing.T) {
	s := Sessions{Home: t.TempDir()}
	long := strings.Repeat("x", MaxText+1)
	big := func(n int) []model.Part { // together they don't fit into a line, so that the whole message goes to the store
		var parts []model.Part
		for range n {
			parts = append(parts, model.Text(strings.Repeat("y", MaxText-1)))
		}
		return parts
	}
	call := model.Call{Call: tool.Call{ID: "1", Name: "look", Args: json.RawMessage(`{"name":"a"}`)}}
	response := func(content ...tool.Part) model.Part { return model.Response{ID: "1", Name: "look", Content: content} }
	var responses []tool.Part
	for range 10 {
		responses = append(responses, tool.Text(strings.Repeat("z", MaxText-1)))
	}
	picture := tool.Media{MIMEType: "image/png", Data: []byte("picture")}
	f := record(t, s, testID, long, 0,
		Message{Message: model.Message{Role: model.User, Parts: []model.Part{model.Text("see"), model.Media{Media: picture}}}},
		Message{Message: model.Message{Role: model.User, Parts: big(10)}},
		Called{Turn: 1, Call: call},
		Started{ID: "1"},
		Finished{ID: "1", Outcome: Outcome{Status: tool.StatusSuccess, Result: tool.TextResult(long)}},
		Answer{Turn: 1, Message: model.Message{Role: model.Assistant, Parts: append(big(10), call)}},
		Responses{Turn: 1, Message: model.Message{Role: model.Tool, Parts: []model.Part{response(responses...)}}},
		Answer{Turn: 2, Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Sealed{API: "a", JSON: json.RawMessage(`"` + long + `"`)}, model.Text("seen")}}},
		Called{Turn: 3, Call: call},
		Answer{Turn: 3, Message: model.Message{Role: model.Assistant, Parts: []model.Part{call}}},
		Responses{Turn: 3, Message: model.Message{Role: model.Tool, Parts: []model.Part{response(picture, tool.Text("seen"))}}},
	)
	f.Close()
	if err := os.RemoveAll(filepath.Join(s.Home, storeName)); err != nil {
		t.Fatal(err)
	}
	f, state, err := s.Open(testID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := state.Agent("")
	if state.Lost.Contents != 7 || state.Lost.Err == nil || len(a.Calls) != 0 {
		t.Errorf("%d contents lost, %v; calls %v", state.Lost.Contents, state.Lost.Err, a.Calls)
	}
	var got strings.Builder
	for _, m := range a.History {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(line, '\n'))
	}
	want := `{"role":"user","parts":[{"text":"news"}]}
{"role":"user","parts":[{"text":"[65537 bytes are missing here: Adze's store no longer has them]"}]}
{"role":"user","parts":[{"text":"see"},{"text":"[7 bytes are missing here: Adze's store no longer has them]"}]}
{"role":"user","parts":[{"text":"[A message is missing here: Adze's store no longer has it]"}]}
{"role":"assistant","parts":[{"text":"[A message is missing here: Adze's store no longer has it]"},{"call":{"id":"1","name":"look","args":{"name":"a"}}}]}
{"role":"tool","parts":[{"response":{"id":"1","name":"look","result":{"llmContent":"[A message is missing here: Adze's store no longer has it]"}}}]}
{"role":"assistant","parts":[{"thought":""},{"text":"seen"}]}
{"role":"assistant","parts":[{"call":{"id":"1","name":"look","args":{"name":"a"}}}]}
{"role":"tool","parts":[{"response":{"id":"1","name":"look","result":{"llmContent":["[7 bytes are missing here: Adze's store no longer has them]","seen"]}}}]}
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	same, err := Fold(f.Read(1), s.Store())
	if err != nil || len(same.Agent("").History) != len(a.History) || same.Lost.Contents != state.Lost.Contents {
		t.Errorf("the fold has %d messages, %d contents lost, %v", len(same.Agent("").History), same.Lost.Contents, err)
	}
	for e, err := range f.Read(1) { // the entries themselves keep the references
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(e, s.Store()); strings.Contains(string(e.Data), `"blob"`) != (err != nil) {
			t.Errorf("entry %d: %v", e.Seq, err)
		}
	}
}

// A writer keeps no messages that compactions replaced: 500 turns of 20 KB used to stay in memory, 10 MB. An undo of the
// compaction brings them back from the log.
func TestWriterForgetsOldMessages(t *testing.T) {
	var log Memory
	w := NewWriter(&log, &MemoryBlobs{}, State{})
	for _, d := range []Data{
		Opened{ID: "1"}, Message{Message: model.Prompt("first")}, Message{Message: model.Prompt("second")},
		Compacted{Messages: []model.Message{model.Prompt("both")}, Prompts: []model.Message{model.Prompt("first")}},
	} {
		if _, err := w.Write("", d); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.state.past) > 0 {
		t.Errorf("in memory: %v", w.state.past)
	}
	if _, err := w.Write("", Undone{To: 2}); err != nil {
		t.Fatal(err)
	}
	s, err := Fold(log.Read(1), &MemoryBlobs{})
	if a := s.Agent(""); err != nil || len(a.History) != 1 || a.History[0].Text() != "first" || len(a.Prompts) != 1 || w.state.Title != "first" || len(w.state.Agent("").History) != 1 {
		t.Errorf("after the undo: %+v, %q, %v", a.History, w.state.Title, err)
	}
}
