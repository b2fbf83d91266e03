package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// slashTable is the one table of slash commands.
func slashTable() []Slash {
	return []Slash{
		{Name: "add-dir", Words: "[DIR]", About: "show the directories of the workspace, or add one", needs: Lasts | Chooses, run: slashAddDir},
		{Name: "agents", About: "list types of subagents", Aside: true, run: slashAgents},
		{Name: "background", Also: []string{"jobs"}, Words: jobWords, About: "list, show or stop background commands",
			Aside: true, needs: Lasts, values: jobIDs, run: slashJobs},
		{Name: "clear", Also: []string{"new"}, About: "start a new conversation", needs: Lasts, run: slashClear},
		{Name: "compress", Also: []string{"compact"}, About: "summarize the older part of the conversation", run: slashCompress},
		{Name: "context", About: "show what takes up the model's context", Aside: true, run: slashContext},
		{Name: "copy", Words: "[N]", About: "copy the last answer, or the N-th last", Aside: true, needs: Copies, run: slashCopy},
		{Name: "cost", About: "show the tokens that this session used", Aside: true, needs: Lasts, run: slashCost},
		{Name: "diff", About: "show what this session changed on disk", Aside: true, needs: Lasts, run: slashDiff},
		{Name: "doctor", About: "check your setup", Aside: true, run: slashDoctor},
		{Name: "effort", Words: "LEVEL", About: "set the reasoning effort of the model", needs: Lasts, values: efforts, run: slashEffort},
		{Name: "export", Words: "[FILE] [md|html|json]", About: "write the session to a file", Aside: true, needs: Lasts, run: slashExport},
		{Name: "help", About: "list these commands", Aside: true, run: slashHelp},
		{Name: "hooks", About: "list hooks", Aside: true, run: slashHooks},
		{Name: "init", About: "let the model write an AGENTS.md for this project", run: slashInit},
		{Name: "keys", About: "show the keys, and what the terminal sends", needs: Draws, run: frontEnd(ListKeys)},
		{Name: "mcp", About: "list MCP servers", Aside: true, run: slashMCP},
		{Name: "memory", About: "show the loaded context files", Aside: true, run: slashMemory},
		{Name: "mode", Words: "[MODE]", About: "show or set the approval mode: plan, default, auto-edit or yolo", Aside: true, needs: Lasts, values: modes, run: slashMode},
		{Name: "model", Words: "[NAME]", About: "list models, or use another one", needs: Lasts, values: modelNames, run: slashModel},
		{Name: "permissions", Words: permissionWords, About: "show rules, or add one for this session",
			Aside: true, values: func(context.Context, *Session) []Value { return words(ruleLists()) }, run: slashPermissions},
		{Name: "plan", Words: "[PROMPT]", About: "switch to plan mode", needs: Lasts, run: slashPlan},
		{Name: "quit", Also: []string{"exit"}, About: "end the conversation", needs: Quits, run: slashQuit},
		{Name: "redo", Words: "[--force] [--yes]", About: "take the last undo back", needs: Lasts, run: slashRedo},
		{Name: "resume", Words: "[ID]", About: "continue another session of this directory", needs: Chooses, values: sessionIDs, run: slashResume},
		{Name: "rewind", Words: "[N]", About: "return to before a prompt, with or without its changes of files", needs: Chooses, run: slashRewind},
		{Name: "settings", Also: []string{"config"}, Words: settingWords, About: "list changed settings, or set one",
			Aside: true, values: settingKeys, run: slashSettings},
		{Name: "skills", About: "list skills", Aside: true, run: slashSkills},
		{Name: "theme", Words: "[NAME]", About: "show or set the colors: auto, dark, light or high-contrast", needs: Draws, values: themes, run: frontEnd(SetTheme)},
		{Name: "tools", About: "list the model's tools", Aside: true, run: slashTools},
		{Name: "trust", About: "show what this project requests, and trust it", run: slashTrust},
		{Name: "undo", Words: undoWords, About: "undo what the last call changed on disk", needs: Lasts, run: slashUndo},
	}
}

// words are values that explain themselves.
func words(all []string) []Value {
	var out []Value
	for _, w := range all {
		out = append(out, Value{Text: w})
	}
	return out
}

func efforts(context.Context, *Session) []Value { return words(Efforts()) }

// maxCompleted is how many sessions /resume completes, the newest ones.
const maxCompleted = 20

func sessionIDs(_ context.Context, s *Session) []Value {
	var ids []Value
	found, _ := s.Folder.Recorded(false)
	for _, info := range found {
		if info.Title != "" && info.ID != s.ID && len(ids) < maxCompleted {
			ids = append(ids, Value{info.ID[:8], info.Title})
		}
	}
	return ids
}

