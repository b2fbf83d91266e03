package approval

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// spoken answers a question with numbers, and returns what was printed.
func spoken(t *testing.T, q *Question, typed ...string) (tool.Decision, string) {
	t.Helper()
	var out strings.Builder
	d, err := Dialog{
		Style: Spoken, Out: &out,
		Read: func(_ context.Context, prompt string) (string, error) {
			out.WriteString(prompt + "\n")
			if len(typed) == 0 {
				return "", io.EOF
			}
			line := typed[0]
			typed = typed[1:]
			return line, nil
		},
		Fail: func(err error) { out.WriteString("error: " + err.Error() + "\n") },
		View: func() { out.WriteString("all of it\n") },
	}.Ask(t.Context(), q)
	if err != nil {
		t.Error(err)
	}
	return d, out.String()
}

func TestSpokenChoices(t *testing.T) {
	const prompt = "1 keep, 2 keep always in this session (Edit(/a)), 3 discard, 4 read the diff, 5 choose files, 6 run again with network, 7 why. Number: \n"
	d, got := spoken(t, tried(), "y", "4", "5", "9", "5", "1,3")
	want := prompt + "note: type a number; text after 3 goes to the model\n" + prompt + "all of it\n" + prompt +
		"1  a\n2  b\n3  dist/\nNumbers of the files to keep: \nerror: Enter numbers from 1 to 3, such as 1,3 or 2-4\n" + prompt +
		"1  a\n2  b\n3  dist/\nNumbers of the files to keep: \n"
	if got != want || string(d.Answer) != `{"keep":["a","dist/"]}` {
		t.Errorf("%s, got\n%s\nwant\n%s", d.Answer, got, want)
	}
	for _, tt := range []struct {
		typed  []string
		direct bool
		reason string
	}{{[]string{"6", "2", "6", "1"}, true, ""}, {[]string{"6", "y", "3 use make"}, false, "use make"}} {
		if d, out := spoken(t, tried(), tt.typed...); d.Direct != tt.direct || d.Reason != tt.reason {
			t.Errorf("%v: %+v\n%s", tt.typed, d, out)
		}
	}
}

// In the mode for screen readers, the options of a form had no descriptions, and a server's form couldn't be denied.
func TestSpokenForm(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{
		"size":{"type":"string","title":"Size","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large","description":"for two"}]}}}`)
	r := tool.Request{Declaration: tool.Declaration{Origin: "mcp:x"}, Invocation: tool.Invocation{Form: form, MustAsk: true}}
	d, got := spoken(t, Rules{}.Question(r, tool.Decision{}), "1", "2", "1")
	if want := "1 answer, 3 no, 4 read it, 7 why. Number: \nfield: Size\n1 Small\n2 Large (for two)\nnumber: \nSize: l\n1 send, 2 answer again. Number: \n"; got != want || string(d.Answer) != `{"size":"l"}` {
		t.Errorf("%s, got\n%s\nwant\n%s", d.Answer, got, want)
	}
	r.Form = json.RawMessage(`{"properties":{"b":{"type":"string"},"a":{"type":"string"}},"required":["b"]}`)
	d, got = spoken(t, Rules{}.Question(r, tool.Decision{}), "1", "", "x", "<", "y", "", "2", "z", "w", "1")
	for _, want := range []string{"field 1 of 2: b\nanswer, required: \nerror: an answer is required", "field 2 of 2: a\nanswer, or nothing, < goes back: ", "a: left out\n"} {
		if !strings.Contains(got, want) || string(d.Answer) != `{"a":"w","b":"z"}` {
			t.Errorf("%s, no %q in\n%s", d.Answer, want, got)
		}
	}
	if d, _ := spoken(t, Rules{}.Question(r, tool.Decision{}), "3 later"); d.Verdict != tool.Deny || d.Reason != "later" {
		t.Errorf("%+v", d)
	}
}
