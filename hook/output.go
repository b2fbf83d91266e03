package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// opinion is the result of one hook.
type opinion struct {
	hook Hook
	Result
	failed error
}

// printed is the result of a command.
type printed struct {
	exit           int
	stdout, stderr string
}

// blocking is the exit code of a command that blocks.
const blocking = 2

// maxText is the maximum length of a reason, a message or a context, in bytes.
const maxText = 10_000

// read interprets a command's exit code and output.
func (p printed) read(in Input) (Output, Verdict, error) {
	out, isJSON, err := decode(p.stdout, p.stderr)
	switch {
	case p.exit == blocking:
		if text := strings.TrimSpace(p.stderr); out.reason() == "" && (!isJSON || !strings.HasPrefix(text, "{")) {
			out.Reason = text
		}
		return out, Deny, nil
	case p.exit != 0:
		return Output{}, None, fmt.Errorf("exit code %d%s", p.exit, said(p.stderr))
	case err != nil && in.gate():
		return Output{}, None, err
	case !isJSON && takesText(in.Event):
		out.Specific = &Specific{AdditionalContext: strings.TrimSpace(p.stdout)}
	}
	return out, None, nil
}

// takesText reports whether plain output of the event's hooks is context for the model.
func takesText(e Event) bool { return e == SessionStart || e == UserPromptSubmit }

// said returns the stderr of a command, to end an error message.
func said(stderr string) string {
	if stderr = strings.TrimSpace(stderr); stderr == "" {
		return ""
	}
	return ": " + clip(oneLine(stderr), 400)
}

// decode reads the JSON on stdout, or on stderr if stdout is empty. Other text on stderr is only a log; other text on
// stdout is an error.
func decode(stdout, stderr string) (out Output, isJSON bool, err error) {
	text := strings.TrimSpace(stdout)
	if text == "" {
		if text = strings.TrimSpace(stderr); !strings.HasPrefix(text, "{") {
			return Output{}, false, nil
		}
		err = json.Unmarshal([]byte(text), &out)
		if err != nil {
			return Output{}, false, nil
		}
		return out, true, nil
	}
	if err = json.Unmarshal([]byte(text), &out); err != nil || !strings.HasPrefix(text, "{") {
		return Output{}, false, fmt.Errorf("its output is not the expected JSON object: %s", clip(oneLine(text), 100))
	}
	return out, true, nil
}

func (o Output) reason() string {
	reasons := []string{o.Reason}
	if s := o.Specific; s != nil {
		reasons = []string{s.PermissionReason, o.Reason}
		if s.Decision != nil {
			reasons = []string{s.Decision.Message, s.PermissionReason, o.Reason}
		}
	}
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// result turns an output into a result. least is a verdict that it can't soften.
func (o Output) result(in Input, least Verdict) (Result, error) {
	r := Result{Verdict: least, Reason: clip(o.reason(), maxText)}
	words := []string{o.Decision}
	var rewritten json.RawMessage
	if s := o.Specific; s != nil {
		words = append(words, s.Permission)
		rewritten = s.UpdatedInput
		if s.AdditionalContext != "" {
			r.Context = []string{clip(s.AdditionalContext, maxText)}
		}
		if d := s.Decision; d != nil {
			words = append(words, d.Behavior)
			if present(d.UpdatedInput) {
				rewritten = d.UpdatedInput
			}
			r.Halt = d.Interrupt && d.Behavior == "deny"
		}
	}
	for _, w := range words {
		v, err := verdict(w)
		if err != nil {
			return Result{}, err
		}
		r.Verdict = max(r.Verdict, v)
	}
	if present(rewritten) && in.Event.Gate() {
		if bytes.TrimSpace(rewritten)[0] != '{' {
			return Result{}, errors.New("updatedInput must be an object of arguments, got " + clip(string(rewritten),
				40))
		}
		if !sameJSON(rewritten, in.ToolInput) {
			r.Input = rewritten
		}
	}
	if o.Continue != nil && !*o.Continue {
		r.Halt, r.HaltWhy = true, o.StopReason
		if in.gate() {
			r.Verdict = Deny
		}
	}
	if r.Halt && r.HaltWhy == "" {
		r.HaltWhy = r.Reason
	}
	if r.Verdict == Deny && r.Reason == "" {
		r.Reason = o.StopReason
	}
	if o.SystemMessage != "" {
		r.Messages = []string{clip(o.SystemMessage, maxText)}
	}
	return r, nil
}

func verdict(word string) (Verdict, error) {
	switch word {
	case "":
		return None, nil
	case "approve", "allow":
		return Allow, nil
	case "ask":
		return Ask, nil
	case "block", "deny":
		return Deny, nil
	}
	return None, fmt.Errorf("unknown decision %q (expected allow, ask or deny)", clip(word, 40))
}

// merge combines the results of several hooks: the strictest verdict counts, and two rewrites deny.
func merge(opinions []opinion) Result {
	var out Result
	var reasons [Deny + 1][]string
	var rewriting []string
	for _, o := range opinions {
		out.Verdict = max(out.Verdict, o.Verdict)
		if o.Reason != "" {
			reasons[o.Verdict] = append(reasons[o.Verdict], o.Reason)
		}
		if o.Input != nil {
			rewriting = append(rewriting, o.hook.Title())
			out.Input = o.Input
		}
		out.Context = append(out.Context, o.Context...)
		out.Messages = append(out.Messages, o.Messages...)
		out.Warnings = append(out.Warnings, o.Warnings...)
		if o.Halt && !out.Halt {
			out.Halt, out.HaltWhy = true, o.HaltWhy
		}
	}
	if len(rewriting) > 1 && out.Verdict != Deny {
		out.Verdict = Deny
		reasons[Deny] = []string{"several hooks rewrite its input: " + strings.Join(rewriting, " and ")}
	}
	if out.Verdict == Deny {
		out.Input = nil
	}
	out.Reason = strings.Join(reasons[out.Verdict], "\n")
	return out
}

func present(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && string(raw) != "null"
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// clip returns a text of at most this many bytes, without colors and other control characters.
func clip(s string, limit int) string {
	s = printable(s[:min(len(s), 2*limit+64)])
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// sequence matches an escape sequence of a terminal: colors, titles, links.
var sequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|.?)")
})

// printable returns a text without escape sequences, control characters and bytes that are not UTF-8.
func printable(s string) string {
	s = sequence().ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
