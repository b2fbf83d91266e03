package adze

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

// An Option configures an agent. The last of a kind wins; [Allow], [AskFor], [Deny], [Tools], [MCP] and [Hooks] add up.
type Option func(*config) error

// config is what options say.
type config struct {
	dir          string
	model        model.Model // in place of a name
	named        bool        // a flag has the model's name
	ask          tool.Asker
	flags        []settings.Flag
	rules        []optionRules
	tools        []tool.Tool
	builtIn      []string // the only built-in tools; nil: all
	servers      map[string]discover.Server
	hooks        []hook.Hook
	limits       session.Limits
	instructions string
	journal      string // directory; "": a temporary one
	noJournal    bool
	settings     bool
	environ      []string // of commands; nil: the process's
	unsandboxed  bool
	logger       *slog.Logger
}

// optionRules are the rules of an option.
type optionRules struct {
	option string
	rules  permission.Rules
}

// flag sets a setting for this agent, in place of those in files.
func (c *config) flag(option, key, value string) {
	c.flags = append(c.flags, settings.Flag{Name: "adze." + option, Key: key, Value: value})
}

func (c *config) list(option, key string, values []string) {
	c.flags = append(c.flags, settings.Flag{Name: "adze." + option, Key: key, List: values})
}

// Dir is the workspace: the directory that the tools work in. It is required.
func Dir(path string) Option {
	return func(c *config) (err error) {
		if path == "" {
			return fmt.Errorf("adze.Dir: the path is empty, expected a directory")
		}
		c.dir, err = filepath.Abs(path)
		return err
	}
}

// Model is the name of a model. Its server and its key are in the environment, as for the program adze:
// OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, GEMINI_API_KEY.
func Model(name string) Option {
	return func(c *config) error {
		if name == "" {
			return fmt.Errorf("adze.Model: the name is empty, expected that of a model, such as \"gpt-5.5\"")
		}
		c.model, c.named = nil, true
		c.flag("Model", "model.name", name)
		return nil
	}
}

// UseModel is an open model, such as one of model/openai or of the program itself. The program closes it.
func UseModel(m model.Model) Option {
	return func(c *config) error {
		if m == nil {
			return fmt.Errorf("adze.UseModel: the model is nil")
		}
		c.model = m
		return nil
	}
}

// Ask answers calls that require approval, one at a time; [OnTerminal] asks the user. A call is denied if ask is nil,
// panics, or returns an error or a Decision without a verdict.
func Ask(ask tool.Asker) Option {
	return func(c *config) error {
		c.ask = ask
		return nil
	}
}

// Question returns everything that a user should see before approving a call, as text for a terminal or a page: what it
// does, why it requires approval, warnings, and the changes or the command in Markdown.
func Question(r tool.Request, why tool.Decision) string { return tool.Visible(serve.Question(r, why)) }

// Mode is what happens to calls that no rule matches; without it [permission.Default].
func Mode(m permission.Mode) Option {
	return func(c *config) error {
		if _, err := permission.ParseMode(string(m)); err != nil {
			return fmt.Errorf("adze.Mode: %w", err)
		}
		c.flag("Mode", "tools.approvalMode", string(m))
		return nil
	}
}

// Allow adds rules for calls that run without approval: "Shell(make test)", "Edit(/docs/**)", "Network(example.com)".
func Allow(rules ...string) Option { return ruled("Allow", "permissions.allow", rules, nil, nil) }

// AskFor adds rules for calls that always require approval.
func AskFor(rules ...string) Option { return ruled("AskFor", "permissions.ask", nil, rules, nil) }

// Deny adds rules for calls that are denied.
func Deny(rules ...string) Option { return ruled("Deny", "permissions.deny", nil, nil, rules) }

func ruled(option, key string, allow, ask, deny []string) Option {
	return func(c *config) error {
		rules, problems, err := permission.ParseRules(allow, ask, deny)
		if err == nil && len(problems) > 0 {
			err = problems[0].Err
		}
		if err != nil {
			return fmt.Errorf("adze.%s: %w", option, err)
		}
		c.rules = append(c.rules, optionRules{option, rules})
		c.list(option, key, slices.Concat(allow, ask, deny))
		return nil
	}
}

// Tools adds tools of the program. Their access decides what requires approval, as for built-in tools.
func Tools(tools ...tool.Tool) Option {
	return func(c *config) error {
		c.tools = append(c.tools, tools...)
		return nil
	}
}

