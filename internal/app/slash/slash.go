// Package slash runs commands at the start of a prompt, such as /help, for all front ends.
//
//	commands := slash.New(s, slash.Lasts|slash.Answers)
//	said, isCommand, err := commands.Expand(ctx, prompt)
//
// It also has the texts that front ends share: what an undo would do, and lists.
package slash

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/rules"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/nearest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Command is a command at the start of a prompt, such as /help. All front ends share one table.
type Command struct {
	Name  string   // without the /
	Also  []string // other names
	Words string   // its arguments
	About string
	// Aside means that the command can run while a prompt is being answered: it shows something, or changes how calls
	// are judged.
	Aside bool

	needs  Ability
	values func(ctx context.Context, s *session.Session) []Value // possible arguments; nil: any
	run    func(ctx context.Context, s *session.Session, words string) (Expansion, error)
}

// Value is a possible argument of a command, with a description.
type Value struct{ Text, About string }

// Ability is what a front end can do for commands. Commands that need more are not listed.
type Ability uint8

const (
	Lasts   Ability = 1 << iota // the conversation continues after a command
	Quits                       // the user can end it with a command
	Copies                      // it can copy to the clipboard of the user
	Answers                     // a user answers its questions
	Draws                       // it has a screen with keys and colors
	Chooses                     // it lets the user choose, and can continue with another session
)

// Expansion is the result of a slash command: text for the user, or parts for the model.
type Expansion struct {
	Print    string
	Markdown bool            // Print is Markdown; otherwise plain text
	Commands []Command       // to be listed
	History  []model.Message // earlier messages
	Parts    []model.Part    // the prompt
	Copy     string          // for the user's clipboard
	Quit     bool            // the user quits
	Action   Action          // for the front end; "": none
	Words    string          // of the action

	Choice *Choice    // for the user to decide; a front end that can't ask prints Print
	Resume string     // ID of the session to continue instead of this one
	AddDir string     // directory to add to the workspace: the session is reopened with it
	Edit   string     // text for the user's next prompt
	Goal   *goal.Goal // of this prompt; nil: none
}

// ForPerson reports whether there is nothing for the model.
func (x Expansion) ForPerson() bool {
	return x.Print != "" || len(x.Commands) > 0 || x.Quit || x.Action != "" || x.Choice != nil || x.Resume != "" ||
		x.AddDir != ""
}

// Commands are the slash commands of a session in a front end.
type Commands struct {
	s     *session.Session
	front Ability
}

// New returns the commands of a session for a front end, and reports command files that are ignored.
func New(s *session.Session, front Ability) *Commands {
	c := &Commands{s: s, front: front}
	_, notes := c.readFiles()
	for _, n := range notes {
		s.Env.Notice(n)
	}
	return c
}

// For returns the commands of another session for the same front end.
func (c *Commands) For(s *session.Session) *Commands { return New(s, c.front) }

// List returns the commands that work in the front end: those of the table, of command files, and the known prompts of
// MCP servers.
func (c *Commands) List() []Command { return c.list(true) }

// Names returns the names of the commands in List, without reading skills.
func (c *Commands) Names() []string {
	names := []string{}
	for _, one := range c.list(false) {
		names = append(names, one.Name)
	}
	return names
}

func (c *Commands) list(describe bool) []Command {
	all := slices.DeleteFunc(c.table(), func(one Command) bool { return one.needs&^c.front != 0 })
	all = append(all, c.custom(describe)...)
	all = append(all, Prompts(c.s.Outside.Servers())...)
	disabled := settings.Texts(c.s.Settings.Context.DisabledSlashes)
	return slices.DeleteFunc(all, func(c Command) bool {
		return slices.ContainsFunc(append([]string{c.Name}, c.Also...), func(name string) bool {
			return slices.ContainsFunc(disabled,
				func(off string) bool { return strings.EqualFold(strings.TrimPrefix(off, "/"), name) })
		})
	})
}

// Find finds the command that a prompt begins with.
func (c *Commands) Find(prompt string) (Command, bool) {
	name, _, _, ok := slashed(prompt)
	if !ok {
		return Command{}, false
	}
	return find(c.list(false), name)
}

// Values returns the possible arguments of a command, if they are a list.
func (c *Commands) Values(ctx context.Context, prompt string) []Value {
	found, ok := c.Find(prompt)
	if !ok || found.values == nil {
		return nil
	}
	return found.values(ctx, c.s)
}

var slashLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/([\pL\d_][^\s/:]*(?::\S+)?)(?:[ \t]+(.*?))?[ \t\r]*(?:\n|$)`)
})

// slashed splits a prompt that begins with a slash command: its first line is the command, the rest is for the model.
// Paths and comments of programs aren't commands.
func slashed(prompt string) (name, words, rest string, ok bool) {
	m := slashLine().FindStringSubmatch(prompt)
	if m == nil {
		return "", "", prompt, false
	}
	return m[1], m[2], strings.TrimSpace(prompt[len(m[0]):]), true
}

// Expand runs the slash command at the start of a prompt. It returns false without one.
func (c *Commands) Expand(ctx context.Context, prompt string) (Expansion, bool, error) {
	name, words, rest, ok := slashed(prompt)
	if !ok {
		return Expansion{}, false, nil
	}
	found, known := find(c.list(false), name)
	if !known || found.Name == "help" {
		c.s.Outside.Settle(ctx) // servers whose prompts aren't known yet
		found, known = find(c.list(false), name)
	}
	if !known {
		if err := c.unknown(name); err != nil {
			return Expansion{}, true, err
		}
		return Expansion{}, false, nil
	}
	x, err := found.run(ctx, c.s, words)
	if err == nil && rest != "" && !x.ForPerson() {
		x.Parts = append(x.Parts, model.Text(rest))
	}
	return x, true, err
}

// findSlash finds a command by its name, or the prompt of a server by its name alone if no other server has it.
func find(all []Command, name string) (Command, bool) {
	var found []Command
	for _, c := range all {
		if c.Name == name || slices.Contains(c.Also, name) {
			return c, true
		}
		if _, own, ok := strings.Cut(c.Name, ":"); ok && own == name {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return Command{}, false
	}
	return found[0], true
}

// slashName matches a name that may be a mistyped command.
var slashName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`) })

// unknown returns an error for a word that looks like a command and isn't one. Other text is a prompt, such as one
// that begins with a path.
func (c *Commands) unknown(name string) error {
	if !slashName().MatchString(name) {
		return nil
	}
	if _, err := os.Lstat("/" + name); err == nil {
		return nil
	}
	var names []string
	for _, known := range c.list(false) {
		names = append(append(names, known.Name), known.Also...)
	}
	hint := "See /help."
	if close := nearest.Names(name, names); len(close) > 0 {
		hint = "Did you mean /" + strings.Join(close, " or /") + "?"
	}
	if len(c.s.Definitions.Places.Untrusted()) > 0 {
		hint = "Commands and skills of this project are ignored until you trust it: see 'adze trust'."
	}
	return errorf("unknown command /%s\n%s To send it as text, start with a space.", name, hint)
}

// errorf returns an error about a prompt.
func errorf(format string, args ...any) error {
	return project.Errorf(project.ErrPrompt, format, args...)
}

func (c *Commands) help(context.Context, *session.Session, string) (Expansion, error) {
	return Expansion{Commands: c.List()}, nil
}

func slashMemory(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	return Expansion{Print: s.Definitions.Describe(s.Definitions.Memory())}, nil
}

func slashCompress(ctx context.Context, s *session.Session, focus string) (Expansion, error) {
	if s.Resumed != nil && s.Begin != nil {
		if _, err := s.Begin(ctx); err != nil {
			return Expansion{}, err
		}
	}
	if s.Conversation == nil {
		return Expansion{Print: "Nothing to compact: the conversation has not started."}, nil
	}
	done, err := s.Conversation.Compact(ctx, focus)
	switch {
	case ctx.Err() != nil:
		return Expansion{}, err
	case err != nil:
		return Expansion{Print: tool.Visible(err.Error())}, nil
	}
	return Expansion{Print: done.String()}, nil
}

