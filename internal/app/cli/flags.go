package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/journal"
)

// The commands, as flags name them.
const (
	cmdPrompt   = "prompt"
	cmdAgent    = cmdPrompt + " acp" // what a model works in
	cmdSessions = "session-list session-show session-search session-fork session-delete session-export " +
		"session-replay undo redo diff"
	cmdTools  = "tool-list tool-show tool-call tool-run"
	cmdConfig = "config-list config-get config-set config-unset config-path config-schema"
	cmdMCP    = "mcp-list mcp-tools mcp-logs mcp-add mcp-remove mcp-login mcp-logout mcp-reconnect mcp-serve"
)

// flags returns the one table of flags, in the order of the help. They set the fields of o.
func flags(o *options) []flag {
	return slices.Concat(workFlags(o), programFlags(o), sdkFlags(o),
		agentFlags(o), modelFlags(o), sessionFlags(o), replayFlags(o),
		undoFlags(o), mcpFlags(o), lastFlags(o), unused(o))
}

func workFlags(o *options) []flag {
	return []flag{
		{long: "prompt", short: "p", value: "TEXT", on: cmdPrompt, about: "prompt to run; stdin is prepended",
			to: func(v string) error {
				o.prompt, o.hasPrompt = v, true
				return nil
			}},
		{long: "prompt-interactive", short: "i", value: "TEXT", on: cmdPrompt,
			about: "start a conversation in the terminal with this prompt",
			to:    text(&o.firstPrompt)},
		{long: "screen-reader", on: cmdPrompt, about: "plain labeled output for screen readers",
			to: yes(&o.screenReader)},
		{long: "output-format", short: "o", value: "FORMAT", on: cmdPrompt,
			about: "output format: text (default), json or stream-json",
			among: []string{string(formatText), string(formatJSON), string(formatStreamJSON)},
			to:    text(&o.format)},
		{long: "approval-mode", also: []string{"permission-mode"}, value: "MODE",
			noun: aMode, on: cmdAgent + " mcp-serve " + cmdTools,
			about: "approval mode: plan (keep no changes), default (ask before changes),\nauto-edit (keep changes in " +
				"the workspace) or yolo (approve everything)",
			to: mode(o)},
		{long: "yolo", also: []string{"dangerously-skip-permissions"}, short: "y",
			on:    cmdAgent + " mcp-serve " + cmdTools,
			about: "approve everything (same as --approval-mode yolo)",
			to:    yes(&o.yolo)},
		{long: "cwd", value: "DIR", noun: aDirectory, on: cmdPrompt + " trust doctor models usage sandbox-run " +
			"memory-show permission-check " + cmdConfig + " " + cmdSessions + " " + cmdMCP + " " + cmdTools,
			about: "working directory (default: current directory)",
			to:    text(&o.cwd)},
		{long: "add-dir", also: []string{"include-directories"}, value: "DIR", noun: aDirectory,
			on: cmdPrompt + " mcp-serve " + cmdTools, about: "additional workspace directory (repeatable)",
			to: texts(&o.addDirs)},
		{long: "max-turns", also: []string{"max-session-turns"}, value: "N", on: cmdAgent,
			about: "stop after N model turns (exit code 53)",
			to:    limit(&o.maxTurns)},
		{long: "max-time", also: []string{"max-wall-time"}, value: "TIME", on: cmdAgent,
			about: "stop after this time, such as 90s or 10m (exit code 55)",
			to:    duration(&o.maxTime)},
		{long: "until", value: "COMMAND", on: cmdPrompt, about: "with -p: continue until this command exits with 0; " +
			"it runs in a trial each time\nthe model ends its turn",
			to: func(v string) error {
				if o.goal.Command = strings.TrimSpace(v); o.goal.Command == "" {
					return fmt.Errorf("expected a command")
				}
				return nil
			}},
		{long: "until-turns", value: "N", on: cmdPrompt, about: "with --until: stop after the command failed N times " +
			"(default 20, exit code 53)", to: limit(&o.goal.Turns)},
		{long: "until-time", value: "TIME", on: cmdPrompt, about: "with --until: stop after this time (default 60m, " +
			"exit code 55)", to: duration(&o.goal.Time)},
		{long: "until-cost", value: "USD", on: cmdPrompt, about: "with --until: stop after this cost in US dollars " +
			"(exit code 55)",
			to: func(v string) (err error) {
				if o.goal.Cost, err = strconv.ParseFloat(v, 64); err != nil || !(o.goal.Cost > 0) {
					return fmt.Errorf("expected an amount in US dollars above 0, got %q", v)
				}
				return nil
			}},
		{long: "strict-tools", on: cmdPrompt, about: "exit with code 54 if a call failed or was denied",
			to: yes(&o.strict)},
		{long: "json", on: "permission-check mcp-list mcp-tools models version usage session-list session-show " +
			"session-search session-fork session-delete diff " + cmdConfig + " " + cmdTools,
			about: "print JSON", abouts: map[string]string{
				"tool-call": "print JSON; deny calls that require approval",
			},
			to: yes(&o.json)},
		{long: "dry-run", on: "tool-call undo redo", about: "show what the call would do and whether it needs " +
			"approval, without running it", abouts: map[string]string{
			"undo": "show what would change, and change nothing", "redo": "show what would change, and change nothing",
		},
			to: yes(&o.dryRun)},
	}
}

