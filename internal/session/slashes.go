package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// talkSlashes are the commands of a conversation that goes on: see [Options].Interactive.
func talkSlashes() []Slash {
	return []Slash{
		{Name: "clear", Also: []string{"new"}, About: "start a new conversation", run: slashClear},
		{Name: "context", About: "show what takes up the model's context", run: slashContext},
		{Name: "effort", Words: "LEVEL", About: "set the reasoning effort of the model", run: slashEffort},
		{Name: "init", About: "let the model write an AGENTS.md for this project", run: slashInit},
		{Name: "mcp", About: "list MCP servers", run: slashMCP},
		{Name: "mode", Words: "[MODE]", About: "show or set the approval mode: plan, default, auto-edit or yolo", run: slashMode},
		{Name: "model", Words: "[NAME]", About: "list models, or use another one", run: slashModel},
		{Name: "plan", Words: "[PROMPT]", About: "switch to plan mode", run: slashPlan},
		{Name: "quit", Also: []string{"exit"}, About: "end the conversation", run: slashQuit},
		{Name: "redo", Words: "[--force] [--yes]", About: "take the last undo back", run: slashRedo},
		{Name: "tools", About: "list the model's tools", run: slashTools},
		{Name: "undo", Words: undoWords, About: "undo what the last call changed on disk", run: slashUndo},
	}
}

func slashQuit(context.Context, *Session, string) (Expansion, error) {
	return Expansion{Quit: true}, nil
}

func slashClear(_ context.Context, s *Session, _ string) (Expansion, error) {
	if s.talk != nil {
		s.talk.Reset(nil)
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

func slashEffort(_ context.Context, s *Session, words string) (Expansion, error) {
	if words == "" {
		return Expansion{}, errorf(ErrPrompt, "/effort: name a level, such as low, medium or high")
	}
	if s.talk == nil {
		s.Settings.Model.Effort = words
	} else {
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
