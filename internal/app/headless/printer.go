package headless

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// PrinterOptions configure a Printer.
type PrinterOptions struct {
	W        io.Writer
	Session  *session.Session
	Commands *slash.Commands
	Model    string // the name of the model; "": none
	Version  string // of Adze
	Stream   bool   // print one message per line as they occur; otherwise all in one array at the end
	Partial  bool   // with Stream: also print pieces of answers
	// Structured means that the answer is JSON.
	Structured bool
}

// Printer prints messages in the format of Qwen Code.
type Printer struct {
	o       PrinterOptions
	session string
	mu      sync.Mutex // subagents run concurrently
	model   string
	all     []any
	denied  []denial
	err     error // the first write error
	ended   bool
	line    bytes.Buffer
	encode  *json.Encoder        // writes to line
	partial map[string]*speaking // answers that are being streamed, by the call that started the subagent
}

// NewPrinter returns a Printer.
func NewPrinter(o PrinterOptions) *Printer {
	p := &Printer{o: o, session: o.Session.ID, model: o.Model, partial: map[string]*speaking{}}
	p.encode = json.NewEncoder(&p.line)
	p.encode.SetEscapeHTML(false)
	return p
}

// SetModel changes the name of the model in later messages.
func (j *Printer) SetModel(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model = name
}

type message struct {
	Type    string  `json:"type"`
	UUID    string  `json:"uuid"`
	Session string  `json:"session_id"`
	Parent  *string `json:"parent_tool_use_id"`
	Message any     `json:"message"`
}

type assistantMessage struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Role       string `json:"role"`
	Model      string `json:"model"`
	Content    []any  `json:"content"`
	StopReason string `json:"stop_reason"`
	Usage      usage  `json:"usage"`
}

type usage struct {
	Input         int `json:"input_tokens"`
	Output        int `json:"output_tokens"`
	CacheRead     int `json:"cache_read_input_tokens,omitempty"`
	CacheCreation int `json:"cache_creation_input_tokens,omitempty"`
	Total         int `json:"total_tokens"`
}

type denial struct {
	Tool  string          `json:"tool_name"`
	ID    string          `json:"tool_use_id"`
	Input json.RawMessage `json:"tool_input"`
}

// maxResultText bounds the printed text of a result: the model gets more.
const maxResultText = 65_536

func (j *Printer) print(v any) {
	if !j.o.Stream {
		j.all = append(j.all, v)
		return
	}
	j.write(v)
}

// write writes a line.
func (j *Printer) write(v any) {
	j.line.Reset()
	err := j.encode.Encode(v)
	if err == nil {
		_, err = j.o.W.Write(j.line.Bytes())
	}
	if j.line.Cap() > 1<<20 {
		j.line = bytes.Buffer{} // release the memory of a long message
	}
	j.err = cmp.Or(j.err, err)
}

// Send writes a message of the control protocol immediately.
func (j *Printer) Send(v any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write(v)
}

// failure returns the first write error.
func (j *Printer) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Begin prints the description of the session. A run of many messages prints it before each.
func (j *Printer) Begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended, j.denied = false, nil
	s := j.o.Session
	names := []string{}
	for _, d := range s.Executor.Registry.All() {
		names = append(names, discover.LongName(d))
	}
	j.print(map[string]any{
		"type": "system", "subtype": "init", "uuid": j.session, "session_id": j.session,
		"cwd": s.Directory.Path, "tools": names, "mcp_servers": serverStates(s), "model": j.model,
		"permission_mode": s.Policy.Mode().String(), "permissionMode": s.Policy.Mode().String(),
		"slash_commands": j.o.Commands.Names(),
		"agents":         agentNames(s), "adze_version": j.o.Version, "qwen_code_version": j.o.Version,
	})
}

// serverStates returns the MCP servers as they are at the start.
func serverStates(s *session.Session) []any {
	states := []any{}
	for _, st := range s.Outside.List() {
		states = append(states, map[string]any{"name": st.Alias, "status": serverStatus(st)})
	}
	return states
}

// serverStatus returns the status of a server in Qwen Code's terms. The tools of a cached server can be called.
func serverStatus(st discover.Status) string {
	switch st.State {
	case discover.Ready, discover.Cached:
		return "connected"
	case discover.Starting:
		return "connecting"
	}
	return "disconnected"
}

func agentNames(s *session.Session) []string {
	names := []string{}
	for _, t := range s.Definitions.TaskTypes() {
		names = append(names, t.Name)
	}
	return names
}

// Event prints an event of the conversation.
func (j *Printer) Event(e agent.Event) { j.said(nil, e) }

// Below prints the events of a subagent under the call that started it. Subagents may call it concurrently.
func (j *Printer) Below(m agent.Member, e agent.Event) { j.said(&m.Call.ID, e) }

func (j *Printer) said(parent *string, e agent.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended { // a background subagent is being stopped
		return
	}
	if j.o.Partial {
		j.piece(parent, e)
	}
	switch e := e.(type) {
	case agent.Answered:
		if len(e.Message.Parts) > 0 {
			j.answered(parent, e)
		}
	case agent.Responded:
		j.responded(parent, e)
	case agent.Compacted:
		j.compacted(parent, e)
	case agent.Changed:
		j.system("files_changed", parent, map[string]any{"tool_use_id": e.Call.ID, "changes": e.Changes.Reported()})
	case agent.Stuck:
		j.system("loop_detected", parent, map[string]any{"message": e.String()})
	}
}

