package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/permission"
)

// The commands, as flags name them.
const (
	cmdPrompt   = "prompt"
	cmdAgent    = cmdPrompt + " acp" // what a model works in
	cmdSessions = "session-list session-show session-fork session-delete session-export session-replay undo redo"
	cmdTools    = "tool-list tool-show tool-call tool-run"
	cmdConfig   = "config-list config-get config-set config-unset config-path config-schema"
	cmdMCP      = "mcp-list mcp-tools mcp-logs mcp-add mcp-remove mcp-login mcp-logout mcp-reconnect mcp-serve"
)

// flags is the one table of flags, in the order of the help.
func flags() []flag {
	return slices.Concat(workFlags(), programFlags(), agentFlags(), modelFlags(), sessionFlags(), replayFlags(), undoFlags(), mcpFlags(), lastFlags(), unused())
}

func workFlags() []flag {
	return []flag{
		{long: "prompt", short: "p", value: "TEXT", on: cmdPrompt, about: "prompt to run; stdin is prepended",
			set: func(o *options, v string) error {
				o.prompt, o.hasPrompt = v, true
				return nil
			}},
		{long: "prompt-interactive", short: "i", value: "TEXT", on: cmdPrompt, about: "start a conversation in the terminal with this prompt",
			set: func(o *options, v string) error {
				o.firstPrompt = v
				return nil
			}},
		{long: "screen-reader", on: cmdPrompt, about: "hold the conversation in labelled lines that are never redrawn",
			set: func(o *options, _ string) error {
				o.screenReader = true
				return nil
			}},
		{long: "output-format", short: "o", value: "FORMAT", on: cmdPrompt, about: "output format: text (default), json or stream-json",
			among: []string{"text", "json", "stream-json"},
			set: func(o *options, v string) error {
				o.format = v
				return nil
			}},
		{long: "approval-mode", value: "MODE", noun: aMode, on: cmdAgent + " mcp-serve " + cmdTools, about: "approval mode: plan (read-only), default (prompt for changes),\nauto-edit (approve file edits in the workspace) or yolo (approve everything)",
			set: setMode},
		{long: "yolo", short: "y", on: cmdAgent + " mcp-serve " + cmdTools, about: "approve everything (same as --approval-mode yolo)",
			set: func(o *options, _ string) error {
				o.yolo = true
				return nil
			}},
		{long: "cwd", value: "DIR", noun: aDirectory, on: cmdPrompt + " trust doctor models sandbox-run memory-show permission-check " + cmdConfig + " " + cmdSessions + " " + cmdMCP + " " + cmdTools, about: "working directory (default: current directory)",
			set: func(o *options, v string) error {
				o.cwd = v
				return nil
			}},
		{long: "add-dir", also: []string{"include-directories"}, value: "DIR", noun: aDirectory, on: cmdPrompt + " " + cmdTools, about: "additional workspace directory (repeatable)",
			set: func(o *options, v string) error {
				o.addDirs = append(o.addDirs, v)
				return nil
			}},
		{long: "max-turns", also: []string{"max-session-turns"}, value: "N", on: cmdAgent, about: "stop after N model turns (exit code 53)",
			set: func(o *options, v string) (err error) {
				o.maxTurns, err = limit(v)
				return err
			}},
		{long: "max-time", also: []string{"max-wall-time"}, value: "TIME", on: cmdAgent, about: "stop after this time, such as 90s or 10m (exit code 55)",
			set: func(o *options, v string) (err error) {
				o.maxTime, err = duration(v)
				return err
			}},
		{long: "strict-tools", on: cmdPrompt, about: "exit with code 54 if any tool failed",
			set: func(o *options, _ string) error {
				o.strict = true
				return nil
			}},
		{long: "json", on: "permission-check mcp-list mcp-tools models version session-list session-show session-fork session-delete " + cmdConfig + " " + cmdTools, about: "print JSON; deny calls that require approval",
			abouts: jsonAbouts(),
			set: func(o *options, _ string) error {
				o.json = true
				return nil
			}},
		{long: "dry-run", on: "tool-call undo redo", about: "show what the call would do and whether it needs approval, without running it", abouts: map[string]string{"undo": "show what would change, and change nothing", "redo": "show what would change, and change nothing"},
			set: func(o *options, _ string) error {
				o.dryRun = true
				return nil
			}},
	}
}

