package journal

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// benchTurn writes a turn with one call: about 10 KB.
func benchTurn(b testing.TB, w *Writer, n int) {
	id := fmt.Sprint("call-", n)
	args := json.RawMessage(`{"absolute_path":"/home/user/project/main.go","offset":100}`)
	call := model.Call{Call: tool.Call{ID: id, Name: "read_file", Args: args}}
	source := strings.Repeat("\tfmt.Println(\"hello\", n) // prints a line\n", 90)
	result := tool.Result{Content: []tool.Part{tool.Text(source)}, Display: tool.Markdown("Read lines 100-200 of main.go")}
	benchWrite(b, w,
		Message{Message: model.Prompt("Read main.go from line 100 on")},
		Asked{Turn: n, Model: "m"},
		Called{Turn: n, Call: call},
		Started{ID: id, Name: "read_file", Args: args, Access: []tool.Access{{Verb: tool.Reads, Target: "/home/user/project/main.go"}}},
		Finished{ID: id, Outcome: Outcome{Name: "read_file", Status: tool.StatusSuccess, Result: result, MS: 1},
			Seen: []Seen{{Path: "/home/user/project/main.go", Hash: strings.Repeat("0", 64), Lines: 500, Read: [][2]int{{100, 200}}}}},
		Answer{Turn: n, Reason: model.Calls, Usage: model.Usage{Input: 1000, Output: 50}, Message: model.Message{Role: model.Assistant,
			Parts: []model.Part{model.Thought(strings.Repeat("I read the file. ", 20)), model.Text("I read the file."), call}}},
		Responses{Turn: n, Message: model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: id, Name: "read_file", Content: result.Content}}}},
	)
}

func benchWrite(b testing.TB, w *Writer, all ...Data) {
	b.Helper()
	for _, d := range all {
		if _, err := w.Write("", d); err != nil {
			b.Fatal(err)
		}
	}
}

// Resuming a session of 1,000 turns (10 MB).
func BenchmarkOpen(b *testing.B) {
	s := Sessions{Home: b.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		b.Fatal(err)
	}
	w := NewWriter(f, s.Store(), State{})
	benchWrite(b, w, Opened{ID: testID, CWD: "/home/user/project", System: strings.Repeat("system ", 2000)})
	for n := range 1000 {
		benchTurn(b, w, n+1)
	}
	f.Close()
	info, _ := os.Stat(f.Path())
	b.SetBytes(info.Size())
	for b.Loop() {
		f, state, err := s.Open(testID)
		if err != nil || len(state.Agent("").History) != 3000 {
			b.Fatal(len(state.Agent("").History), err)
		}
		f.Close()
	}
}

// Journaling one call with its turn, seven entries, without fdatasync.
func BenchmarkWrite(b *testing.B) {
	s := Sessions{Home: b.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := NewWriter(f, s.Store(), State{})
	w.Mask = strings.NewReplacer("secret-value-1", "***", "secret-value-2", "***").Replace
	n := 0
	for b.Loop() {
		n++
		benchTurn(b, w, n)
	}
}

// Journaling one call of 4 KB, without its answer and without fdatasync.
func BenchmarkCall(b *testing.B) {
	s := Sessions{Home: b.TempDir()}
	f, err := s.Create(testID)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := NewWriter(f, s.Store(), State{})
	call := model.Call{Call: tool.Call{ID: "c", Name: "read_file", Args: json.RawMessage(`{"absolute_path":"/home/user/project/main.go"}`)}}
	result := tool.TextResult(strings.Repeat("\tfmt.Println(\"hello\", n) // prints a line\n", 90))
	for b.Loop() {
		benchWrite(b, w, Called{Call: call}, Started{ID: "c", Name: "read_file", Args: call.Args},
			Finished{ID: "c", Outcome: Outcome{Name: "read_file", Status: tool.StatusSuccess, Result: result}})
	}
}

// Listing 1,000 sessions.
func BenchmarkList(b *testing.B) {
	s := Sessions{Home: b.TempDir()}
	for n := range 1000 {
		record(b, s, id(n), "Fix the parser, and run the tests", 3).Close()
	}
	for b.Loop() {
		all, err := s.List()
		if err != nil || len(all) != 1000 {
			b.Fatal(len(all), err)
		}
	}
}
