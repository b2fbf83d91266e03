// Package hook runs the user's own programs, or Go functions, at certain points of a session. They can deny, approve or
// rewrite tool calls, block prompts, add context for the model, and keep the model working.
//
//	// {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", …}]}]}
//	hooks, warnings, err := hook.Parse(settings)
//	if err != nil {
//		return err
//	}
//	r := hook.Open(hook.Options{Hooks: hooks, Dir: dir, Helper: helper})
//	defer r.Close()
//	result := r.Run(ctx, hook.Input{Event: hook.PreToolUse, ToolInput: args}, "run_shell_command", "Bash")
//
// # Hooks
//
// A [Hook] is for one [Event], and for the names that its matcher accepts: see [Matches]. A command reads an [Input] as
// JSON from stdin and prints an [Output] as JSON; a function has both as values.
//
// # Decisions
//
// All hooks of an event run, at the same time unless one is Sequential. The strictest of their verdicts counts: deny,
// ask, allow, none. Hook.OnFailure is what happens to a call if the hook fails or times out. If a hook rewrites the
// input of a call, the others run again with the new input.
//
// A hook whose Async is set can't decide, and [Runner.Run] doesn't wait for it. [Runner.Start] waits for no hook.
package hook

import (
	"context"
	"encoding/json"
	"time"
)

// Event is a point of a session at which hooks run.
type Event string

// The events.
const (
	SessionStart       Event = "SessionStart"
	InstructionsLoaded Event = "InstructionsLoaded"
	UserPromptSubmit   Event = "UserPromptSubmit"
	PreToolUse         Event = "PreToolUse"
	PermissionRequest  Event = "PermissionRequest"
	PermissionDenied   Event = "PermissionDenied"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	FilesChanged       Event = "FilesChanged"
	Stop               Event = "Stop"
	StopFailure        Event = "StopFailure"
	SubagentStart      Event = "SubagentStart"
	SubagentStop       Event = "SubagentStop"
	PreCompact         Event = "PreCompact"
	PostCompact        Event = "PostCompact"
	Notification       Event = "Notification"
	SessionEnd         Event = "SessionEnd"
)

// Events returns all events, in the order of a session.
func Events() []Event {
	return []Event{
		SessionStart, InstructionsLoaded, UserPromptSubmit, PreToolUse, PermissionRequest, PermissionDenied,
		PostToolUse, PostToolUseFailure, FilesChanged, Stop, StopFailure, SubagentStart, SubagentStop, PreCompact,
		PostCompact, Notification, SessionEnd,
	}
}

// Gate reports whether hooks of the event decide about calls: if one fails, the call isn't allowed.
func (e Event) Gate() bool { return e == PreToolUse || e == PermissionRequest }