// lastFlags come at the end of every help.
func lastFlags() []flag {
	return []flag{
		{long: "yes", on: "trust undo redo sandbox-run", about: "trust without prompting",
			abouts: map[string]string{"undo": "don't prompt", "redo": "don't prompt", "sandbox-run": "keep what a trial changed without prompting"},
			set: func(o *options, _ string) error {
				o.yes = true
				return nil
			}},
		{long: "remove", on: "trust", about: "revoke trust",
			set: func(o *options, _ string) error {
				o.remove = true
				return nil
			}},
		{long: "allow", value: "RULE", on: "permission-check", about: "add an allow rule (repeatable)",
			set: func(o *options, v string) error {
				o.allow = append(o.allow, v)
				return nil
			}},
		{long: "ask", value: "RULE", on: "permission-check", about: "add an ask rule (repeatable)",
			set: func(o *options, v string) error {
				o.ask = append(o.ask, v)
				return nil
			}},
		{long: "deny", value: "RULE", on: "permission-check", about: "add a deny rule (repeatable)",
			set: func(o *options, v string) error {
				o.deny = append(o.deny, v)
				return nil
			}},
		{long: "mode", value: "MODE", noun: aMode, nouns: map[string]noun{"sandbox-run": aSandbox}, on: "permission-check sandbox-run", about: "approval mode to check against: plan, default, auto-edit or yolo",
			abouts: map[string]string{"sandbox-run": "sandbox mode: off, read-only, workspace (default), workspace+network or trial"},
			set: func(o *options, v string) error {
				o.tryMode = v
				return nil
			}},
		{long: "sandbox", value: "MODE", bare: "workspace", on: cmdAgent + " doctor " + cmdTools, about: "sandbox for commands: auto (default), off, read-only, workspace or workspace+network",
			among: []string{"auto", "off", "read-only", "workspace", "workspace+network"},
			set: func(o *options, v string) error {
				o.sandbox = v
				return nil
			}},
		{long: "backend", value: "NAME", on: "sandbox-run doctor", about: "sandbox implementation: built-in or bubblewrap",
			among: []string{"built-in", session.Bubblewrap},
			set: func(o *options, v string) error {
				o.backend = v
				return nil
			}},
		{long: "batch", on: "permission-check", about: `check commands from stdin, JSON Lines {"id","cmd","rules","cwd","mode"}; ignores settings`,
			set: func(o *options, _ string) error {
				o.batch = true
				return nil
			}},
		{long: "no-read-only", on: "permission-check", about: "ignore the built-in read-only list",
			set: func(o *options, _ string) error {
				o.noReadOnly = true
				return nil
			}},
		{long: "help", short: "h", on: "*", about: "show help",
			set: func(o *options, _ string) error {
				o.help = true
				return nil
			}},
		{long: "version", short: "v", on: cmdPrompt, about: "print the version",
			set: func(o *options, _ string) error {
				o.version = true
				return nil
			}},
	}
}

// setMode takes Qwen Code's mode auto, where a model decides, too.
func setMode(o *options, v string) error {
	if v == "auto" {
		v = string(permission.AutoEdit)
		o.notes = append(o.notes, "--approval-mode auto is not supported; using auto-edit, the nearest stricter mode")
	}
	m, err := permission.ParseMode(v)
	o.mode = string(m)
	return err
}

// jsonAbouts are the texts of --json for commands without calls.
func jsonAbouts() map[string]string {
	texts := map[string]string{}
	for _, c := range strings.Fields(cmdConfig) {
		texts[c] = "print JSON"
	}
	return texts
}