// lastFlags come at the end of every help.
func lastFlags(o *options) []flag {
	return []flag{
		{long: "yes", on: "trust config-import undo redo session-delete sandbox-run plugin-add plugin-update",
			about: "trust without prompting", abouts: map[string]string{
				"config-import": "write without prompting",
				"plugin-add":    "add without prompting", "plugin-update": "update without prompting",
				"undo": "don't prompt", "redo": "don't prompt", "session-delete": "don't prompt",
				"sandbox-run": "keep what a trial changed without prompting",
			},
			to: yes(&o.yes)},
		{long: "remove", on: "trust", about: "revoke trust",
			to: yes(&o.remove)},
		{long: "allow", value: "RULE", on: "permission-check", about: "add an allow rule (repeatable)",
			to: texts(&o.allow)},
		{long: "ask", value: "RULE", on: "permission-check", about: "add an ask rule (repeatable)",
			to: texts(&o.ask)},
		{long: "deny", value: "RULE", on: "permission-check", about: "add a deny rule (repeatable)",
			to: texts(&o.deny)},
		{long: "mode", value: "MODE", noun: aMode, nouns: map[string]noun{"sandbox-run": aSandbox},
			on: "permission-check sandbox-run", about: "approval mode to check against: plan, default, " +
				"auto-edit or yolo",
			abouts: map[string]string{
				"sandbox-run": "sandbox mode: off, read-only, workspace (default), workspace+network or trial",
			},
			to: text(&o.tryMode)},
		{long: "sandbox", value: "MODE", bare: "workspace", on: cmdAgent + " doctor mcp-serve " + cmdTools,
			about: "sandbox for commands: auto (default), off, read-only, workspace or workspace+network",
			among: []string{"auto", "off", "read-only", "workspace", "workspace+network"},
			to:    text(&o.sandbox)},
		{long: "backend", value: "NAME", on: "sandbox-run doctor",
			about: "sandbox implementation: built-in or bubblewrap",
			among: []string{"built-in", project.Bubblewrap},
			to:    text(&o.backend)},
		{long: "batch", on: "permission-check",
			about: `check commands from stdin, JSON Lines {"id","cmd","rules","cwd","mode","place"}; ignores settings`,
			to:    yes(&o.batch)},
		{long: "no-read-only", on: "permission-check", about: "ignore the built-in read-only list",
			to: yes(&o.noReadOnly)},
		{long: "help", short: "h", on: "*", about: "show help",
			to: yes(&o.help)},
		{long: "version", short: "v", on: cmdPrompt, about: "print the version",
			to: yes(&o.version)},
	}
}