// system prints what happened in the session.
func (j *Printer) system(subtype string, parent *string, about map[string]any) {
	maps.Copy(about, map[string]any{
		"type": "system", "subtype": subtype, "uuid": record.NewID(), "session_id": j.session,
		"parent_tool_use_id": parent,
	})
	j.print(about)
}

func (j *Printer) answered(parent *string, e agent.Answered) {
	content := []any{}
	for _, p := range e.Message.Parts {
		switch p := p.(type) {
		case model.Text:
			content = append(content, map[string]any{"type": "text", "text": string(p)})
		case model.Thought:
			content = append(content, map[string]any{"type": "thinking", "thinking": string(p)})
		case model.Call:
			content = append(content, map[string]any{
				"type": "tool_use", "id": p.ID, "name": j.toolName(p.Name), "input": input(p.Args),
			})
		}
	}
	j.print(message{"assistant", record.NewID(), j.session, parent, assistantMessage{
		ID: j.messageID(parent), Type: "message", Role: "assistant", Model: j.model,
		Content: content, StopReason: stopReason(e.Reason), Usage: countTokens(e.Usage),
	}})
	j.stop(parent)
}

// toolName returns the name of a tool for programs, by the model's name for it.
func (j *Printer) toolName(name string) string {
	if t, err := j.o.Session.Executor.Registry.Lookup(name); err == nil && t.Declaration().Origin != "" {
		return discover.LongName(t.Declaration())
	}
	return name
}

// compacted prints a compaction. A failed one has an error.
func (j *Printer) compacted(parent *string, e agent.Compacted) {
	about := map[string]any{
		"pre_tokens": e.Before, "post_tokens": e.After, "summary": e.Summary, "results_saved": e.Results,
		"message": e.String(),
	}
	if e.Err != nil {
		about["error"] = map[string]any{"message": e.Err.Error()}
	}
	j.system("chat_compression", parent, about)
}

func (j *Printer) responded(parent *string, e agent.Responded) {
	content := []any{}
	for _, o := range e.Outcomes {
		result := map[string]any{
			"type": "tool_result", "tool_use_id": o.Call.ID,
			"content":  tool.Cut(o.Result.Text(), maxResultText),
			"is_error": o.Status != tool.StatusSuccess,
		}
		if changes := o.Changes.Reported(); changes != nil {
			result["changes"] = changes
		}
		content = append(content, result)
		if o.Status == tool.StatusDenied {
			j.denied = append(j.denied, denial{j.toolName(o.Name), o.Call.ID, input(o.Call.Args)})
		}
	}
	j.print(message{"user", record.NewID(), j.session, parent, map[string]any{"role": "user", "content": content}})
}

// End prints the result of a prompt.
func (j *Printer) End(a agent.Answer, err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	result := resultOf(j.session, a, j.denied, err)
	if price, ok := j.o.Session.Settings.Model.Pricing[j.model]; ok {
		result["total_cost_usd"] = models.Cost(a.Usage, price)
	}
	if Complete(err) {
		result["result"] = a.Text
		if j.o.Structured && json.Valid([]byte(a.Text)) {
			result["structured_result"] = json.RawMessage(a.Text)
		}
	}
	j.print(result)
	if !j.o.Stream {
		j.write(j.all)
	}
	return j.err
}

// resultOf returns the result of a prompt, without its text.
func resultOf(session string, a agent.Answer, denied []denial, err error) map[string]any {
	result := map[string]any{
		"type": "result", "subtype": "success", "uuid": record.NewID(), "session_id": session,
		"is_error":    err != nil,
		"duration_ms": a.Duration.Milliseconds(), "duration_api_ms": a.ModelTime.Milliseconds(),
		"num_turns": a.Turns, "usage": countTokens(a.Usage), "permission_denials": append([]denial{}, denied...),
	}
	if err != nil {
		result["subtype"] = errorSubtype(err)
		result["error"] = map[string]any{"message": err.Error()}
		result["errors"] = []string{err.Error()} // for Claude's SDK
	}
	return result
}

// Refused prints the result of a run that failed before it had a session, for programs that read only stdout. id is the
// requested session, if any.
func Refused(w io.Writer, stream bool, id string, err error) error {
	var result any = resultOf(id, agent.Answer{}, nil, err)
	if !stream {
		result = []any{result}
	}
	encode := json.NewEncoder(w)
	encode.SetEscapeHTML(false)
	return encode.Encode(result)
}

// Complete reports whether a run has an answer, including one that exceeded the token limit.
func Complete(err error) bool {
	var over *session.Overspent
	return err == nil || errors.As(err, &over)
}

func errorSubtype(err error) string {
	if errors.Is(err, agent.ErrTurnLimit) {
		return "error_max_turns"
	}
	return "error_during_execution"
}

func stopReason(r model.Reason) string {
	switch r {
	case model.Calls:
		return "tool_use"
	case model.Length:
		return "max_tokens"
	case model.Stop:
		return "end_turn"
	}
	return string(r)
}

func countTokens(u model.Usage) usage {
	return usage{u.Input, u.Output, u.CacheRead, u.CacheCreation, u.Input + u.Output}
}

// input returns a call's arguments as JSON, even if they are invalid.
func input(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	if !json.Valid(args) {
		quoted, _ := json.Marshal(string(args))
		return quoted
	}
	return args
}
