package cli

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/session"
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