// agentFlags are what programs that drive an agent pass: tools, limits, prompts and the form of the result.
func agentFlags() []flag {
	return []flag{
		{long: "allowed-tools", value: "A,B", on: cmdAgent + " " + cmdTools, about: "rules for calls that run without approval (repeatable)",
			set: func(o *options, v string) error { return list(&o.allowedTools, v) }},
		{long: "exclude-tools", also: []string{"disallowed-tools"}, value: "A,B", on: cmdAgent + " " + cmdTools, about: "tools to remove, or rules for denied calls (repeatable)",
			set: func(o *options, v string) error { return list(&o.excludeTools, v) }},
		{long: "core-tools", value: "A,B", on: cmdAgent + " " + cmdTools, about: "the only built-in tools to offer (repeatable)",
			set: func(o *options, v string) error { return list(&o.coreTools, v) }},
		{long: "allowed-mcp-server-names", value: "A,B", on: cmdAgent + " " + cmdTools, about: "the only MCP servers to start (repeatable)",
			set: func(o *options, v string) error { return list(&o.mcpServers, v) }},
		{long: "disabled-slash-commands", value: "A,B", on: cmdAgent, about: "slash commands to remove (repeatable)",
			set: func(o *options, v string) error { return list(&o.noSlashes, v) }},
		{long: "system-prompt", value: "TEXT", on: cmdAgent, about: "instructions in place of Adze's own",
			set: func(o *options, v string) error {
				o.systemPrompt = v
				return nil
			}},
		{long: "append-system-prompt", value: "TEXT", on: cmdAgent, about: "instructions to add to the system prompt",
			set: func(o *options, v string) error {
				o.appendPrompt = v
				return nil
			}},
		{long: "json-schema", value: "TEXT|@FILE", on: cmdPrompt, about: "return a result that matches this JSON Schema, instead of text",
			set: func(o *options, v string) error {
				o.jsonSchema, o.hasSchema = v, true
				return nil
			}},
		{long: "max-tool-calls", value: "N", on: cmdAgent, about: "stop after N tool calls, including subagents (exit code 55)",
			set: func(o *options, v string) (err error) {
				o.maxCalls, err = limit(v)
				return err
			}},
		{long: "max-tokens", value: "N", on: cmdAgent, about: "stop after N tokens, including subagents and sampling (exit code 55)",
			set: func(o *options, v string) (err error) {
				o.maxTokens, err = limit(v)
				return err
			}},
		{long: "max-subagent-depth", value: "N", on: cmdAgent, about: "how deep subagents can be nested (0: no subagents)",
			set: func(o *options, v string) error {
				if n, err := strconv.Atoi(v); err != nil || n < 0 {
					return fmt.Errorf("expected 0 or a number above 0, got %q", v)
				}
				o.maxDepth = v
				return nil
			}},
		{long: "log", value: "FILE", noun: aFile, on: cmdAgent, about: "append requests to models and their answers to this file, as JSON Lines",
			set: func(o *options, v string) error {
				if v == "" {
					return fmt.Errorf("expected a file name")
				}
				o.log = v
				return nil
			}},
	}
}

// unused are flags of Qwen Code that have no meaning here. Programs pass them, so they are accepted, with a note.
func unused() []flag {
	flags := []struct{ long, short, value, instead string }{
		{long: "channel", value: "NAME"},
		{long: "debug", short: "d"},
		{long: "telemetry"},
		{long: "telemetry-target", value: "NAME"},
		{long: "telemetry-otlp-endpoint", value: "URL"},
		{long: "telemetry-otlp-protocol", value: "NAME"},
		{long: "telemetry-log-prompts"},
		{long: "telemetry-outfile", value: "FILE"},
		{long: "experimental-lsp"},
		{long: "experimental-skills"},
		{long: "restore-ask-user-question"},
		{long: "extensions", short: "e", value: "NAMES"},
		{long: "sandbox-image", value: "NAME"},
		{long: "openai-logging", instead: "--log FILE"},
		{long: "openai-logging-dir", value: "DIR", instead: "--log FILE"},
	}
	var out []flag
	for _, f := range flags {
		note := "--" + f.long + " has no effect in Adze"
		if f.instead != "" {
			note += "; use " + f.instead
		}
		out = append(out, flag{long: f.long, short: f.short, value: f.value, on: cmdPrompt, hidden: true, set: func(o *options, _ string) error {
			o.notes = append(o.notes, note)
			return nil
		}})
	}
	return out
}

// list adds the elements of a list that is separated by commas. Commas in parentheses belong to a rule.
func list(to *[]string, v string) error {
	depth, start := 0, 0
	elements := []string{}
	for i, r := range v {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case r == ',' && depth == 0:
			elements = append(elements, v[start:i])
			start = i + 1
		}
	}
	all := append([]string{}, *to...) // not nil: an empty list is one, too
	for _, e := range append(elements, v[start:]) {
		if e = strings.TrimSpace(e); e != "" {
			all = append(all, e)
		}
	}
	*to = all
	return nil
}

// limit reads a limit; -1 is none.
func limit(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 && n != -1 {
		return 0, fmt.Errorf("expected a number above 0, or -1 for no limit, got %q", v)
	}
	return n, nil
}

// duration reads a time. A number without a unit is seconds; -1 is no limit.
func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if n, plain := strconv.ParseFloat(v, 64); plain == nil && n < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d <= 0 && v != "-1" {
		return 0, fmt.Errorf("expected a time such as 90s or 10m, got %q", v)
	}
	return d, nil
}