// table returns the table of slash commands.
func (c *Commands) table() []Command {
	return []Command{
		{
			Name: "add-dir", Words: "[DIR]", About: "show the directories of the workspace, or add one",
			needs: Lasts | Chooses, run: slashAddDir,
		},
		{Name: "agents", About: "list types of subagents", Aside: true, run: slashAgents},
		{Name: "background", Also: []string{"jobs"}, Words: jobWords, About: "list, show or stop background commands",
			Aside: true, needs: Lasts, values: jobIDs, run: slashJobs},
		{Name: "clear", Also: []string{"new"}, About: "start a new conversation", needs: Lasts, run: slashClear},
		{
			Name: "compress", Also: []string{"compact"}, Words: "[FOCUS]",
			About: "summarize the older part of the conversation, except for prompts and what FOCUS names",
			run:   slashCompress,
		},
		{Name: "context", About: "show what takes up the model's context", Aside: true, run: slashContext},
		{
			Name: "copy", Words: "[N]", About: "copy the last answer, or the N-th last", Aside: true, needs: Copies,
			run: slashCopy,
		},
		{Name: "cost", About: "show the tokens that this session used", Aside: true, needs: Lasts, run: slashCost},
		{
			Name: "diff", Words: "[CALL]", About: "show what this session, or one call, changed on disk", Aside: true,
			needs: Lasts, run: slashDiff,
		},
		{Name: "doctor", About: "check your setup", Aside: true, run: slashDoctor},
		{
			Name: "effort", Words: "LEVEL", About: "set the reasoning effort of the model", needs: Lasts,
			values: efforts, run: slashEffort,
		},
		{
			Name: "export", Words: "[FILE] [md|html|json]", About: "write the session to a file", Aside: true,
			needs: Lasts, run: slashExport,
		},
		{Name: "goal", Words: goal.Words, About: "work until a command exits with 0", needs: Lasts,
			run: slashGoal},
		{Name: "help", About: "list these commands", Aside: true, run: c.help},
		{Name: "hooks", About: "list hooks", Aside: true, run: slashHooks},
		{Name: "init", About: "ask the model to write an AGENTS.md for this project", run: slashInit},
		{Name: "keys", About: "show the keys, and what the terminal sends", needs: Draws, run: frontEnd(ListKeys)},
		{Name: "lsp", About: "show the language servers and what they printed", Aside: true, run: slashLSP},
		{Name: "mcp", About: "list MCP servers", Aside: true, run: slashMCP},
		{Name: "memory", About: "show the loaded context files", Aside: true, run: slashMemory},
		{
			Name: "mode", Words: "[MODE]", About: "show or set the approval mode: plan, default, auto-edit or yolo",
			Aside: true, needs: Lasts, values: modes, run: slashMode,
		},
		{
			Name: "model", Words: "[NAME]", About: "list models, or use another one", needs: Lasts, values: modelNames,
			run: slashModel,
		},
		{Name: "permissions", Words: permissionWords, About: "show rules, or add one for this session",
			Aside: true, values: func(context.Context, *session.Session) []Value { return words(rules.Lists()) },
			run: slashPermissions},
		{Name: "plan", Words: "[PROMPT]", About: "switch to plan mode", needs: Lasts, run: slashPlan},
		{Name: "quit", Also: []string{"exit"}, About: "end the conversation", needs: Quits, run: slashQuit},
		{
			Name: "redo", Words: "[--force] [--yes] [-- PATH…]", About: "redo the last undo", needs: Lasts,
			run: slashRedo,
		},
		{Name: "rename", Words: "NAME", About: "name this session, for adze -r NAME", Aside: true, needs: Lasts,
			run: slashRename},
		{
			Name: "resume", Words: "[ID|NAME]", About: "continue another session of this directory", needs: Chooses,
			values: sessionIDs, run: slashResume,
		},
		{
			Name: "rewind", Words: "[N]", About: "go back to before a prompt; optionally restore files",
			needs: Chooses, run: slashRewind,
		},
		{Name: "settings", Also: []string{"config"}, Words: settingWords, About: "list changed settings, or set one",
			Aside: true, values: settingKeys, run: slashSettings},
		{Name: "skills", About: "list skills", Aside: true, run: slashSkills},
		{
			Name: "theme", Words: "[NAME]", About: "show or set the colors: auto, dark, light or high-contrast",
			needs: Draws, values: themes, run: slashTheme,
		},
		{Name: "tools", About: "list the model's tools", Aside: true, run: slashTools},
		{Name: "trust", About: "show what this project requests, and trust it", run: c.trust},
		{
			Name: "undo", Words: undoWords, About: "undo what the last call changed on disk", needs: Lasts,
			run: slashUndo,
		},
		{Name: "vim", About: "switch vim's keys in the prompt on or off", needs: Draws, run: frontEnd(SwitchVim)},
	}
}

// words returns values without a description.
func words(all []string) []Value {
	var out []Value
	for _, w := range all {
		out = append(out, Value{Text: w})
	}
	return out
}

