package acp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// observe sends an event of the agent to the editor.
func (t *talk) observe(e agent.Event) {
	switch e := e.(type) {
	case agent.Began:
		t.newMessage()
	case agent.Said:
		switch said := e.Event.(type) {
		case model.Text:
			t.say("agent_message_chunk", string(said))
		case model.Thought:
			t.say("agent_thought_chunk", string(said))
		case model.Retry:
			t.note("warning: " + said.String())
		}
	case agent.Called:
		r := tool.Request{Call: e.Call}
		if known, err := t.session.Executor.Registry.Lookup(e.Call.Name); err == nil {
			r.Declaration = known.Declaration()
		}
		t.announce(r)
	case agent.Step:
		t.step(e.Event)
	case agent.Answered:
		t.tellUsage()
	case agent.Resumed:
		t.note(fmt.Sprintf("answer truncated, asking the model to continue (%d of %d): %v", e.Times, e.Most, e.Err))
	case agent.Compacted:
		t.compacted(e)
	case agent.Stuck:
		t.note("warning: " + e.String())
	case agent.Changed:
		if diffs := t.diffs(tool.Outcome{Changes: e.Changes}); len(diffs) > 0 {
			t.update(toolCall{ID: callID(e.Call), Content: diffs})
		}
	}
}

// newMessage starts a message: the following text has a new ID.
func (t *talk) newMessage() {
	t.mu.Lock()
	t.messages++
	t.mu.Unlock()
}

// say sends a piece of a message.
func (t *talk) say(kind, text string) {
	if text == "" {
		return
	}
	t.mu.Lock()
	id := strconv.Itoa(t.messages)
	t.mu.Unlock()
	t.send(chunk{Kind: kind, Content: textContent(text), ID: t.id + "/" + id})
}

// compacted reports a compaction: as such, or as a notice.
func (t *talk) compacted(c agent.Compacted) {
	if t.server.can().Session.Compaction == nil {
		t.note(c.String())
		return
	}
	u := update{
		"sessionUpdate": "compaction_update", "compactionId": fmt.Sprintf("%s/compaction/%d", t.id, c.Turn),
		"status": "completed",
	}
	if c.Summary != "" {
		u["summary"] = []content{textContent(c.Summary)}
	}
	if c.Err != nil {
		u["status"], u["error"] = "failed", c.String()
	}
	t.send(u)
}

// callList has the calls that the editor knows.
type callList struct {
	mu    sync.Mutex
	known map[string]*knownCall
}

// knownCall is what the editor knows about a call.
type knownCall struct {
	described string // the last description; "": none
	ran       bool
	at        []location // of a call that failed: no line was changed
}

// change changes what the editor knows about a call, and reports whether the call is new.
func (l *callList) change(id string, what func(*knownCall)) (added bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]*knownCall{}
	}
	if added = l.known[id] == nil; added {
		l.known[id] = &knownCall{}
	}
	what(l.known[id])
	return added
}

// add adds a call, and reports whether it is new.
func (l *callList) add(id string) bool { return l.change(id, func(*knownCall) {}) }

// callID returns the ID of a call for the editor: subagents have their own IDs.
func callID(c tool.Call) string {
	if c.By == "" {
		return c.ID
	}
	return c.By + "/" + c.ID
}

// announce sends a call, or its changed description. The sandbox of a command is only in questions: before, it isn't
// known whether it is tried.
func (t *talk) announce(r tool.Request) {
	if c, ok := r.Confirm.(tool.Command); ok {
		c.Sandbox = ""
		r.Confirm = c
	}
	c := describe(r)
	text, _ := json.Marshal(c) // its input is valid JSON
	same := false
	added := t.calls.change(c.ID, func(k *knownCall) { same, k.described = k.described == string(text), string(text) })
	switch {
	case added:
		c.Status = "pending"
		t.send(callUpdate{"tool_call", c})
	case !same:
		t.send(callUpdate{"tool_call_update", c})
	}
}

// prepared returns a call with what it would do. To prepare a call changes nothing.
func (t *talk) prepared(r tool.Request) tool.Request {
	known, err := t.session.Executor.Registry.Lookup(r.Call.Name)
	if err != nil {
		return r
	}
	if inv, _ := known.Prepare(t.server.ctx, r.Call.Args); inv != nil { // also with an error, as in the executor
		r.Access, r.Description, r.Confirm = inv.Access, inv.Description, inv.Confirm
	}
	return r
}