// recordOptions is what the command line says about recorded sessions.
type recordOptions struct {
	latest  bool   // continue the newest session of the directory
	resume  bool   // continue a session: that of the ID, or one that the user chooses
	id      string // or the start of one
	newID   string
	fork    bool
	off     bool
	all     bool   // of every directory
	format  string // of an export
	setting string // general.chatRecording for this run; "": not given
}

func sessionFlags() []flag {
	return []flag{
		{long: "continue", short: "c", on: cmdPrompt, about: "continue the newest session of this directory",
			set: func(o *options, _ string) error {
				o.record.latest = true
				return nil
			}},
		{long: "resume", short: "r", value: "[ID]", noun: aSession, optional: startsUUID, on: cmdPrompt, about: "continue a session; the first 4 or more characters of its ID are enough.\nWithout an ID, choose from a list",
			set: func(o *options, v string) error {
				o.record.resume, o.record.id = true, v
				return nil
			}},
		{long: "fork-session", on: cmdPrompt, about: "with --continue or --resume: continue a copy of the session",
			set: func(o *options, _ string) error {
				o.record.fork = true
				return nil
			}},
		{long: "session-id", value: "UUID", on: cmdPrompt, about: "ID of the new session",
			set: func(o *options, v string) error {
				o.record.newID = strings.ToLower(v)
				if !journal.ValidID(o.record.newID) {
					return fmt.Errorf("expected a UUID such as 123e4567-e89b-42d3-a456-426614174000, got %q", v)
				}
				return nil
			}},
		{long: "no-session", on: cmdAgent + " mcp-serve", about: "don't record the session; it can't be resumed",
			set: func(o *options, _ string) error {
				o.record.off = true
				return nil
			}},
		{long: "chat-recording", on: cmdAgent, hidden: true, set: setRecording}, // of Qwen Code
		{long: "no-chat-recording", on: cmdAgent, hidden: true, set: func(o *options, _ string) error { return setRecording(o, "false") }},
		{long: "all", on: "session-list undo", about: "list the sessions of all directories", abouts: map[string]string{"undo": "undo all calls of the session"},
			set: func(o *options, _ string) error {
				o.record.all = true
				return nil
			}},
		{long: "format", value: "FORMAT", on: "session-export", about: "format of the export: md (default), html or json",
			among: []string{"md", "html", "json"},
			set: func(o *options, v string) error {
				o.record.format = v
				return nil
			}},
	}
}

func setRecording(o *options, v string) error {
	o.record.setting = cmp.Or(v, "true")
	if o.record.setting != "true" && o.record.setting != "false" {
		return fmt.Errorf("expected true or false, got %q", v)
	}
	return nil
}

// startsUUID reports whether a word is 4 or more characters of a UUID. Others after --resume are the prompt.
func startsUUID(word string) bool {
	const shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(word) < 4 || len(word) > len(shape) {
		return false
	}
	for i, c := range []byte(strings.ToLower(word)) {
		if dash := shape[i] == '-'; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return false
		}
	}
	return true
}

// recording is how the session of a prompt is recorded.
func recording(ctx context.Context, env Env, o *options) (*session.Recording, error) {
	r := o.record
	continues := r.latest || r.resume
	switch {
	case r.latest && r.resume:
		return nil, usagef("use either --continue or --resume, not both")
	case r.off && (continues || r.fork):
		return nil, usagef("--no-session can't be used with --continue, --resume or --fork-session")
	case r.fork && !continues:
		return nil, usagef("--fork-session needs a session to copy\nAdd --continue or --resume ID.")
	case r.newID != "" && continues && !r.fork:
		return nil, usagef("--session-id can't be used with --continue or --resume\nAdd --fork-session to continue a copy under this ID.")
	}
	out := &session.Recording{ID: r.newID, Fork: r.fork, Off: r.off}
	if !continues {
		return out, nil
	}
	folder, err := workingFolder(env, o)
	if err != nil {
		return nil, err
	}
	switch {
	case r.latest:
		out.Resume, err = folder.Latest()
	case r.id != "":
		out.Resume, err = folder.Sessions().Find(r.id)
	default:
		out.Resume, err = chooseSession(ctx, env, folder)
	}
	var own *exit
	if errors.As(err, &own) {
		return nil, err
	}
	if err != nil {
		return nil, session.SessionError(err)
	}
	return out, nil
}