func efforts(context.Context, *session.Session) []Value { return words(models.Efforts()) }

// maxCompleted is how many sessions /resume completes, the newest ones.
const maxCompleted = 20

func sessionIDs(_ context.Context, s *session.Session) []Value {
	var ids []Value
	found, _ := record.Of(s.Directory).Recorded(false)
	for _, info := range found {
		if info.Title != "" && info.ID != s.ID && len(ids) < maxCompleted {
			ids = append(ids, Value{info.ID[:8], info.Label()})
		}
	}
	return ids
}

func themes(context.Context, *session.Session) []Value { return words(settings.Themes()) }

func modes(context.Context, *session.Session) []Value { return words(modeNames()) }

func modelNames(ctx context.Context, s *session.Session) []Value {
	var names []Value
	for _, m := range s.Models.Known(ctx) {
		names = append(names, Value{m.ID, m.Source})
	}
	return names
}

func slashQuit(context.Context, *session.Session, string) (Expansion, error) {
	return Expansion{Quit: true}, nil
}

func slashClear(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	if err := s.Clear(); err != nil {
		return Expansion{}, err
	}
	return Expansion{Print: "Started a new conversation."}, nil
}

func slashMode(ctx context.Context, s *session.Session, name string) (Expansion, error) {
	if name == "" {
		return Expansion{
			Print: fmt.Sprintf("Approval mode: %s. Others: /mode %s.", s.Policy.Mode(),
				strings.Join(modeNames(), ", ")),
			Choice: pick("Which approval mode?", s.Policy.Mode().String(), words(modeNames()),
				func(ctx context.Context, name string) (Expansion, error) { return slashMode(ctx, s, name) }),
		}, nil
	}
	if err := s.SetMode(name); err != nil {
		return Expansion{}, errorf("/mode: %v", err)
	}
	return Expansion{Print: fmt.Sprintf("Approval mode: %s.", s.Policy.Mode())}, nil
}

func modeNames() []string {
	var out []string
	for _, m := range permission.Modes() {
		out = append(out, m.String())
	}
	return out
}

func slashPlan(_ context.Context, s *session.Session, words string) (Expansion, error) {
	if err := s.SetMode(permission.Plan.String()); err != nil {
		return Expansion{}, errorf("/plan: %v", err)
	}
	if words == "" {
		return Expansion{Print: "Approval mode: plan."}, nil
	}
	return Expansion{Parts: []model.Part{model.Text(words)}}, nil
}

func slashTheme(_ context.Context, s *session.Session, name string) (Expansion, error) {
	all := settings.Themes()
	switch {
	case name == "":
		return Expansion{Choice: pick("Which theme?", s.Settings.UI.Theme, words(all),
			func(_ context.Context, name string) (Expansion, error) {
				return Expansion{Action: SetTheme, Words: name}, nil
			})}, nil
	case !slices.Contains(all, name):
		return Expansion{}, errorf("unknown theme %q (available: %s)", name, strings.Join(all, ", "))
	}
	return Expansion{Action: SetTheme, Words: name}, nil
}

func slashModel(ctx context.Context, s *session.Session, words string) (Expansion, error) {
	if words == "" {
		return listModels(ctx, s), nil
	}
	m, err := s.Models.Switch(ctx, words)
	if err != nil {
		return Expansion{}, err
	}
	if s.Conversation != nil {
		s.Conversation.SetModel(m)
	}
	return Expansion{Print: "Model: " + tool.Visible(m.Name()) + "."}, nil
}

func listModels(ctx context.Context, s *session.Session) Expansion {
	var b strings.Builder
	if name := s.Models.Name(); name != "" {
		fmt.Fprintf(&b, "Model: %s.\n\n", tool.Visible(name))
	}
	list, errs := s.Models.List(ctx)
	for _, m := range list {
		fmt.Fprintf(&b, "- `%s` (%s)\n", tool.Visible(m.ID), m.Source)
	}
	for _, err := range errs {
		fmt.Fprintf(&b, "- %s\n", tool.Visible(err.Error()))
	}
	b.WriteString("\nUse /model NAME to switch.")
	x := Expansion{Print: b.String(), Markdown: true}
	if len(list) > 0 {
		var names []Value
		for _, m := range list {
			names = append(names, Value{m.ID, m.Source})
		}
		x.Choice = pick("Which model?", s.Models.Name(), names,
			func(ctx context.Context, name string) (Expansion, error) { return slashModel(ctx, s, name) })
		for _, err := range errs {
			x.Choice.Detail = append(x.Choice.Detail, tool.Visible(err.Error()))
		}
	}
	return x
}