// Input is the JSON that a hook reads on its standard input. Fields that don't belong to the event are absent.
type Input struct {
	SessionID      string    `json:"session_id"`
	TranscriptPath string    `json:"transcript_path"`
	CWD            string    `json:"cwd"`
	Event          Event     `json:"hook_event_name"`
	Timestamp      time.Time `json:"timestamp"`
	PermissionMode string    `json:"permission_mode,omitempty"`
	Traceparent    string    `json:"traceparent,omitempty"` // to continue a trace; commands have it as TRACEPARENT, too

	// Tool events. For each hook, ToolName is the name that its matcher accepts.
	ToolName     string          `json:"tool_name,omitempty"`
	ToolInput    json.RawMessage `json:"tool_input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	ToolCallID   string          `json:"tool_call_id,omitempty"`
	ToolResponse any             `json:"tool_response,omitempty"`
	// Changes are the files that the call changed, as a program reads them; nil: none.
	Changes any `json:"changes,omitempty"`
	// Files are the changed files that exist after the call. A FilesChanged hook gets those that its matcher accepts.
	Files []string `json:"files,omitempty"`
	// Paths are the paths of the changes, for matchers.
	Paths []ChangedPath `json:"-"`
	// Proposed means that a trial made the changes, which are not kept yet: only hooks with Before run.
	Proposed bool   `json:"proposed,omitempty"`
	Diff     string `json:"diff,omitempty"` // of proposed changes
	// Checked means that the changes were proposed before: hooks with Before don't run again.
	Checked bool `json:"-"`
	// Failed means that the call failed: of PostToolUse hooks, only those by effect run.
	Failed bool `json:"-"`

	Prompt          string `json:"prompt,omitempty"`           // UserPromptSubmit
	SubmittedPrompt string `json:"submitted_prompt,omitempty"` // UserPromptSubmit
	Source          string `json:"source,omitempty"`           // SessionStart: startup, resume
	Model           string `json:"model,omitempty"`            // SessionStart
	// Stop, SubagentStop: a Stop hook already kept the model working
	StopHookActive  *bool  `json:"stop_hook_active,omitempty"`
	LastMessage     string `json:"last_assistant_message,omitempty"`
	Trigger         string `json:"trigger,omitempty"` // PreCompact, PostCompact: manual, auto
	Instructions    string `json:"custom_instructions,omitempty"`
	Message         string `json:"message,omitempty"`           // Notification
	Title           string `json:"title,omitempty"`             // Notification
	Kind            string `json:"notification_type,omitempty"` // Notification: permission_prompt
	AgentID         string `json:"agent_id,omitempty"`          // of a subagent
	AgentType       string `json:"agent_type,omitempty"`
	AgentTranscript string `json:"agent_transcript_path,omitempty"`
	Reason          string `json:"reason,omitempty"` // SessionEnd: other; PermissionDenied
	// PostToolUseFailure: the message. StopFailure: a word, such as rate_limit, and the message in ErrorDetails.
	Error        string `json:"error,omitempty"`
	ErrorDetails string `json:"error_details,omitempty"`
	IsInterrupt  *bool  `json:"is_interrupt,omitempty"`    // PostToolUseFailure
	Summary      string `json:"compact_summary,omitempty"` // PostCompact
	// InstructionsLoaded, for each context file. MemoryType is User or Project.
	FilePath   string `json:"file_path,omitempty"`
	MemoryType string `json:"memory_type,omitempty"`
	LoadReason string `json:"load_reason,omitempty"`      // session_start, include
	ParentPath string `json:"parent_file_path,omitempty"` // of an included file
}

// gate reports whether the hooks decide about something that hasn't happened yet.
func (in Input) gate() bool { return in.Event.Gate() || in.Proposed }

// ChangedPath is a path that a call changed.
type ChangedPath struct {
	Path string // absolute
	Rel  string // relative to the workspace, with forward slashes; "dist/" stands for files below it
	Gone bool   // deleted, or not a file
}

// Output is the JSON that a hook can print on its standard output.
type Output struct {
	Continue       *bool     `json:"continue,omitempty"`
	StopReason     string    `json:"stopReason,omitempty"`
	SuppressOutput bool      `json:"suppressOutput,omitempty"`
	SystemMessage  string    `json:"systemMessage,omitempty"`
	Decision       string    `json:"decision,omitempty"`
	Reason         string    `json:"reason,omitempty"`
	Specific       *Specific `json:"hookSpecificOutput,omitempty"`
}

// Specific is the part of an Output that depends on the event.
type Specific struct {
	EventName         string           `json:"hookEventName,omitempty"`
	Permission        string           `json:"permissionDecision,omitempty"`
	PermissionReason  string           `json:"permissionDecisionReason,omitempty"`
	UpdatedInput      json.RawMessage  `json:"updatedInput,omitempty"`
	AdditionalContext string           `json:"additionalContext,omitempty"`
	Decision          *RequestDecision `json:"decision,omitempty"` // PermissionRequest
}

// RequestDecision is the answer of a PermissionRequest hook.
type RequestDecision struct {
	Behavior     string          `json:"behavior"`
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	Message      string          `json:"message,omitempty"`
	Interrupt    bool            `json:"interrupt,omitempty"`
}

// Func is a hook in Go. An error or a panic counts like a command that failed.
type Func func(context.Context, Input) (Output, error)

// Failure is what happens to a call if a hook of a [Event.Gate] event fails.
type Failure string

// The ways to treat a failure. The zero value asks.
const (
	FailureAsks   Failure = "ask"   // the call requires approval
	FailureAllows Failure = "allow" // as if the hook had no opinion
	FailureBlocks Failure = "block" // the call is denied
)

// Hook is one hook: a command, a function, a request to a server, or a question for the model.
type Hook struct {
	Event Event
	// Matcher has the names that it accepts: see [Matches]. Of a FilesChanged hook, it is a glob, or several separated
	// by "|". "" or "*" is all.
	Matcher string
	Effects bool // of a PostToolUse hook: it also runs for calls of other tools that changed files
	// Before makes a hook by effect run while the changes of a trial are only proposed: it can block them. For calls
	// that aren't tried, it runs after the call.
	Before     bool
	Name       string // for messages; "": the command
	Sequential bool   // it runs alone, after the hooks before it

	Command string            // for the shell
	Shell   string            // bash or powershell; "": bash
	Env     map[string]string // added to the environment
	Run     Func              // in place of Command

	// URL is where the input is sent instead, as a POST request; the response is the output. Variables in Headers are
	// replaced if HeaderEnv has their names.
	URL       string
	Headers   map[string]string
	HeaderEnv []string
	// Prompt is a question for the model instead, with the input in place of $ARGUMENTS. A no blocks.
	Prompt string

	// Check, if not nil, is called before each run. Its error is a failure, and the hook doesn't run.
	Check func() error

	NoApproval bool // it can't approve calls: that is the same as no opinion

	Timeout   time.Duration // 0: 60 s
	Async     bool          // Run doesn't wait for it, and it can't decide
	OnFailure Failure
	// Unsupported is a type of hook that can't run: it counts as failed.
	Unsupported string
}

// Title names the hook in messages.
func (h Hook) Title() string {
	switch {
	case h.Name != "":
		return h.Name
	case h.Command != "":
		return clip(oneLine(h.Command), 60)
	case h.URL != "":
		return clip(h.URL, 60)
	case h.Prompt != "":
		return clip(oneLine(h.Prompt), 60)
	case h.Unsupported != "":
		return "of type " + h.Unsupported
	}
	return "function"
}

// defaultTimeout is how long a hook can take.
const defaultTimeout = 60 * time.Second

func (h Hook) timeout() time.Duration {
	if h.Timeout > 0 {
		return h.Timeout
	}
	return defaultTimeout
}

// Verdict is the decision of hooks. Larger is stricter; the zero value is no opinion.
type Verdict int

// The verdicts.
const (
	None Verdict = iota
	Allow
	Ask
	Deny
)

func (v Verdict) String() string { return [...]string{"none", "allow", "ask", "deny"}[v] }

// Result is the combined result of all hooks of an event.
type Result struct {
	Verdict  Verdict         // for events other than those of calls, Deny blocks
	Reason   string          // of the verdict
	Input    json.RawMessage // rewritten input of the call; nil: as it was
	Context  []string        // for the model
	Halt     bool            // the run should stop
	HaltWhy  string
	Messages []string // for the user
	Warnings []string // hooks that failed
}
