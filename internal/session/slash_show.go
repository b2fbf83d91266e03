package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// columns aligns rows of words.
func columns(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, r := range rows {
		for i, cell := range r {
			r[i] = tool.Visible(strings.Join(strings.Fields(cell), " "))
		}
		fmt.Fprintln(w, "  "+strings.Join(r, "\t"))
	}
	_ = w.Flush() // to memory
	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func slashAgents(_ context.Context, s *Session, _ string) (Expansion, error) {
	var rows [][]string
	for _, r := range agent.AllRoles(s.Definitions.Roles) {
		rows = append(rows, []string{r.Name, r.Description})
	}
	return Expansion{Print: "Types of subagents, which the model starts with the task tool:\n" + columns(rows) +
		"Define more in .adze/agents/NAME.md."}, nil
}

func slashSkills(_ context.Context, s *Session, _ string) (Expansion, error) {
	if len(s.Definitions.skills) == 0 {
		return Expansion{Print: "No skills. Add one in .adze/skills/NAME/SKILL.md."}, nil
	}
	var rows [][]string
	for _, k := range s.Definitions.skills {
		rows = append(rows, []string{k.Name, k.Description})
	}
	return Expansion{Print: "Skills, which the model loads when it needs them:\n" + columns(rows)}, nil
}

func slashHooks(_ context.Context, s *Session, _ string) (Expansion, error) {
	var rows [][]string
	for _, h := range s.Hooks() {
		rows = append(rows, []string{string(h.Event), cmp.Or(h.Matcher, "*"), clip(h.Title(), 60), h.From})
	}
	switch {
	case s.Settings.Hooks.Disabled:
		return Expansion{Print: "Hooks are off (disableAllHooks)."}, nil
	case len(rows) == 0:
		return Expansion{Print: "No hooks. Add them to the setting hooks."}, nil
	}
	return Expansion{Print: "Hooks:\n" + columns(rows)}, nil
}

const jobWords = "[ID|stop ID]"

// slashJobs lists background commands and subagents, shows the output of one, or stops it.
func slashJobs(ctx context.Context, s *Session, words string) (Expansion, error) {
	args := strings.Fields(words)
	switch {
	case len(args) == 0:
		return s.listJobs(), nil
	case len(args) == 1 && args[0] != "stop":
		return s.showJob(args[0])
	case len(args) == 2 && args[0] == "stop":
		return s.stopJob(ctx, args[1])
	}
	return Expansion{}, errorf(ErrPrompt, "usage: /background %s", jobWords)
}

func (s *Session) listJobs() Expansion {
	var rows [][]string
	for _, j := range s.tools.Jobs() {
		age := ""
		if j.Running {
			age = s.env.now().Sub(j.Began).Round(time.Second).String()
		}
		rows = append(rows, []string{j.ID, j.State, age, j.Command})
	}
	for _, j := range (backgroundTasks{s}).Jobs() {
		state := "ended"
		if j.Running {
			state = "running"
		}
		rows = append(rows, []string{j.ID, state, "", "subagent"})
	}
	if len(rows) == 0 {
		return Expansion{Print: "No background commands."}
	}
	return Expansion{Print: columns(rows) + "/background ID shows the output, /background stop ID stops it."}
}

// findTask is the background subagent of a name.
func (s *Session) findTask(id string) (builtin.TaskJob, bool) {
	all := backgroundTasks{s}.Jobs()
	i := slices.IndexFunc(all, func(j builtin.TaskJob) bool { return strings.EqualFold(j.ID, id) })
	if i < 0 {
		return builtin.TaskJob{}, false
	}
	return all[i], true
}

func (s *Session) showJob(id string) (Expansion, error) {
	if j, ok := s.findTask(id); ok {
		text := j.Report
		if j.Running && j.Display != nil {
			text = j.Display.Markdown()
		}
		return Expansion{Print: text, Markdown: true}, nil
	}
	j, text, err := s.tools.JobOutput(id)
	if err != nil {
		return Expansion{}, errorf(ErrPrompt, "/background: %v", err)
	}
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	return Expansion{Print: fmt.Sprintf("%s: %s, %s\n%s", j.ID, tool.Visible(j.Command), j.State, strings.TrimRight(tool.Visible(text), "\n"))}, nil
}

func (s *Session) stopJob(ctx context.Context, id string) (Expansion, error) {
	if j, ok := s.findTask(id); ok {
		if _, err := (backgroundTasks{s}).Stop(ctx, j.ID); err != nil {
			return Expansion{}, err
		}
		return Expansion{Print: "Stopped " + j.ID + "."}, nil
	}
	j, err := s.tools.StopJob(id)
	if err != nil {
		return Expansion{}, errorf(ErrPrompt, "/background: %v", err)
	}
	return Expansion{Print: fmt.Sprintf("Stopped %s (%s): %s.", j.ID, tool.Visible(j.Command), j.State)}, nil
}

// jobIDs are what the words of /background can be.
func jobIDs(_ context.Context, s *Session) []Value {
	var ids []Value
	for _, j := range s.tools.Jobs() {
		ids = append(ids, Value{j.ID, j.Command})
		if j.Running {
			ids = append(ids, Value{"stop " + j.ID, j.Command})
		}
	}
	return ids
}

// slashCopy copies an answer of the model.
func slashCopy(_ context.Context, s *Session, words string) (Expansion, error) {
	n := 1
	if words != "" {
		var err error
		if n, err = strconv.Atoi(words); err != nil || n < 1 {
			return Expansion{}, errorf(ErrPrompt, "/copy: expected a number above 0, got %q", words)
		}
	}
	history := s.resumed.with(nil) // before the first prompt
	if s.talk != nil {
		history = s.talk.History()
	}
	answers := answersIn(history)
	switch {
	case len(answers) == 0:
		return Expansion{Print: "Nothing to copy: the model has not answered."}, nil
	case n > len(answers):
		return Expansion{}, errorf(ErrPrompt, "/copy: there are %d answers, not %d", len(answers), n)
	}
	text := answers[len(answers)-n]
	return Expansion{Copy: text, Print: fmt.Sprintf("Copied the answer to the clipboard (%d characters).", len([]rune(text)))}, nil
}

// answersIn are the texts that ended a turn of the model.
func answersIn(history []model.Message) []string {
	var all []string
	for _, m := range history {
		if m.Role != model.Assistant {
			continue
		}
		var b strings.Builder
		calls := false
		for _, p := range m.Parts {
			switch p := p.(type) {
			case model.Text:
				b.WriteString(string(p))
			case model.Call:
				calls = true
			}
		}
		if text := strings.TrimSpace(b.String()); text != "" && !calls {
			all = append(all, text)
		}
	}
	return all
}
