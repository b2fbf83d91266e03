package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	known "github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// talk is one open session and its conversation with the editor.
type talk struct {
	server  *server
	session *session.Session
	slash   *slash.Commands
	id      string
	yolo    bool // it was started in yolo mode, so the editor may select it again
	closing sync.Once
	calls   callList

	mu       sync.Mutex
	begun    bool                    // the editor knows the session: updates can be sent
	early    []any                   // updates before that
	talk     *session.Conversation   // nil: no prompt was sent yet
	stop     context.CancelCauseFunc // interrupts the current prompt; nil: none
	titled   bool
	effort   string            // that the editor chose; ""
	models   []string          // that can be chosen
	listed   chan struct{}     // closed when the servers have listed their models
	messages int               // of the model, and texts of commands, so far
	known    map[string][]byte // the last updates about the state, by kind
}

// attach connects a session that was opened.
func (t *talk) attach(s *session.Session) {
	t.session, t.id, t.slash = s, s.ID, slash.New(s, slash.Lasts|slash.Answers)
	s.Begin = t.conversation
	t.titled = s.Resumed.Title() != ""
	t.server.mu.Lock()
	t.models = slices.Clone(t.server.models)
	t.server.mu.Unlock()
	if last := s.Resumed.Model(); last != "" && !slices.Contains(t.models, last) {
		t.models = append(t.models, last)
	}
	t.yolo = s.Policy.Mode() == permission.Yolo
	s.Executor.Ask = s.Asking(t.ask)
	t.guardUnsaved()
}

// close closes the session and stops everything that it has started.
func (t *talk) close() {
	t.closing.Do(func() {
		t.interrupt()
		_ = t.session.Close() // the editor can't handle the error
	})
}

// errInterrupted is the cause when the editor cancels a prompt.
var errInterrupted = errors.New("interrupted")

// interrupt cancels the current prompt.
func (t *talk) interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop(errInterrupted)
	}
}

func (t *talk) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop != nil
}

// send sends an update. Updates wait until the editor knows the session.
func (t *talk) send(u any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun {
		t.early = append(t.early, u)
		return
	}
	t.put(u)
}

func (t *talk) put(u any) {
	t.server.conn.write(t.line(u))
}

// line returns an update as a line.
func (t *talk) line(u any) []byte {
	return encode(outgoing{Version: rpcVersion, Method: "session/update", Params: updateParams{t.id, u}})
}

type updateParams struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

// begin sends the waiting updates, and the initial state.
func (t *talk) begin() {
	t.mu.Lock()
	t.begun = true
	for _, u := range t.early {
		t.put(u)
	}
	t.early = nil
	t.mu.Unlock()
	t.tellState()
}

// tell sends an update about the state, unless the editor knows it. The caller holds the lock.
func (t *talk) tell(u update) {
	if t.learned(u) {
		t.put(u)
	}
}

// learned keeps what the editor knows from now on, and reports whether that is new. The caller holds the lock.
func (t *talk) learned(u update) bool {
	text, kind := encode(u), u["sessionUpdate"].(string)
	if bytes.Equal(text, t.known[kind]) {
		return false
	}
	t.known[kind] = text
	return true
}

// can returns what the editor offers.
func (s *server) can() clientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// note passes on a notice for the user.
func (t *talk) note(text string) {
	if t.server.can().Session.Notices == nil {
		return
	}
	severity := "info"
	if rest, ok := strings.CutPrefix(text, "warning: "); ok {
		severity, text = "warning", rest
	}
	title, about, more := strings.Cut(text, "\n")
	u := update{"sessionUpdate": "notice", "severity": severity, "title": title}
	if more {
		u["description"] = about
	}
	t.send(u)
}

// prompt answers a prompt.
func (s *server) prompt(p promptParams) (runner, error) {
	said, err := readPrompt(p.Prompt)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, func(), error) {
		t, _, err := s.named(ctx, p.SessionID)
		if err != nil {
			return nil, nil, err
		}
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		t.mu.Lock()
		if t.stop != nil {
			t.mu.Unlock()
			return nil, nil, errorf(codeInvalidRequest, "session %s is answering another prompt\nWait for its "+
				"response, or send session/cancel.", t.id)
		}
		t.stop = stop
		t.mu.Unlock()
		result, err := t.answer(ctx, said)
		t.mu.Lock()
		t.stop = nil
		t.mu.Unlock()
		if errors.Is(context.Cause(ctx), errInterrupted) {
			result.Reason, err = "cancelled", nil
		}
		if err != nil {
			return nil, nil, err
		}
		return result, nil, nil
	}, nil
}