// describe returns a call before it runs.
func describe(r tool.Request) toolCall {
	c := toolCall{
		ID: callID(r.Call), Name: r.Call.Name, Title: tool.Visible(r.Call.Name), Kind: kindOf(r),
		Locations: locations(r),
	}
	if r.Declaration.Name != "" {
		c.Name, c.Title = r.Declaration.Name, r.Declaration.Title()
	}
	if json.Valid(r.Call.Args) {
		c.Input = r.Call.Args
	}
	if r.Description != "" {
		c.Title = tool.Visible(r.Description)
	}
	if r.Call.By != "" {
		c.Title = tool.Visible(r.Call.By) + ": " + c.Title
	}
	if r.Confirm != nil {
		c.Content = shown(r.Confirm)
	}
	return c
}

// kindOf returns the kind of a call in terms of the protocol, which are almost those of [tool.Kind].
func kindOf(r tool.Request) string {
	if _, ok := r.Confirm.(tool.Plan); ok {
		return "switch_mode"
	}
	if r.Declaration.Kind == "" {
		return string(tool.Other)
	}
	return string(r.Declaration.Kind)
}

// locations returns the files that a call reads or writes.
func locations(r tool.Request) []location {
	var out []location
	for _, a := range r.Access {
		if a.Verb != tool.Reads && a.Verb != tool.Writes || !filepath.IsAbs(a.Target) ||
			strings.HasSuffix(a.Target, "/") {
			continue
		}
		at := location{Path: a.Target}
		if d, ok := r.Confirm.(tool.FileDiff); ok && d.Path == a.Target {
			at.Line = firstChange(d.Diff)
		} else {
			at.Line = builtin.FirstLine(r)
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// firstChange returns the number of the first line that a diff changes; 0: none.
func firstChange(diff string) int {
	line := 0
	for l := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(l, "@@"):
			if _, err := fmt.Sscanf(l[strings.Index(l, "+")+1:], "%d", &line); err != nil {
				return 0
			}
		case line == 0: // the header
		case l[0] == '+' || l[0] == '-':
			return line
		case l[0] == ' ':
			line++
		}
	}
	return 0
}

// step sends a step of a call.
func (t *talk) step(e tool.Event) {
	id := callID(e.Request.Call)
	switch e.Stage {
	case tool.Prepared, tool.Asking:
		t.announce(e.Request)
	case tool.Trying, tool.Running:
		unshown := e.Request
		unshown.Confirm = nil
		at := locations(unshown)
		t.calls.change(id, func(k *knownCall) { k.ran, k.at = k.ran || e.Stage == tool.Running, at })
		t.update(toolCall{ID: id, Status: "in_progress"})
	case tool.Showing:
		t.update(toolCall{ID: id, Content: shown(e.Display)})
	case tool.Done:
		t.done(e)
	}
}

// update sends the changed fields of a call.
func (t *talk) update(c toolCall) {
	if t.calls.add(c.ID) {
		c.Title = c.ID
		t.send(callUpdate{"tool_call", c})
		return
	}
	t.send(callUpdate{"tool_call_update", c})
}

// done sends the result of a call, and its changes of the session.
func (t *talk) done(e tool.Event) {
	id, known := callID(e.Request.Call), knownCall{}
	if t.calls.change(id, func(k *knownCall) { known = *k }) { // it failed before its description was known
		t.send(callUpdate{"tool_call", describe(e.Request)})
	}
	c := t.ended(id, *e.Outcome, e.Request.Declaration.Kind, known.ran)
	switch {
	case known.ran && e.Outcome.Error != nil:
		c.Locations = known.at
	case !known.ran: // as a replay, which doesn't know the lines that it would have changed
		about := e.Request
		if about.Description == "" {
			about = t.prepared(about)
		}
		about.Confirm = nil
		shown := describe(about)
		c.Title, c.Locations = shown.Title, shown.Locations
	}
	t.send(callUpdate{"tool_call_update", c})
	if list, ok := e.Outcome.Result.Display.(todo.List); ok && e.Outcome.Error == nil &&
		e.Request.Call.By == "" {
		t.send(planOf(list))
	}
	t.tellState()
}

const (
	maxDiffs     = 20      // files that a call changed
	maxDiffBytes = 1 << 20 // of all of them
)

// diffs returns the texts that a call changed, unless its display is one.
func (t *talk) diffs(o tool.Outcome) []toolContent {
	if d, ok := o.Result.Display.(tool.FileDiff); ok && d.Path != "" {
		return nil
	}
	var out []toolContent
	room := maxDiffBytes
	for _, c := range o.Changes.List {
		if len(out) == maxDiffs {
			break
		}
		before, after, ok := t.session.Effects.Texts(c)
		if !ok || c.Discarded {
			continue
		}
		if after == nil {
			after = new(string) // the protocol has no deleted files
		}
		if room -= len(*after); before != nil {
			room -= len(*before)
		}
		if room < 0 {
			break
		}
		out = append(out, toolContent{Type: "diff", Path: c.Path, OldText: before, NewText: after})
	}
	return out
}

// ended returns the final update of a call of a kind, which ran or ended before.
func (t *talk) ended(id string, o tool.Outcome, kind tool.Kind, ran bool) toolCall {
	c := toolCall{ID: id, Status: "completed", Content: []toolContent{}}
	if o.Status != tool.StatusSuccess {
		c.Status = "failed"
	}
	text := excerpt(o.Result.Text())
	if strings.TrimSpace(text) != "" {
		c.Output = text
	}
	summary, short := o.Result.Display.(tool.Markdown)
	switch looked := o.Error == nil && short && (kind == tool.Read || kind == tool.Search); {
	case o.Error != nil && !ran: // what the model reads is recorded
		c.Content = append(c.Content, block(textContent(text)))
	case looked && c.Output != nil:
		c.Content = append(c.Content, block(textContent(string(summary)+"\n"+tool.Fence("", text))))
	case o.Result.Display != nil:
		c.Content = append(c.Content, shown(o.Result.Display)...)
	case o.Error == nil && c.Output != nil: // of an external tool
		c.Content = append(c.Content, block(textContent(text)))
	}
	if o.Error != nil && ran {
		c.Content = append(c.Content, block(textContent(tool.Visible(o.Error.Message))))
	}
	for _, p := range o.Result.Content {
		if m, ok := p.(tool.Media); ok && strings.HasPrefix(m.MIMEType, "image/") {
			c.Content = append(c.Content, block(content{
				Type: "image", MIMEType: m.MIMEType, Data: base64.StdEncoding.EncodeToString(m.Data),
			}))
		}
	}
	c.Content = append(c.Content, t.diffs(o)...)
	return c
}

// maxText is the maximum length of a result's text that an editor shows.
const maxText = 4 << 10

// excerpt returns the beginning of a text, with a note if it is longer.
func excerpt(text string) string {
	text = tool.Visible(text)
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + fmt.Sprintf("\n… (%d bytes)", len(text))
}

// shown converts a display to the protocol.
func shown(d tool.Display) []toolContent {
	switch d := d.(type) {
	case tool.FileDiff:
		if d.Original == nil && d.New == "" && d.Diff != "" { // a large file
			return []toolContent{block(textContent(d.Markdown()))}
		}
		return append([]toolContent{{Type: "diff", Path: d.Path, OldText: d.Original, NewText: &d.New}},
			warnings(d.Warnings)...)
	case tool.Effects:
		return effects(d)
	case todo.List:
		return nil // the plan shows it
	}
	if text := d.Markdown(); strings.TrimSpace(text) != "" {
		return []toolContent{block(textContent(text))}
	}
	return nil
}

// effects returns what a tried call did: how it ended, and the changes that can be kept, which are not on disk yet.
func effects(f tool.Effects) []toolContent {
	var out []toolContent
	f.Changes = slices.Clone(f.Changes)
	for i, c := range f.Changes {
		if c.Original == nil && c.New == "" || c.Ignored {
			continue
		}
		out = append(out, toolContent{Type: "diff", Path: c.Abs, OldText: c.Original, NewText: &c.New})
		f.Changes[i].Diff = "" // not in the text too
	}
	return append([]toolContent{block(textContent(f.Markdown()))}, out...)
}

func warnings(list []string) []toolContent {
	var out []toolContent
	for _, w := range list {
		out = append(out, block(textContent("Warning: "+tool.Visible(w))))
	}
	return out
}

func block(c content) toolContent { return toolContent{Type: "content", Content: &c} }

// planOf returns the to-do list as the protocol's plan.
func planOf(list todo.List) update {
	entries := []any{}
	for _, item := range list {
		entries = append(entries, map[string]string{
			"content": item.Content, "priority": "medium", "status": item.Status,
		})
	}
	return update{"sessionUpdate": "plan", "entries": entries}
}
