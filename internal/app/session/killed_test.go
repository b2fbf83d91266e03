package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// killing is a desk whose home and project are copied at every stage of a session: before and after each entry of the
// journal, when a request arrives, and before a command runs. A kill -9 leaves exactly such a copy.
type killing struct {
	*desk
	t     *testing.T
	main  http.Handler // the configured model
	other http.Handler // its fallback

	mu      sync.Mutex
	stages  []stage
	resumed []string // bodies of requests after a resume; nil: the stages are collected
}

type stage struct {
	name  string
	files map[string][]byte // by path; nil: a directory
}

func newKilling(t *testing.T, main, other []openaitest.Answer) *killing {
	skipWindows(t)
	k := &killing{desk: newDesk(t), t: t, main: openaitest.New(openaitest.Script{Answers: main}), other: openaitest.New(openaitest.Script{Answers: other})}
	serve := func(name string, h *http.Handler) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				k.at("request to " + name)
			}
			(*h).ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/v1"
	}
	set := fmt.Sprintf(`{"model":{"name":"main","fallbacks":["other"],"generationConfig":{"contextWindowSize":32000}},"modelProviders":{"openai":[
		{"id":"main","baseUrl":%q,"generationConfig":{"maxRetries":0}},{"id":"other","baseUrl":%q}]}}`, serve("main", &k.main), serve("other", &k.other))
	if err := os.WriteFile(filepath.Join(k.home, "settings.json"), []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// at copies everything, unless a stage is being resumed.
func (k *killing) at(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.resumed != nil {
		return
	}
	s := stage{fmt.Sprintf("%d, %s", len(k.stages), name), map[string][]byte{}}
	for _, root := range []string{k.home, k.dir} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			s.files[path] = nil
			if d.Type().IsRegular() {
				s.files[path], err = os.ReadFile(path)
				s.files[path] = append([]byte{}, s.files[path]...)
			}
			if errors.Is(err, fs.ErrNotExist) { // a temporary file
				delete(s.files, path)
				return nil
			}
			return err
		})
		if err != nil {
			k.t.Error(err)
		}
	}
	k.stages = append(k.stages, s)
}

// restore makes everything as it was at a stage.
func (k *killing) restore(s stage) {
	k.t.Helper()
	for _, root := range []string{k.home, k.dir} {
		entries, err := os.ReadDir(root)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
		}
		for path, content := range s.files {
			if !strings.HasPrefix(path, root+string(filepath.Separator)) {
				continue
			}
			if content == nil {
				err = errors.Join(err, os.MkdirAll(path, 0o700))
			} else {
				err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600))
			}
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// staged is a journal that is copied before and after each entry.
type staged struct {
	*journal.File
	at func(string)
}

func (s staged) Append(e journal.Entry) error {
	s.at("before " + string(e.Type))
	err := s.File.Append(e)
	s.at("after " + string(e.Type))
	return err
}

func (k *killing) converse(o *recording.Options) (*Session, *Conversation) {
	k.t.Helper()
	s, err := k.try(o)
	if err != nil {
		k.t.Fatal(err)
	}
	s.Executor.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		k.at("before " + r.Call.ID)
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	s.Recorder.Create = func() (*journal.Writer, error) {
		all := journal.Sessions{Home: k.home}
		f, err := all.Create(s.ID)
		if err != nil {
			return nil, err
		}
		w := journal.NewWriter(staged{f, k.at}, all.Store(), journal.State{})
		w.Mask = s.Tools.Mask
		return w, nil
	}
	m, err := s.Models.Open(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	return s, s.Converse(k.t.Context(), ConversationOptions{Model: m})
}

// lines counts the lines of a file in the project.
func (k *killing) lines(name string) map[string]int {
	counts := map[string]int{}
	text, _ := os.ReadFile(filepath.Join(k.dir, name))
	for line := range strings.Lines(string(text)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// resume kills a session at each stage, and in the middle of each entry, and continues it with the model's only answer.
// check gets the messages of the first request then, with all that session:history has.
func (k *killing) resume(id string, prompts []string, check func(stage string, messages []json.RawMessage, history string)) {
	k.t.Helper()
	path := (journal.Sessions{Home: k.home}).Path(id)
	k.resumed = []string{}
	k.main = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		k.resumed = append(k.resumed, b.String())
		openaitest.New(openaitest.Script{Answers: []openaitest.Answer{{Text: "resumed"}}}).ServeHTTP(w, r)
	})
	all := k.stages
	for _, s := range k.stages {
		text, name := s.files[path], s.name
		if before := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n'); strings.Contains(name, "after ") && before > 0 {
			torn := stage{name + ", torn", map[string][]byte{}}
			for p, content := range s.files {
				torn.files[p] = content
			}
			torn.files[path] = text[:before+(len(text)-before)/2]
			all = append(all, torn)
		}
	}
	done, one := 0, soak.OneIn(3)
	for n, s := range all {
		if n%one != 0 || bytes.Count(s.files[path], []byte("\n")) == 0 {
			continue // without an entry there is no session, and nothing ran
		}
		done++
		k.restore(s)
		ran, checks := k.lines("ran"), k.lines("checks")
		k.resumed = []string{}
		again, c := k.converse(&recording.Options{Resume: id})
		if got := k.say(k.t, c, "Continue."); got != "resumed" || len(k.resumed) != 1 {
			k.t.Errorf("%s: %q, %d requests", s.name, got, len(k.resumed))
		}
		history := use(k.t, again, "", "read_file", map[string]any{"absolute_path": builtin.HistoryPath, "limit": 100_000}).Result.Text()
		if err := again.Close(); err != nil {
			k.t.Errorf("%s: %v", s.name, err)
		}
		var body struct{ Messages []json.RawMessage }
		if len(k.resumed) > 0 {
			if err := json.Unmarshal([]byte(k.resumed[0]), &body); err != nil {
				k.t.Fatal(err)
			}
		}
		k.valid(s.name, body.Messages)
		for id, n := range k.lines("ran") {
			if n != 1 || ran[id] != 1 {
				k.t.Errorf("%s: call %s ran %d times before the kill, %d after the resume", s.name, id, ran[id], n)
			}
		}
		if got := k.lines("checks")["checked"]; got != checks["checked"] {
			k.t.Errorf("%s: the goal was checked %d times, %d after the resume", s.name, checks["checked"], got)
		}
		request := string(bytes.Join(messagesText(body.Messages), []byte("\n")))
		for _, p := range prompts {
			if known := bytes.Contains(s.files[path], []byte(p)); known && strings.Count(request, p) != 1 && !strings.Contains(history, p) {
				k.t.Errorf("%s: %q is %d times in the request, and not in the history", s.name, p, strings.Count(request, p))
			}
		}
		check(s.name, body.Messages, history)
		if k.t.Failed() {
			k.t.Fatalf("the request: %.3000s", request)
		}
	}
	k.t.Logf("%d of %d stages", done, len(all))
}

