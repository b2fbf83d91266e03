package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/tool"
)

// ask sends an approval request to the client of the call, if it can show one.
func (s *session) ask(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	s.mu.Lock()
	run := s.calls[r.Call.ID]
	var from caller
	if run != nil {
		from = run.from
	}
	s.mu.Unlock()
	if !from.canAsk {
		return tool.Decision{}, denied(why, "this MCP client can't show approval requests")
	}
	form := r.Form
	if form == nil && s.shared {
		form = yesForm(nil)
	} else if form == nil {
		form = yesForm(why.Offer)
	}
	p := &mcp.ElicitParams{Mode: "form", Message: Question(r, why), RequestedSchema: form}
	if r.Form == nil { // Claude Code and its SDK show this as the heading of a permission prompt
		title, _, _ := strings.Cut(p.Message, "\n")
		p.Meta = mcp.Meta{"anthropic/permissionDisplay": map[string]string{
			"title": title, "displayName": r.Declaration.Title(), "description": inOneLine(why.Reason),
		}}
	}
	res, err := s.elicit(ctx, run, from, p)
	switch {
	case err != nil:
		return tool.Decision{}, denied(why, fmt.Sprintf("the MCP client failed to show the approval request: %v", err))
	case res == nil:
		return tool.Decision{}, denied(why, fmt.Sprintf("%d approval requests wait for an answer", maxOpen))
	case res.Action == "accept":
	case res.Action == "cancel":
		return tool.Decision{}, denied(why, "the MCP client canceled the approval request")
	default:
		return tool.Decision{}, denied(why, "the MCP client declined the approval request")
	}
	d := tool.Decision{Verdict: tool.Allow}
	if r.Form != nil {
		if d.Answer, err = json.Marshal(res.Content); err != nil {
			return tool.Decision{}, err
		}
		return d, nil
	}
	if rule, _ := res.Content["remember"].(string); slices.Contains(why.Offer, rule) {
		d.Remember = rule
	}
	return d, nil
}

// elicit returns the client's answer: with its own request that belongs to the call, or by way of its result.
func (s *session) elicit(ctx context.Context, run *running, from caller, p *mcp.ElicitParams) (*mcp.ElicitResult,
	error) {
	if !from.modern {
		joined, cancel := context.WithCancel(run.ctx)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		return from.peer.Elicit(joined, p)
	}
	q := question{p, make(chan *mcp.ElicitResult, 1)}
	select {
	case run.questions <- q:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case res := <-q.answer:
		return res, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Denied is the error of an approval request that the client declined or could not show. It names the client and not
// its user: many clients decline without showing anything, and the protocol doesn't distinguish the two.
type Denied struct {
	Cause  string // what the client did
	Reason string // why the call requires approval
	Next   string // how the user can allow it; text for the client's model
}

func (d *Denied) Error() string {
	text := "permission denied: " + d.Cause
	if d.Reason != "" {
		text += "\nNeeds approval: " + d.Reason
	}
	if d.Next != "" {
		text += "\n" + d.Next
	}
	return text
}

// Unwrap returns tool.ErrDenied.
func (*Denied) Unwrap() error { return tool.ErrDenied }

// denied returns a Denied that names the narrowest rule that would allow the call.
func denied(why tool.Decision, cause string) error {
	d := &Denied{Cause: cause, Reason: why.Reason}
	if len(why.Offer) > 0 {
		d.Next = "Tell the user: the rule " + strings.ReplaceAll(why.Offer[0], "\n", " and ") + " would allow it."
	}
	return d
}

// Question returns everything that a user should see before approving a call. Clients show the first lines (Claude Code
// three) and the rest only after scrolling: the first line says what would happen, the second why it requires approval,
// the third has warnings.
func Question(r tool.Request, why tool.Decision) string {
	what, warnings := r.Description, []string(nil)
	switch c := r.Confirm.(type) {
	case tool.FileDiff:
		warnings = c.Warnings
		if c.Stat != nil {
			what += fmt.Sprintf(" +%d −%d", c.Stat.ModelAddedLines, c.Stat.ModelRemovedLines)
		}
	case tool.Command:
		warnings = c.Warnings
		what = "run " + inOneLine(c.Line)
	}
	first, size := utf8.DecodeRuneInString(what)
	lines := []string{string(unicode.ToUpper(first)) + what[size:]}
	if why.Reason != "" {
		lines = append(lines, "Needs approval: "+inOneLine(why.Reason))
	}
	if warnings != nil {
		lines = append(lines, "Warning: "+inOneLine(strings.Join(warnings, "; ")))
	}
	if r.Confirm != nil {
		lines = append(lines, "", r.Confirm.Markdown())
	}
	return strings.Join(lines, "\n")
}

// maxLine is the maximum length of a heading, in characters: more than any client shows.
const maxLine = 1000

// inOneLine returns a text with visible line breaks. A text that is too long for a heading is cut, with a note.
func inOneLine(text string) string {
	line := []rune(tool.Visible(strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ ")))
	if len(line) <= maxLine {
		return string(line)
	}
	return fmt.Sprintf("%s … (%d more characters below)", string(line[:maxLine]), len(line)-maxLine)
}

// yesForm returns a form with one choice: allow once, or allow with one of the offered rules.
func yesForm(offer []string) json.RawMessage {
	if len(offer) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	choices, err := json.Marshal(append([]string{"only this once"}, offer...))
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return json.RawMessage(`{"type":"object","properties":{"remember":{"type":"string","title":"Allow","enum":` +
		string(choices) + `,"default":"only this once"}}}`)
}