func themes(context.Context, *Session) []Value { return words(settings.Themes()) }

func modes(context.Context, *Session) []Value { return words(modeNames()) }

func modelNames(ctx context.Context, s *Session) []Value {
	var names []Value
	for _, m := range s.Models.Known(ctx) {
		names = append(names, Value{m.ID, m.Source})
	}
	return names
}

func slashQuit(context.Context, *Session, string) (Expansion, error) {
	return Expansion{Quit: true}, nil
}

func slashClear(_ context.Context, s *Session, _ string) (Expansion, error) {
	switch {
	case s.talk != nil:
		s.talk.Reset(nil)
	case s.resumed != nil: // and not continued yet
		s.resumed.history, s.resumed.told, s.resumed.news, s.resumed.cutOff = nil, nil, nil, false
		s.recorder.reset(nil)
	}
	if err := s.tools.SetTodos("", nil); err != nil {
		return Expansion{}, err
	}
	return Expansion{Print: "Started a new conversation."}, nil
}

func slashMode(_ context.Context, s *Session, words string) (Expansion, error) {
	if words == "" {
		return Expansion{Print: fmt.Sprintf("Approval mode: %s. Others: /mode %s.", s.Policy.Mode(), strings.Join(modeNames(), ", "))}, nil
	}
	if err := s.SetMode(words); err != nil {
		return Expansion{}, errorf(ErrPrompt, "/mode: %v", err)
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

func slashPlan(_ context.Context, s *Session, words string) (Expansion, error) {
	if err := s.SetMode(permission.Plan.String()); err != nil {
		return Expansion{}, errorf(ErrPrompt, "/plan: %v", err)
	}
	if words == "" {
		return Expansion{Print: "Approval mode: plan."}, nil
	}
	return Expansion{Parts: []model.Part{model.Text(words)}}, nil
}

func slashModel(ctx context.Context, s *Session, words string) (Expansion, error) {
	if words == "" {
		return s.listModels(ctx), nil
	}
	m, err := s.Models.Switch(ctx, words)
	if err != nil {
		return Expansion{}, err
	}
	if s.talk != nil {
		s.talk.SetModel(m)
	}
	return Expansion{Print: "Model: " + tool.Visible(m.Name()) + "."}, nil
}

func (s *Session) listModels(ctx context.Context) Expansion {
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
	return Expansion{Print: b.String(), Markdown: true}
}

// Efforts are the levels of reasoning effort: see [model.Request].
func Efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

func slashEffort(_ context.Context, s *Session, words string) (Expansion, error) {
	if !slices.Contains(Efforts(), words) {
		return Expansion{}, errorf(ErrPrompt, "/effort: expected %s, got %q", strings.Join(Efforts(), ", "), words)
	}
	s.Settings.Model.Effort = words
	if s.talk != nil {
		s.talk.SetEffort(words)
	}
	return Expansion{Print: "Reasoning effort: " + tool.Visible(words) + "."}, nil
}

func slashContext(_ context.Context, s *Session, _ string) (Expansion, error) {
	u := s.ContextUsage(s.talk)
	used := u.Estimated()
	if s.talk != nil {
		if tokens, _ := s.talk.Context(); tokens > 0 {
			used = tokens
		}
	}
	sum := func(list []ToolTokens) (n int) {
		for _, t := range list {
			n += t.Tokens
		}
		return n
	}
	return Expansion{Markdown: true, Print: fmt.Sprintf("%d of %d tokens (%d%%)\n\n| part | tokens |\n|---|--:|\n| system prompt | %d |\n| context files | %d |\n"+
		"| built-in tools | %d |\n| external tools | %d |\n| messages | %d |\n\nThe parts are estimates.",
		used, u.Window, 100*used/max(1, u.Window), u.System, u.Memory, sum(u.Builtin), sum(u.External), u.Messages)}, nil
}

func slashTools(_ context.Context, s *Session, _ string) (Expansion, error) {
	var b strings.Builder
	for _, d := range s.Executor.Registry.Declarations(nil) {
		fmt.Fprintf(&b, "- `%s` %s\n", tool.Visible(d.Name), tool.Visible(d.Brief()))
	}
	return Expansion{Print: b.String(), Markdown: true}, nil
}

func slashMCP(ctx context.Context, s *Session, _ string) (Expansion, error) {
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
const initText = "Look at this project and write AGENTS.md in its root: what the project is, how it is built and tested, its structure, " +
	"and the conventions that its code follows. Keep it short: only what someone can't see at once. If the file exists, improve it."

func slashInit(context.Context, *Session, string) (Expansion, error) {
	return Expansion{Parts: []model.Part{model.Text(initText)}}, nil
}