// BuiltIn names the only built-in tools that the model gets; without names, none.
func BuiltIn(names ...string) Option {
	return func(c *config) error {
		c.builtIn = append([]string{}, names...)
		return nil
	}
}

// MCP adds the tools of an MCP server. Each call requires approval, unless a rule or the server's Trust allows it.
func MCP(name string, server discover.Server) Option {
	return func(c *config) error {
		if _, ok := c.servers[name]; ok || name == "" {
			return fmt.Errorf("adze.MCP: the name %q is empty or used twice", name)
		}
		if c.servers == nil {
			c.servers = map[string]discover.Server{}
		}
		c.servers[name] = server
		return nil
	}
}

// Remote lets the agent work elsewhere: cmd starts "adze mcp serve" there, as in
//
//	adze.Remote("ssh", "build-1", "adze", "mcp", "serve", "--cwd", "/src/app")
//
// The tools on files and commands are those of that process, with its rules and its sandbox; those of this machine are
// turned off. A call that requires approval there is a question for [Ask] here. Dir isn't required.
func Remote(cmd ...string) Option {
	return func(c *config) error {
		if len(cmd) == 0 || cmd[0] == "" {
			return fmt.Errorf("adze.Remote: the command is empty, expected one that starts 'adze mcp serve'")
		}
		return MCP(remoteName, discover.Server{Command: cmd[0], Args: cmd[1:], Trust: true, Elsewhere: true})(c)
	}
}

// remoteName is the name of Remote's server.
const remoteName = "remote"

// Hooks adds hooks: functions of the program, or commands.
func Hooks(hooks ...hook.Hook) Option {
	return func(c *config) error {
		c.hooks = append(c.hooks, hooks...)
		return nil
	}
}

// Limits end a run. 0 means no limit.
type Limits struct {
	Turns, Calls, Tokens int // of the conversation, with its subagents
	Time                 time.Duration
}

// Limit sets the limits.
func Limit(l Limits) Option {
	return func(c *config) error {
		c.limits = session.Limits{Turns: l.Turns, Calls: l.Calls, Tokens: l.Tokens, Wall: l.Time}
		return nil
	}
}

// Instructions adds a text to the system prompt.
func Instructions(text string) Option {
	return func(c *config) error {
		c.instructions = text
		return nil
	}
}

// Journal keeps the journals of sessions, and what undo needs, in a directory of the program: [Agent.Resume] continues
// them. Without it, they are in a temporary directory that [Agent.Close] deletes.
func Journal(dir string) Option {
	return func(c *config) (err error) {
		if dir == "" {
			return fmt.Errorf("adze.Journal: the path is empty, expected a directory")
		}
		c.noJournal = false
		c.journal, err = filepath.Abs(dir)
		return err
	}
}

// NoJournal records nothing: [Agent.Undo] and [Agent.Resume] return errors.
func NoJournal() Option {
	return func(c *config) error {
		c.noJournal, c.journal = true, ""
		return nil
	}
}

// Settings reads what the program adze reads: the settings of the user and the project, context files, skills, hooks,
// MCP servers, plugins, and the user's .env files. Those of a project only apply in full if the user trusts it.
// Journals are in the user's directory, too.
func Settings() Option {
	return func(c *config) error {
		c.settings = true
		return nil
	}
}

// Environ is the environment of commands; without it, this process's. Commands that weren't approved get no more of it
// than what builds need.
func Environ(environ []string) Option {
	return func(c *config) error {
		c.environ = append([]string{}, environ...)
		return nil
	}
}

// WithoutSandbox runs commands without a sandbox and without trials, so that [Main] isn't needed. Every command
// requires approval then, whatever rules and modes allow.
func WithoutSandbox() Option {
	return func(c *config) error {
		c.unsandboxed = true
		c.flag("WithoutSandbox", "tools.sandbox", "off")
		c.list("WithoutSandbox", "permissions.ask", []string{"Shell"})
		return nil
	}
}

// Logger gets notices, such as of an MCP server that doesn't start; without it, they are dropped.
func Logger(l *slog.Logger) Option {
	return func(c *config) error {
		c.logger = l
		return nil
	}
}

// env returns the surroundings of the agent's sessions. state is Adze's own directory, "" for the user's.
func (c *config) env(state, home string, h Helper) project.Env {
	return project.Env{
		Getenv: c.getenv(state), Environ: c.environ, Helper: h, Home: home, Version: "library",
		Isolated: !c.settings, HasUser: c.ask != nil, Tell: c.tell,
	}
}
