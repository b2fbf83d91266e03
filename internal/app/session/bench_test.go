package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// The startup cost of every command except version.
func BenchmarkOpenSession(b *testing.B) {
	env := project.Env{Home: b.TempDir(), Getenv: func(string) string { return "" }}
	dir := project.Canonical(b.TempDir())
	for b.Loop() {
		s, err := Open(env, Options{Dir: dir, SingleCall: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// The cost of recording before the first request: the journal and its first entry.
func BenchmarkBeginJournal(b *testing.B) {
	home, dir := b.TempDir(), project.Canonical(b.TempDir())
	env := project.Env{Home: home, Getenv: func(name string) string { return map[string]string{"ADZE_HOME": home}[name] }}
	s, err := Open(env, Options{Dir: dir, Record: &recording.Options{}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	declared := agent.Declared{System: s.SystemPrompt(), Tools: s.Executor.Registry.All()}
	for b.Loop() {
		r, _, err := recording.Open(&recording.Options{}, recording.Session{
			ID: record.NewID(), Directory: s.Directory, Env: s.Env, Policy: s.Policy, Tools: s.Tools,
		})
		if err != nil {
			b.Fatal(err)
		}
		r.Event("", agent.Told{Message: model.Prompt("go")})
		r.Event("", declared)
		r.Event("", agent.Began{Turn: 1})
		r.Close()
	}
}

// The cost of continuing a session of 1,000 turns (10 MB).
func BenchmarkResume(b *testing.B) {
	home, dir := b.TempDir(), project.Canonical(b.TempDir())
	env := project.Env{Home: home, Getenv: func(name string) string { return map[string]string{"ADZE_HOME": home}[name] }}
	all := journal.Sessions{Home: home}
	id := record.NewID()
	f, err := all.Create(id)
	if err != nil {
		b.Fatal(err)
	}
	w := journal.NewWriter(f, all.Store(), journal.State{})
	write := func(d journal.Data) {
		if _, err := w.Write("", d); err != nil {
			b.Fatal(err)
		}
	}
	write(journal.Opened{ID: id, CWD: dir, System: "Be kind."})
	result := tool.TextResult(strings.Repeat("\tfmt.Println(\"hello\", n) // prints a line\n", 90))
	for n := range 1000 {
		call := tool.Call{ID: fmt.Sprint("call-", n), Name: "read_file", Args: json.RawMessage(`{"absolute_path":"/home/user/project/main.go"}`)}
		write(journal.Message{Message: model.Prompt("Read main.go.")})
		write(journal.Asked{Turn: n})
		write(journal.Called{Turn: n, Call: model.Call{Call: call}})
		write(journal.Started{ID: call.ID, Name: call.Name, Args: call.Args})
		write(journal.Finished{ID: call.ID, Outcome: journal.Outcome{Name: call.Name, Status: tool.StatusSuccess, Result: result}})
		write(journal.Answer{Turn: n, Message: model.Message{Role: model.Assistant, Parts: []model.Part{model.Call{Call: call}}}})
		write(journal.Responses{Turn: n, Message: model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: call.ID, Name: call.Name, Content: result.Content}}}})
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(env, Options{Dir: dir, Record: &recording.Options{Resume: id}})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