// answer runs a prompt, and returns why it ended.
func (t *talk) answer(ctx context.Context, said prompted) (result promptResult, err error) {
	x, isCommand, err := t.slash.Expand(ctx, said.text)
	if err != nil {
		return result, errorf(codeInvalidParams, "%v", err)
	}
	if x.ForPerson() || isCommand && len(x.Parts) == 0 {
		if text := x.AsMarkdown(); text != "" {
			t.newMessage()
			t.say("agent_message_chunk", text)
		}
		t.tellState()
		return promptResult{Reason: "end_turn"}, nil
	}
	parts := x.Parts
	if !isCommand {
		if parts, err = t.session.Attachments.PromptParts(ctx, said.text, said.text); err != nil {
			return result, err
		}
	}
	talk, err := t.conversation(ctx)
	if err != nil {
		return result, err
	}
	if err := talk.SetGoal(ctx, x.Goal); err != nil {
		return result, errorf(codeInvalidParams, "%v", err)
	}
	if isCommand {
		talk.Append(x.History...)
	}
	t.title(said.text)
	answer, err := talk.Run(ctx, append(parts, said.parts...)...)
	t.tellState()
	t.tellUsage()
	result.Reason, err = stopReason(answer, err)
	if u := answer.Usage; u != (model.Usage{}) {
		result.Usage = &usage{u.Total(), u.Input, u.Output, u.CacheRead, u.CacheCreation}
	}
	return result, err
}

// stopReason returns why an answer ended, in terms of the protocol.
func stopReason(a agent.Answer, err error) (string, error) {
	switch {
	case errors.Is(err, agent.ErrTurnLimit), errors.Is(err, agent.ErrCallLimit), errors.Is(err, agent.ErrWallTime):
		return "max_turn_requests", nil
	case errors.Is(err, agent.ErrTokenLimit), errors.Is(err, agent.ErrContextFull):
		return "max_tokens", nil
	case err != nil:
		return "", err
	case a.Reason == model.Length:
		return "max_tokens", nil
	case a.Reason == model.Filter:
		return "refusal", nil
	}
	return "end_turn", nil
}

// conversation returns the session's conversation, which starts with the first prompt.
func (t *talk) conversation(ctx context.Context) (*session.Conversation, error) {
	if t.talk != nil { // only prompts use it, one at a time
		return t.talk, nil
	}
	t.session.Outside.WaitLikely(ctx)
	m, err := t.session.Models.Open(ctx)
	if err != nil {
		return nil, t.server.noModel(ctx, t.session.Directory.Path, err)
	}
	t.tellServers()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.talk = t.session.Converse(t.server.ctx, session.ConversationOptions{
		Model: m, Limits: t.server.o.Limits, Observe: t.observe, Effort: t.effort,
	})
	return t.talk, nil
}

// tellServers shows the MCP servers that failed, if the editor can't show notices.
func (t *talk) tellServers() {
	if t.server.can().Session.Notices != nil {
		return
	}
	for _, st := range t.session.Outside.List() {
		if st.Err != nil {
			t.newMessage()
			t.say("agent_message_chunk", tool.Visible(fmt.Sprintf("MCP server %s: %v\n\n", st.Alias, st.Err)))
		}
	}
}

// title sends the title of a new session: the start of its first prompt.
func (t *talk) title(text string) {
	if t.titled {
		return
	}
	t.titled = true
	t.send(update{
		"sessionUpdate": "session_info_update", "title": journal.Title(text),
		"updatedAt": time.Now().UTC().Format(time.RFC3339),
	})
}

// modes returns the modes that the editor can select.
func (t *talk) modes() []sessionMode {
	all := []sessionMode{
		{permission.Plan.String(), "Plan", "Reads only; presents a plan for approval"},
		{permission.Default.String(), "Default", "Asks before changes and commands"},
		{permission.AutoEdit.String(), "Auto-edit", "Edits files in the workspace without asking"},
	}
	if t.yolo {
		all = append(all, sessionMode{permission.Yolo.String(), "Yolo", "Runs everything without asking"})
	}
	return all
}

// Names of options.
const (
	modeOption   = "mode"
	modelOption  = "model"
	effortOption = "effort"

	usualEffort = "default" // of the settings, or the model's own
)

// currentMode returns an update with the mode.
func (t *talk) currentMode() update {
	return update{"sessionUpdate": "current_mode_update", "currentModeId": t.session.Policy.Mode().String()}
}

// menus returns an update with the menus of the editor. The caller holds the lock.
func (t *talk) menus() update {
	mode := configOption{modeOption, "Mode", "mode", "select", t.session.Policy.Mode().String(), nil}
	for _, m := range t.modes() {
		mode.Options = append(mode.Options, configValue{m.ID, m.Name, m.Description})
	}
	if !slices.ContainsFunc(mode.Options, func(v configValue) bool { return v.Value == mode.Current }) {
		mode.Options = append(mode.Options, configValue{Value: mode.Current, Name: mode.Current})
	}
	current := t.session.Models.Name()
	if !slices.Contains(t.models, current) {
		t.models = append([]string{current}, t.models...)
	}
	all := []configOption{
		mode,
		{modelOption, "Model", "model", "select", current, named(t.models)},
		{effortOption, "Effort", "thought_level", "select", cmp.Or(t.effort, usualEffort), named(t.efforts())},
	}
	return update{"sessionUpdate": "config_option_update", "configOptions": all}
}