// agentFlags are what programs that drive an agent pass: tools, limits, prompts and the form of the result.
func agentFlags(o *options) []flag {
	return []flag{
		{long: "allowed-tools", also: []string{"allowedTools"}, value: "A,B", on: cmdAgent + " mcp-serve " + cmdTools,
			about: "rules for calls that run without approval (repeatable)",
			to:    list(&o.allowedTools)},
		{long: "exclude-tools", also: []string{"disallowed-tools", "disallowedTools"}, value: "A,B",
			on: cmdAgent + " mcp-serve " + cmdTools, about: "tools to remove, or rules for denied calls (repeatable)",
			to: list(&o.excludeTools)},
		{long: "core-tools", value: "A,B", on: cmdAgent + " " + cmdTools,
			about: "the only built-in tools to offer (repeatable)",
			to:    list(&o.coreTools)},
		{long: "allowed-mcp-server-names", value: "A,B", on: cmdAgent + " " + cmdTools,
			about: "the only MCP servers to start (repeatable)",
			to:    list(&o.mcpServers)},
		{long: "disabled-slash-commands", value: "A,B", on: cmdAgent, about: "slash commands to remove (repeatable)",
			to: list(&o.noSlashes)},
		{long: "system-prompt", value: "TEXT", on: cmdAgent, about: "instructions in place of Adze's own",
			to: text(&o.systemPrompt)},
		{long: "append-system-prompt", value: "TEXT", on: cmdAgent, about: "instructions to add to the system prompt",
			to: text(&o.appendPrompt)},
		{long: "json-schema", value: "TEXT|@FILE", on: cmdPrompt, about: "return a result that matches this JSON " +
			"Schema, instead of text",
			to: func(v string) error {
				o.jsonSchema, o.hasSchema = v, true
				return nil
			}},
		{long: "max-tool-calls", value: "N", on: cmdAgent, about: "stop after N tool calls, including subagents " +
			"(exit code 55)",
			to: limit(&o.maxCalls)},
		{long: "max-tokens", value: "N", on: cmdAgent, about: "stop after N tokens, including subagents and sampling " +
			"(exit code 55)",
			to: limit(&o.maxTokens)},
		{long: "max-subagent-depth", value: "N", on: cmdAgent,
			about: "how deep subagents can be nested (0: no subagents)",
			to: func(v string) error {
				if n, err := strconv.Atoi(v); err != nil || n < 0 {
					return fmt.Errorf("expected 0 or a number above 0, got %q", v)
				}
				o.maxDepth = v
				return nil
			}},
		{long: "log", value: "FILE", noun: aFile, on: cmdAgent, about: "append requests to models and their answers " +
			"to this file, as JSON Lines",
			to: func(v string) error {
				if v == "" {
					return fmt.Errorf("expected a file name")
				}
				o.log = v
				return nil
			}},
	}
}

// unused are flags of Qwen Code that have no meaning here. Programs pass them, so they are accepted, with a note.
func unused(o *options) []flag {
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
		out = append(out, flag{long: f.long, short: f.short, value: f.value, on: cmdPrompt, hidden: true,
			to: func(string) error {
				o.notes = append(o.notes, note)
				return nil
			}})
	}
	return out
}

// recordOptions is what the command line says about recorded sessions.
type recordOptions struct {
	days    int    // of adze usage; 0: the default
	older   int    // delete sessions that weren't used for this many days; 0: those that are named
	latest  bool   // continue the newest session of the directory
	resume  bool   // continue a session: that of the ID, or one that the user chooses
	id      string // or the start of one, a name, or words of a title
	newID   string
	name    string // for the session; "": it keeps what it has
	fork    bool
	off     bool
	all     bool   // of every directory
	format  string // of an export
	setting string // general.chatRecording for this run; "": not given
}

