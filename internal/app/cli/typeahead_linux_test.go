package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/dev/ptytest"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// lastChoice is the end of a prompt for a file, which is painted last.
const lastChoice = "Allow? [y/s/p/u/e/n] "

// A "y" that was typed while a command ran answered the next prompt: it approved a command that its user had not seen. A
// line that is only begun before the prompt counts as typed before it, too.
func TestTypeAheadApprovesNothing(t *testing.T) {
	s := takeSeat(t, `{}`)
	model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		s.writes("a"), {Expect: []string{"denied by the user"}, Text: "done"},
	}})
	s.Type("y\nyes\na\ny")
	code := s.begin(t, model, "-p", "go", "--model", "m")
	s.Await(lastChoice, 1)
	s.Type("\n")
	s.Await(lastChoice, 2)
	s.Type("n\n")
	if got := <-code; got != 0 || s.exists("a") {
		t.Errorf("exit code %d, the file is there: %v\n%s", got, s.exists("a"), s.Shown())
	}
}

// A paste that ended in lines of "y" answered as many prompts.
func TestPasteAnswersOnePrompt(t *testing.T) {
	s := takeSeat(t, `{}`)
	model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{s.writes("a", "b", "c"), {Text: "done"}}})
	code := s.begin(t, model, "-p", "go", "--model", "m")
	s.Await(lastChoice, 1)
	s.Type(strings.Repeat("y\n", 5))
	s.Await(lastChoice, 2)
	s.Type("n\n")
	s.Await(lastChoice, 3)
	s.Type("n\n")
	if got := <-code; got != 0 || !s.exists("a") || s.exists("b") || s.exists("c") {
		t.Errorf("exit code %d, files %v %v %v\n%s", got, s.exists("a"), s.exists("b"), s.exists("c"), s.Shown())
	}
}

// Forms, plans and forms of MCP servers are no other: each of their prompts is answered by what is typed at it.
func TestTypeAheadFillsInNothing(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{"one":{"type":"string"},"two":{"type":"string"}}}`)
	plan := json.RawMessage(`{"type":"object","properties":{"choice":{"type":"string","oneOf":[{"const":"go","title":"Yes"}]},"choice_other":{"type":"string"}}}`)
	for name, c := range map[string]struct {
		r     tool.Request
		steps []string // what is painted, and what is typed then
		want  string
	}{
		"form": {tool.Request{Invocation: tool.Invocation{Form: form}}, []string{"nothing: ", "a\n", "goes back: ", "b\n"}, `{"one":"a","two":"b"}`},
		"plan": {tool.Request{Invocation: tool.Invocation{Form: plan, Confirm: tool.Plan{Text: "do it"}}}, []string{"own answer: ", "n not yet\n"}, `{"choice_other":"not yet"}`},
		"from a server": {
			tool.Request{Declaration: tool.Declaration{Origin: "mcp:x"}, Invocation: tool.Invocation{Form: form}},
			[]string{"Answer? [y/n] ", "y\n1\n2\n", "nothing: ", "a\n3\n", "goes back: ", "b\n", "answer again. Number: ", "1\n"}, `{"one":"a","two":"b"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := takeSeat(t, `{}`)
			s.Type("y\n1\ny\n1\n")
			in := s.environment(nil).streams()
			answered := make(chan tool.Decision, 1)
			go func() {
				d, err := approval.Rules{}.Asker(console.NewAsker(in, console.NewScreen(in)).Ask)(t.Context(), c.r, tool.Decision{})
				if err != nil {
					t.Error(err)
				}
				answered <- d
			}()
			painted := map[string]int{}
			for i := 0; i < len(c.steps); i += 2 {
				painted[c.steps[i]]++
				s.Await(c.steps[i], painted[c.steps[i]])
				s.Type(c.steps[i+1])
			}
			if d := <-answered; string(d.Answer) != c.want {
				t.Errorf("%+v (%s), want %s\n%s", d, d.Answer, c.want, s.Shown())
			}
		})
	}
}

func TestTypeAheadTrustsNothing(t *testing.T) {
	s := takeSeat(t, `{}`)
	if err := os.MkdirAll(filepath.Join(s.dir, ".adze"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".adze", "settings.json"), []byte(`{"permissions":{"allow":["Shell(make)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Type("y\n")
	code := s.begin(t, nil, "trust")
	s.Await("Trust this project? [y/N] ", 1)
	s.Type("n\n")
	if got := <-code; got != exitDenied {
		t.Errorf("exit code %d\n%s", got, s.Shown())
	}
}

// A prompt that was withdrawn left a reader behind that took the next answer and dropped it.
func TestWithdrawnPromptLeavesTheNextOneAnswerable(t *testing.T) {
	for name, open := range map[string]func() (stdin *os.File, typed func(string)){
		"terminal": func() (*os.File, func(string)) {
			p := ptytest.Open(t)
			return p.TTY, p.Type
		},
		"pipe": func() (*os.File, func(string)) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close(); r.Close() })
			return r, func(s string) {
				if _, err := w.WriteString(s); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			stdin, typed := open()
			painted, screen := io.Pipe()
			prompts := bufio.NewReader(painted)
			in := console.Streams{Stdin: stdin, Stderr: screen, Getenv: func(string) string { return "" }}
			asker := approval.Rules{}.Asker(console.NewAsker(in, console.NewScreen(in)).Ask)
			answers := make(chan tool.Decision, 1)
			ask := func(ctx context.Context) {
				d, _ := asker(ctx, tool.Request{}, tool.Decision{})
				answers <- d
			}
			await := func() {
				if _, err := prompts.ReadString(']'); err != nil {
					t.Error(err)
				}
			}
			ctx, withdraw := context.WithCancel(t.Context())
			go ask(ctx)
			await()
			withdraw()
			if _, err := prompts.ReadString(')'); err != nil { // (no answer)
				t.Error(err)
			}
			go func() { <-answers; ask(t.Context()) }()
			await()
			go func() { _, _ = io.Copy(io.Discard, prompts) }()
			typed("y\n")
			if d := <-answers; d.Verdict != tool.Allow {
				t.Errorf("%+v", d)
			}
		})
	}
}