func (t *talk) efforts() []string { return append([]string{usualEffort}, known.Efforts()...) }

// menuTime is how long the response that opens a session waits for the list of models. Editors update their menus
// later, but scripts may only read the response.
const menuTime = 20 * time.Millisecond

// result returns the response to a request that opened the session.
func (t *talk) result(id string) map[string]any {
	select {
	case <-t.listed:
	case <-time.After(menuTime):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	mode, menus := t.currentMode(), t.menus()
	t.learned(mode)
	t.learned(menus)
	result := map[string]any{
		"modes":         map[string]any{"currentModeId": mode["currentModeId"], "availableModes": t.modes()},
		"configOptions": menus["configOptions"],
	}
	if id != "" {
		result["sessionId"] = id
	}
	return result
}

// tellState sends the mode, the menus and the slash commands, if they changed.
func (t *talk) tellState() {
	commands := []any{}
	for _, c := range t.slash.List() {
		one := map[string]any{"name": c.Name, "description": c.About}
		if c.Words != "" {
			one["input"] = map[string]string{"hint": c.Words}
		}
		commands = append(commands, one)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tell(t.currentMode())
	t.tell(t.menus())
	t.tell(update{"sessionUpdate": "available_commands_update", "availableCommands": commands})
}

// listModels requests the models from the servers.
func (t *talk) listModels() {
	defer close(t.listed)
	ctx, cancel := context.WithTimeout(t.server.ctx, 10*time.Second)
	defer cancel()
	found, _ := t.session.Models.List(ctx) // a server that fails adds nothing
	t.server.mu.Lock()
	for _, m := range found {
		if !slices.Contains(t.server.models, m.ID) {
			t.server.models = append(t.server.models, m.ID)
		}
	}
	t.server.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range found {
		if !slices.Contains(t.models, m.ID) {
			t.models = append(t.models, m.ID)
		}
	}
	if t.begun && ctx.Err() == nil {
		t.tell(t.menus())
	}
}

// tellUsage sends the size of the context.
func (t *talk) tellUsage() {
	used, size := t.talk.Context()
	if size == 0 {
		return
	}
	u := update{"sessionUpdate": "usage_update", "used": used, "size": size}
	if dollars, ok := t.session.Models.Cost(); ok {
		u["cost"] = map[string]any{"amount": dollars, "currency": "USD"}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tell(u)
}

// setMode sets the mode. The menus follow the response.
func (s *server) setMode(p modeParams) (runner, error) {
	return func(ctx context.Context) (any, func(), error) {
		t, _, err := s.named(ctx, p.SessionID)
		if err == nil {
			err = t.choose(ctx, "modeId", modeOption, p.ModeID)
		}
		if err != nil {
			return nil, nil, err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.learned(t.currentMode())
		return nil, t.tellState, nil
	}, nil
}

func (s *server) setOption(p optionParams) (runner, error) {
	var value string
	if json.Unmarshal(p.Value, &value) != nil {
		return nil, errorf(codeInvalidParams, "value: expected the value of one of the options, got %s", p.Value)
	}
	return func(ctx context.Context) (any, func(), error) {
		t, _, err := s.named(ctx, p.SessionID)
		if err == nil {
			err = t.choose(ctx, "value", p.ConfigID, value)
		}
		if err != nil {
			return nil, nil, err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.tell(t.currentMode())
		menus := t.menus()
		t.learned(menus)
		return map[string]any{"configOptions": menus["configOptions"]}, nil, nil
	}, nil
}

// choose sets an option. param is the parameter that has the value, for the error.
func (t *talk) choose(ctx context.Context, param, option, value string) error {
	switch option {
	case modeOption:
		var names []string
		for _, m := range t.modes() {
			names = append(names, m.ID)
		}
		if !slices.Contains(names, value) {
			return errorf(codeInvalidParams, "%s: expected %s, got %q", param, strings.Join(names, ", "), value)
		}
		return t.session.SetMode(value)
	case modelOption:
		m, err := t.session.Models.Switch(ctx, value)
		if err != nil {
			return errorf(codeInvalidParams, "%s: %v", param, err)
		}
		t.mu.Lock()
		talk := t.talk
		t.mu.Unlock()
		if talk != nil {
			talk.SetModel(m)
		}
		return nil
	}
	if option != effortOption {
		return errorf(codeInvalidParams, "configId: expected %s, %s or %s, got %q", modeOption, modelOption,
			effortOption, option)
	}
	if !slices.Contains(t.efforts(), value) {
		return errorf(codeInvalidParams, "%s: expected %s, got %q", param, strings.Join(t.efforts(), ", "), value)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.effort = value; value == usualEffort {
		t.effort = ""
	}
	if t.talk != nil {
		t.talk.SetEffort(cmp.Or(t.effort, t.session.Settings.Model.Effort))
	}
	return nil
}