func sessionFlags(o *options) []flag {
	return []flag{
		{long: "continue", short: "c", on: cmdPrompt, about: "continue the newest session of this directory",
			to: yes(&o.record.latest)},
		{long: "resume", short: "r", value: "[ID]", noun: aSession, optional: startsUUID, on: cmdPrompt,
			about: "continue a session; the first 4 or more characters of its ID or a part of its name\nare enough, " +
				"or, with -p, words of its title. Without an ID, choose from a list",
			to: func(v string) error {
				o.record.resume, o.record.id = true, v
				return nil
			}},
		{long: "fork-session", on: cmdPrompt, about: "with --continue or --resume: continue a copy of the session",
			to: yes(&o.record.fork)},
		{long: "session-id", value: "UUID", on: cmdPrompt, about: "ID of the new session",
			to: func(v string) error {
				o.record.newID = strings.ToLower(v)
				if !journal.ValidID(o.record.newID) {
					return fmt.Errorf("expected a UUID such as 123e4567-e89b-42d3-a456-426614174000, got %q", v)
				}
				return nil
			}},
		{long: "name", value: "NAME", on: cmdPrompt, about: "name the session, for --resume NAME",
			to: text(&o.record.name)},
		{long: "no-session", also: []string{"no-session-persistence"}, on: cmdAgent + " mcp-serve",
			about: "don't record the session; it can't be resumed",
			to:    yes(&o.record.off)},
		{long: "chat-recording", on: cmdAgent, hidden: true, to: recordingSetting(o)}, // of Qwen Code
		{
			long: "no-chat-recording", on: cmdAgent, hidden: true,
			to: func(string) error { return recordingSetting(o)("false") },
		},
		{long: "all", on: "session-list undo", about: "list the sessions of all directories",
			abouts: map[string]string{"undo": "undo all calls of the session"},
			to:     yes(&o.record.all)},
		{long: "older", value: "DAYS", on: "session-delete",
			about: "delete the sessions of all directories that weren't used\nfor this many days, such as 90d",
			to:    days(&o.record.older)},
		{long: "days", value: "N", on: "usage", about: "days to look back, today included (default: 30)",
			to: days(&o.record.days)},
		{long: "format", value: "FORMAT", on: "session-export",
			about: "format of the export: md (default), html or json",
			among: []string{"md", "html", "json"},
			to:    text(&o.record.format)},
	}
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

// titleWords takes the words after --resume that name the session: beside a prompt they are all its name or words of
// its title. Otherwise they are a part of its name, or its name and the prompt; other words are the prompt.
func titleWords(env Env, o *options, words []string) (rest []string) {
	if !o.record.resume || o.record.id != "" || len(words) == 0 {
		return words
	}
	text := strings.Join(words, " ")
	if o.hasPrompt || o.firstPrompt != "" {
		o.record.id = text
		return nil
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return words // it is reported later
	}
	switch all := record.Of(directory); {
	case all.IsName(text, false):
		o.record.id = text
		return nil
	case all.IsName(words[0], true):
		o.record.id = words[0]
		return words[1:]
	}
	return words
}

// recorded returns how the session of a prompt is recorded.
func recorded(ctx context.Context, env Env, o *options) (*recording.Options, error) {
	r := o.record
	continues := r.latest || r.resume
	switch {
	case r.latest && r.resume:
		return nil, usagef("use either --continue or --resume, not both")
	case r.off && (continues || r.fork):
		return nil, usagef("--no-session can't be used with --continue, --resume or --fork-session")
	case r.off && r.name != "":
		return nil, usagef("--no-session can't be used with --name")
	case r.fork && !continues:
		return nil, usagef("--fork-session needs a session to copy\nAdd --continue or --resume ID.")
	case r.newID != "" && continues && !r.fork:
		return nil, usagef("--session-id can't be used with --continue or --resume\nAdd --fork-session to continue a " +
			"copy under this ID.")
	}
	out := &recording.Options{ID: r.newID, Name: r.name, Fork: r.fork, Off: r.off}
	if !continues {
		return out, nil
	}
	directory, err := workingDirectory(env, o)
	if err != nil {
		return nil, err
	}
	switch {
	case r.latest:
		out.Resume, err = record.Of(directory).Latest()
	case r.id != "":
		out.Resume, err = record.Of(directory).Find(r.id)
		var unknown *journal.UnknownError
		var many *journal.AmbiguousError
		if (errors.As(err, &unknown) || errors.As(err, &many) && env.Terminal) && !startsUUID(r.id) {
			out.Resume, err = chooseSession(ctx, env, directory, r.id)
		}
	default:
		out.Resume, err = chooseSession(ctx, env, directory, "")
	}
	var own *exit
	if errors.As(err, &own) {
		return nil, err
	}
	if err != nil {
		return nil, record.SessionError(err)
	}
	return out, nil
}