func messagesText(messages []json.RawMessage) [][]byte {
	var out [][]byte
	for _, m := range messages {
		out = append(out, m)
	}
	return out
}

// valid checks that each call has one response, right after it.
func (k *killing) valid(stage string, messages []json.RawMessage) {
	k.t.Helper()
	var open []string
	seen := map[string]bool{}
	for _, raw := range messages {
		var m chatMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			k.t.Fatal(err)
		}
		if m.Role == "tool" {
			if len(open) == 0 || open[0] != m.ID {
				k.t.Errorf("%s: a response to %s, expected one of %v", stage, m.ID, open)
				continue
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			k.t.Errorf("%s: no response to %v", stage, open)
		}
		open = nil
		for _, c := range m.Calls {
			if seen[c.ID] {
				k.t.Errorf("%s: call %s is there twice", stage, c.ID)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
	}
}

type chatMessage struct {
	Role  string
	ID    string                `json:"tool_call_id"`
	Calls []struct{ ID string } `json:"tool_calls"`
}

// runs is an answer with a call that adds its ID to a file.
func runs(id string) openaitest.Answer { return shellCall(id, "echo "+id+" >> ran") }

// Killed at every stage of a compaction: each prompt is there once or in the history, results aren't lost, nothing runs
// again, and there is one summary at most.
func TestKilledInACompaction(t *testing.T) {
	k := newKilling(t, []openaitest.Answer{
		runs("c1"), {Text: "one" + strings.Repeat(" long answer", 2000)},
		runs("c2"), {Text: "two" + strings.Repeat(" long answer", 2000)},
		{Expect: []string{"Your context window is nearly full."}, Text: "The summary."},
		{Expect: []string{"The summary."}, Calls: runs("c3").Calls}, {Text: "three"},
	}, nil)
	s, c := k.converse(&recording.Options{})
	prompts := []string{"the first prompt", "the second prompt", "the third prompt"}
	k.say(t, c, prompts[0])
	k.say(t, c, prompts[1])
	if _, err := c.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	k.say(t, c, prompts[2])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	k.resume(s.ID, prompts, func(stage string, messages []json.RawMessage, history string) {
		all := string(bytes.Join(messagesText(messages), nil))
		sums, long := strings.Count(all, "The summary."), strings.Count(all, "one long answer")
		if sums+long > 1 || sums+long == 0 && strings.Contains(history, "one long answer") {
			t.Errorf("%s: %d summaries, %d times what they replace", stage, sums, long)
		}
	})
}

// Killed at every stage of a fallback: no call runs again, the conversation is complete, and the session's model is
// asked first.
func TestKilledInAFallback(t *testing.T) {
	busy := openaitest.Answer{Status: 529, Raw: `{"error":{"message":"Overloaded"}}`}
	k := newKilling(t, []openaitest.Answer{runs("c1"), busy}, []openaitest.Answer{
		{Expect: []string{"the first prompt", "c1"}, Calls: runs("c2").Calls}, {Text: "said by the other"}, {Text: "and again"},
	})
	s, c := k.converse(&recording.Options{})
	prompts := []string{"the first prompt", "the second prompt"}
	for _, p := range prompts {
		k.say(t, c, p)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	k.resume(s.ID, prompts, func(stage string, messages []json.RawMessage, history string) {
		all := string(bytes.Join(messagesText(messages), nil))
		for _, answer := range []string{"said by the other", "and again"} {
			if in := strings.Contains(history, answer); in && strings.Count(all, answer) != 1 {
				t.Errorf("%s: %q is %d times in the request", stage, answer, strings.Count(all, answer))
			}
		}
	})
}

// Killed at every stage of a goal: the command isn't checked again and the model isn't asked, until the user says so.
func TestKilledInAGoal(t *testing.T) {
	k := newKilling(t, []openaitest.Answer{
		runs("c1"), {Text: "tried once"},
		{Expect: []string{"The goal is not reached"}, Calls: shellCall("c2", "echo c2 >> ran; touch good").Calls}, {Text: "done now"},
	}, nil)
	s, c := k.converse(&recording.Options{})
	if err := c.SetGoal(t.Context(), &goal.Goal{Command: "echo checked >> checks; test -e good"}); err != nil {
		t.Fatal(err)
	}
	if got := k.say(t, c, "make it good"); got != "done now" || k.lines("checks")["checked"] != 2 {
		t.Errorf("%q, checked %v", got, k.lines("checks"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	k.resume(s.ID, []string{"make it good", "The goal is not reached"}, func(string, []json.RawMessage, string) {})
}
