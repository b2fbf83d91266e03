package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/permission"
)

// The commands, as flags name them.
const (
	cmdPrompt = "prompt"
	cmdTools  = "tool-list tool-show tool-call tool-run"
	cmdMCP    = "mcp-list mcp-tools mcp-logs mcp-add mcp-remove mcp-login mcp-logout mcp-reconnect mcp-serve"
)

// flags is the one table of flags, in the order of the help.
func flags() []flag { return slices.Concat(workFlags(), mcpFlags(), lastFlags()) }

func workFlags() []flag {
	return []flag{
		{long: "prompt", short: "p", value: "TEXT", on: cmdPrompt, about: "do this and end; piped text comes before it",
			set: func(o *options, v string) error {
				o.prompt, o.hasPrompt = v, true
				return nil
			}},
		{long: "output-format", short: "o", value: "FORMAT", on: cmdPrompt, about: "text (default), json or stream-json",
			set: func(o *options, v string) error { return oneOf(&o.format, v, "text", "json", "stream-json") }},
		{long: "approval-mode", value: "MODE", on: cmdPrompt + " mcp-serve " + cmdTools, about: "plan, default, auto-edit or yolo: how much is done without asking",
			set: setMode},
		{long: "yolo", short: "y", on: cmdPrompt + " mcp-serve " + cmdTools, about: "ask about nothing: --approval-mode yolo",
			set: func(o *options, _ string) error {
				o.yolo = true
				return nil
			}},
		{long: "model", short: "m", value: "NAME", on: cmdPrompt, about: "the model to use",
			set: func(o *options, v string) error {
				o.model = v
				return nil
			}},
		{long: "cwd", value: "DIR", on: cmdPrompt + " trust doctor sandbox-run memory-show permission-check " + cmdMCP + " " + cmdTools, about: "the folder to work in; the current one if not given",
			set: func(o *options, v string) error {
				o.cwd = v
				return nil
			}},
		{long: "add-dir", value: "DIR", on: cmdPrompt + " " + cmdTools, about: "a further folder of the workspace; may be given several times",
			set: func(o *options, v string) error {
				o.addDirs = append(o.addDirs, v)
				return nil
			}},
		{long: "max-turns", value: "N", on: cmdPrompt, about: "end with exit code 53 after N turns of the model",
			set: func(o *options, v string) (err error) {
				o.maxTurns, err = positive(v)
				return err
			}},
		{long: "max-time", value: "TIME", on: cmdPrompt, about: "end with exit code 55 after this time, such as 90s or 10m",
			set: func(o *options, v string) error {
				o.maxTime = v
				if d, err := time.ParseDuration(v); err != nil || d <= 0 {
					return fmt.Errorf("expected a time such as 90s or 10m, got %q", v)
				}
				return nil
			}},
		{long: "strict-tools", on: cmdPrompt, about: "end with exit code 54 if any tool failed",
			set: func(o *options, _ string) error {
				o.strict = true
				return nil
			}},
		{long: "json", on: "permission-check mcp-list mcp-tools version " + cmdTools, about: "print JSON; never ask",
			set: func(o *options, _ string) error {
				o.json = true
				return nil
			}},
		{long: "dry-run", on: "tool-call", about: "say what the call would do, and whether it may; do nothing",
			set: func(o *options, _ string) error {
				o.dryRun = true
				return nil
			}},
	}
}

// lastFlags come at the end of every help.
func lastFlags() []flag {
	return []flag{
		{long: "yes", on: "trust", about: "say yes without being asked",
			set: func(o *options, _ string) error {
				o.yes = true
				return nil
			}},
		{long: "remove", on: "trust", about: "take the trust back",
			set: func(o *options, _ string) error {
				o.remove = true
				return nil
			}},
		{long: "allow", value: "RULE", on: "permission-check", about: "a rule that allows; may be given several times",
			set: func(o *options, v string) error {
				o.allow = append(o.allow, v)
				return nil
			}},
		{long: "ask", value: "RULE", on: "permission-check", about: "a rule that asks",
			set: func(o *options, v string) error {
				o.ask = append(o.ask, v)
				return nil
			}},
		{long: "deny", value: "RULE", on: "permission-check", about: "a rule that forbids",
			set: func(o *options, v string) error {
				o.deny = append(o.deny, v)
				return nil
			}},
		{long: "mode", value: "MODE", on: "permission-check sandbox-run", about: "the approval mode to judge in; of a sandbox: read-only, workspace or workspace+network",
			set: func(o *options, v string) error {
				o.tryMode = v // two commands have modes, and each its own
				return nil
			}},
		{long: "sandbox", value: "MODE", on: cmdPrompt + " doctor " + cmdTools, about: "auto, off, read-only, workspace or workspace+network: how commands are boxed",
			set: func(o *options, v string) error {
				return oneOf(&o.sandbox, v, "auto", "off", "read-only", "workspace", "workspace+network")
			}},
		{long: "backend", value: "NAME", on: "sandbox-run doctor", about: "built-in or bubblewrap: what makes the sandbox",
			set: func(o *options, v string) error {
				return oneOf(&o.backend, v, "built-in", session.Bubblewrap)
			}},
		{long: "batch", on: "permission-check", about: `judge lines {"id","cmd","rules","cwd","mode"} from stdin; no settings are read`,
			set: func(o *options, _ string) error {
				o.batch = true
				return nil
			}},
		{long: "no-read-only", on: "permission-check", about: "judge rules alone: leave out that read-only commands are allowed",
			set: func(o *options, _ string) error {
				o.noReadOnly = true
				return nil
			}},
		{long: "help", short: "h", on: "*", about: "explain adze, or the command before it",
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

func setMode(o *options, v string) error {
	m, err := permission.ParseMode(v)
	o.mode = string(m)
	return err
}

func oneOf(to *string, v string, allowed ...string) error {
	if !slices.Contains(allowed, v) {
		return fmt.Errorf("expected %s, got %q", strings.Join(allowed, ", "), v)
	}
	*to = v
	return nil
}

func positive(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("expected a number from 1 on, got %q", v)
	}
	return n, nil
}