// pick returns the choice of one of some values. The current one is highlighted.
func pick(title, current string, values []Value, run func(context.Context, string) (Expansion, error)) *Choice {
	c := &Choice{Title: title}
	for i, v := range values {
		about := tool.Visible(v.About)
		if v.Text == current {
			c.At, about = i, strings.TrimPrefix(about+", current", ", ")
		}
		c.Options = append(c.Options, Option{Text: tool.Visible(v.Text), About: about,
			Run: func(ctx context.Context) (Expansion, error) { return run(ctx, v.Text) }})
	}
	return c
}

func slashEffort(_ context.Context, s *session.Session, words string) (Expansion, error) {
	if !slices.Contains(models.Efforts(), words) {
		return Expansion{}, errorf("/effort: expected %s, got %q", strings.Join(models.Efforts(), ", "), words)
	}
	s.Settings.Model.Effort = words
	if s.Conversation != nil {
		s.Conversation.SetEffort(words)
	}
	return Expansion{Print: "Reasoning effort: " + tool.Visible(words) + "."}, nil
}

func slashContext(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	u := UsageOf(s, s.History())
	used := u.Estimated()
	if s.Conversation != nil {
		if tokens, _ := s.Conversation.Context(); tokens > 0 {
			used = tokens
		}
	}
	sum := func(list []ToolTokens) (n int) {
		for _, t := range list {
			n += t.Tokens
		}
		return n
	}
	n := humanize.Number[int]
	files := ""
	for _, f := range s.Definitions.Loaded() {
		files += fmt.Sprintf("\n| %s | %s | %s |", inCell(f.Name), n(f.Kept), inCell(f.Why))
	}
	if files != "" {
		files = "\n\n| context file | bytes | loaded because |\n|---|--:|---|" + files
	}
	return Expansion{Markdown: true, Print: fmt.Sprintf("%s of %s tokens (%d%%)\n\n| part | tokens |\n|---|--:|\n| "+
			"system prompt | %s |\n| context files | %s |\n"+
			"| built-in tools | %s |\n| external tools | %s |\n| messages | %s |\n\nThe parts are estimates.",
			n(used), n(u.Window), 100*used/max(1, u.Window), n(u.System), n(u.Memory), n(sum(u.Builtin)),
			n(sum(u.External)), n(u.Messages)) + files},
		nil
}

func slashTools(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	var rows [][]string
	for _, d := range s.Executor.Registry.Declarations(nil) {
		rows = append(rows, []string{d.Name, d.Brief()})
	}
	return Expansion{Print: "Tools:\n" + columns(rows)}, nil
}

func slashMCP(ctx context.Context, s *session.Session, _ string) (Expansion, error) {
	aliases, problems := s.Outside.Configured()
	if len(aliases)+len(problems) == 0 {
		return Expansion{Print: "No MCP servers. Add one with: adze mcp add."}, nil
	}
	var b strings.Builder
	for _, st := range s.Outside.List() {
		fmt.Fprintf(&b, "- `%s` %s\n", tool.Visible(st.Alias), tool.Visible(fmt.Sprint(st.State)))
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "- %s\n", tool.Visible(fmt.Sprint(p)))
	}
	return Expansion{Print: b.String(), Markdown: true}, nil
}

// initText is the prompt of /init.
const initText = "Look at this project and write AGENTS.md in its root: what the project is, how it is built and " +
	"tested, its structure, " +
	"and the conventions that its code follows. Keep it short: only what isn't obvious. If the file " +
	"exists, improve it."

func slashInit(context.Context, *session.Session, string) (Expansion, error) {
	return Expansion{Parts: []model.Part{model.Text(initText)}}, nil
}

// Action is what a command does in the front end instead of printing something.
type Action string

// Actions.
const (
	ListKeys  Action = "keys"  // list the keys of the terminal
	SetTheme  Action = "theme" // set the theme; its name is in Expansion.Words
	SwitchVim Action = "vim"   // switch vim's keys on or off
)

// frontEnd returns a command that the front end runs.
func frontEnd(a Action) func(context.Context, *session.Session, string) (Expansion, error) {
	return func(_ context.Context, _ *session.Session, words string) (Expansion, error) {
		return Expansion{Action: a, Words: words}, nil
	}
}
