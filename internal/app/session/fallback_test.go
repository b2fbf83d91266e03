package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// A fallback on the command line replaces those of the settings, a model may have its own, and a project can't name any:
// the conversation would go to a server of its choice.
func TestWhoNamesFallbacks(t *testing.T) {
	d := newDesk(t)
	for dir, set := range map[string]string{d.home: `{"model":{"fallbacks":["a","b"]},"modelProviders":{"anthropic":[{"id":"small","fallbacks":["d"]},{"id":"none","fallbacks":[]}]}}`, filepath.Join(d.dir, ".adze"): `{"model":{"fallbacks":["evil"]},"modelProviders":{"openai":[{"id":"m","fallbacks":["evil"]}]}}`} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "settings.json"), []byte(set), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for want, flags := range map[string][]settings.Flag{"a b, d, ": nil, "c, c, c": {{Name: "--fallback-model", Key: "model.fallbacks", List: []string{"c"}}}} {
		s, err := Open(project.Env{Home: d.home, Getenv: func(name string) string { return map[string]string{"ADZE_HOME": d.home}[name] }},
			Options{Dir: d.dir, Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"m", "small", "none"} {
			got = append(got, strings.Join(s.Settings.Model.FallbacksOf(name), " "))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		s.Close()
	}
}

// While the session's model is overloaded, the first fallback that works answers, on another host, which a notice names
// once. What ran doesn't run again, also after a kill in between, and the model is asked again after its rest.
func TestFallback(t *testing.T) {
	file := func(name string) openaitest.Call {
		return call("w"+name, "write_file", map[string]any{"file_path": filepath.Join("DIR", name), "content": "x"})
	}
	d := newDesk(t)
	in := func(c openaitest.Call) openaitest.Call {
		c.Args = []byte(strings.ReplaceAll(string(c.Args), "DIR", d.dir))
		return c
	}
	busy := openaitest.Answer{Status: 529, Raw: `{"error":{"message":"Overloaded"}}`, Header: map[string]string{"Retry-After": "600"}}
	main := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Calls: []openaitest.Call{in(file("one"))}}, busy, busy,
		{Expect: []string{"fourth", "said by the other", "wone", "wtwo"}, Text: "main again"},
	}})
	other := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		{Expect: []string{"first", "wone"}, Calls: []openaitest.Call{in(file("two"))}},
		{Expect: []string{"wtwo"}, Text: "said by the other"},
		{Text: "and again"},
		{Expect: []string{"third", "said by the other"}, Text: "after the kill"},
	}})
	set := fmt.Sprintf(`{"model":{"name":"main","fallbacks":["none","nonsense","other"],"fallbackWait":30},"modelProviders":{"openai":[
		{"id":"main","baseUrl":%q},{"id":"none","baseUrl":%q,"envKey":"NO_SUCH_KEY"},{"id":"other","baseUrl":%q}]}}`, main.URL, main.URL, other.URL)
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(o *recording.Options) (*Session, *Conversation) {
		s, err := d.try(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Executor.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		m, err := s.Models.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Converse(t.Context(), ConversationOptions{Model: m})
	}
	s, c := start(&recording.Options{})
	if got := d.say(t, c, "first"); got != "said by the other" {
		t.Errorf("got %q", got)
	}
	d.say(t, c, "second")
	told := strings.Join(d.told, "\n")
	host := "continues with other at " + other.URL
	if strings.Count(told, host) != 1 || strings.Count(told, "none can't be used: no API key for none: NO_SUCH_KEY is not set") != 1 ||
		strings.Count(told, `nonsense can't be used: unknown model "nonsense"`) != 1 || !strings.Contains(told, "Overloaded") {
		t.Errorf("told: %s", told)
	}
	s.Recorder.Sync()
	path := (journal.Sessions{Home: d.home}).Path(s.ID)
	killed, err := os.ReadFile(path) // as a kill leaves it
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.WriteFile(path, killed, 0o600); err != nil {
		t.Fatal(err)
	}
	if used := d.state(t, s.ID).Agent("").Model; used != "main" { // which a resume opens
		t.Errorf("the session's model is %s", used)
	}
	s, c = start(&recording.Options{Resume: s.ID})
	defer s.Close()
	d.say(t, c, "third")
	d.now = d.now.Add(31 * time.Second)
	if got := d.say(t, c, "fourth"); got != "main again" {
		t.Errorf("after the rest: %q", got)
	}
	if n := len(main.Requests()); n != 4 {
		t.Errorf("%d requests to the first model, of which 2 while it was busy", n)
	}
}

// The host is named before the first request to it, even if an agent begins with a model that failed for another agent:
// its conversation once went to another company without a word.
func TestEachHostIsNamed(t *testing.T) {
	d := newDesk(t)
	set := `{"model":{"name":"main","fallbacks":["other"]},"modelProviders":{"openai":[{"id":"main","baseUrl":"http://127.0.0.1:1/v1"},
		{"id":"other","baseUrl":"http://127.0.0.1:2/v1","fallbacks":["third"]},{"id":"third","baseUrl":"http://127.0.0.1:3/v1"}]}}`
	if err := os.WriteFile(filepath.Join(d.home, "settings.json"), []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := d.try(&recording.Options{Off: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	main, err := s.Models.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	busy := model.Errorf(model.ErrServer, "status 529")
	other := s.Models.Substitute(t.Context(), main, main, busy)
	if none := s.Models.Substitute(t.Context(), main, other, busy); none != nil {
		t.Errorf("%s has another fallback", none.Name())
	}
	if third := s.Models.Substitute(t.Context(), other, other, nil); third.Name() != "third" {
		t.Errorf("got %s", third.Name())
	}
	want := []string{
		"main failed: status 529\nThe conversation continues with other at http://127.0.0.1:2/v1.",
		"other failed before\nThe conversation continues with third at http://127.0.0.1:3/v1.",
	}
	for _, notice := range want {
		if told := strings.Join(d.told, "\n"); strings.Count(told, notice) != 1 {
			t.Errorf("told: %s", told)
		}
	}
}
