package slash

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/doctor"
	"github.com/adze-dev/adze/internal/app/models"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Text returns what a command has for the user.
func (x Expansion) Text() string {
	if len(x.Commands) == 0 {
		return x.Print
	}
	return "Slash commands, at the start of a prompt:\n" + Table(x.Commands) +
		"@path attaches a file, @server:uri attaches an MCP resource, !command runs a command."
}

// usageColumn is the maximum width of the first column in the table of commands.
const usageColumn = 24

// Table has a line for every slash command, and two for one that takes many words.
func Table(all []Command) string {
	type row struct{ usage, about string }
	var rows []row
	width := 0
	for _, c := range all {
		about, _, _ := strings.Cut(c.About, "\n")
		if len(c.Also) > 0 {
			about += " (also /" + strings.Join(c.Also, ", /") + ")"
		}
		r := row{tool.Visible(strings.TrimSpace("/" + c.Name + " " + c.Words)), tool.Visible(about)}
		rows = append(rows, r)
		if n := utf8.RuneCountInString(r.usage); n <= usageColumn {
			width = max(width, n)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		if utf8.RuneCountInString(r.usage) > width && r.about != "" {
			r.usage += "\n" + strings.Repeat(" ", width+2)
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s   %s", width, r.usage, r.about), " ") + "\n")
	}
	return b.String()
}

// AsMarkdown returns what a command has for the user as Markdown.
func (x Expansion) AsMarkdown() string {
	if text := x.Text(); x.Markdown || text == "" {
		return text
	} else {
		return tool.Fence("", text)
	}
}

// columns aligns rows in columns.
func columns(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, r := range rows {
		for i, cell := range r {
			r[i] = tool.Visible(strings.Join(strings.Fields(cell), " "))
		}
		fmt.Fprintln(w, "  "+strings.Join(r, "\t"))
	}
	_ = w.Flush() // can't fail in memory
	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func slashAgents(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	var rows [][]string
	for _, r := range agent.AllRoles(s.Definitions.Roles) {
		rows = append(rows, []string{r.Name, r.Description})
	}
	return Expansion{Print: "Types of subagents, which the model starts with the task tool:\n" + columns(rows) +
		"Define more in .adze/agents/NAME.md."}, nil
}

func slashSkills(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	if len(s.Definitions.Skills) == 0 {
		return Expansion{Print: "No skills. Add one in .adze/skills/NAME/SKILL.md."}, nil
	}
	var rows [][]string
	for _, k := range s.Definitions.Skills {
		about, _ := k.About()
		rows = append(rows, []string{k.Name, about})
	}
	return Expansion{Print: "Skills, which the model loads when it needs them:\n" + columns(rows)}, nil
}

func slashHooks(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	var rows [][]string
	for _, h := range s.HookList {
		rows = append(rows, []string{string(h.Event), cmp.Or(h.Matcher, "*"), humanize.Line(h.Title(), 60), h.From})
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
func slashJobs(ctx context.Context, s *session.Session, words string) (Expansion, error) {
	args := strings.Fields(words)
	switch {
	case len(args) == 0:
		return listJobs(s), nil
	case len(args) == 1 && args[0] != "stop":
		return showJob(s, args[0])
	case len(args) == 2 && args[0] == "stop":
		return stopJob(ctx, s, args[1])
	}
	return Expansion{}, errorf("usage: /background %s", jobWords)
}

func listJobs(s *session.Session) Expansion {
	var rows [][]string
	for _, j := range s.Tools.Jobs() {
		age := ""
		if j.Running {
			age = s.Env.Time().Sub(j.Began).Round(time.Second).String()
		}
		rows = append(rows, []string{j.ID, j.State, age, j.Command})
	}
	for _, j := range s.Tasks.Jobs() {
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

// findTask returns the background subagent of a name.
func findTask(s *session.Session, id string) (builtin.TaskJob, bool) {
	all := s.Tasks.Jobs()
	i := slices.IndexFunc(all, func(j builtin.TaskJob) bool { return strings.EqualFold(j.ID, id) })
	if i < 0 {
		return builtin.TaskJob{}, false
	}
	return all[i], true
}

func showJob(s *session.Session, id string) (Expansion, error) {
	if j, ok := findTask(s, id); ok {
		text := j.Report
		if j.Running && j.Display != nil {
			text = j.Display.Markdown()
		}
		return Expansion{Print: text, Markdown: true}, nil
	}
	j, text, err := s.Tools.JobOutput(id)
	if err != nil {
		return Expansion{}, errorf("/background: %v", err)
	}
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	return Expansion{Print: fmt.Sprintf("%s: %s, %s\n%s", j.ID, tool.Visible(j.Command), j.State,
		strings.TrimRight(tool.Visible(text), "\n"))}, nil
}

func stopJob(ctx context.Context, s *session.Session, id string) (Expansion, error) {
	if j, ok := findTask(s, id); ok {
		if _, err := s.Tasks.Stop(ctx, j.ID); err != nil {
			return Expansion{}, err
		}
		return Expansion{Print: "Stopped " + j.ID + "."}, nil
	}
	j, err := s.Tools.StopJob(id)
	if err != nil {
		return Expansion{}, errorf("/background: %v", err)
	}
	return Expansion{Print: fmt.Sprintf("Stopped %s (%s): %s.", j.ID, tool.Visible(j.Command), j.State)}, nil
}

// jobIDs returns the completions of /background.
func jobIDs(_ context.Context, s *session.Session) []Value {
	var ids []Value
	for _, j := range s.Tools.Jobs() {
		ids = append(ids, Value{j.ID, j.Command})
		if j.Running {
			ids = append(ids, Value{"stop " + j.ID, j.Command})
		}
	}
	return ids
}

// slashCopy copies an answer of the model.
func slashCopy(_ context.Context, s *session.Session, words string) (Expansion, error) {
	n := 1
	if words != "" {
		var err error
		if n, err = strconv.Atoi(words); err != nil || n < 1 {
			return Expansion{}, errorf("/copy: expected a number above 0, got %q", words)
		}
	}
	answers := answersIn(s.History())
	switch {
	case len(answers) == 0:
		return Expansion{Print: "Nothing to copy: the model has not answered."}, nil
	case n > len(answers):
		return Expansion{}, errorf("/copy: there are %d answers, not %d", len(answers), n)
	}
	text := answers[len(answers)-n]
	return Expansion{Copy: text, Print: fmt.Sprintf("Copied the answer to the clipboard (%d characters).",
		len([]rune(text)))}, nil
}

// answersIn returns the texts that ended a turn of the model.
func answersIn(history []model.Message) []string {
	var all []string
	for _, m := range history {
		if text := strings.TrimSpace(m.Text()); m.Role == model.Assistant && text != "" && len(m.Calls()) == 0 {
			all = append(all, text)
		}
	}
	return all
}

// maxDiff is the maximum number of characters that /diff shows.
const maxDiff = 200_000

func slashDiff(_ context.Context, s *session.Session, words string) (Expansion, error) {
	d, differ, err := s.Effects.Diff(words)
	var unknown *journal.UnknownError
	var b strings.Builder
	if err == nil {
		var omitted []undo.Lost
		omitted, err = d.Each(differ, func(p undo.Patched) error {
			if b.Len() <= maxDiff {
				b.WriteString(p.Patch)
			}
			return nil
		})
		for _, l := range omitted {
			fmt.Fprintf(&b, "%s: %s\n", shortPath(l.Path, s.Directory.Path), tool.Visible(l.Why))
		}
	}
	switch changes := b.String(); {
	case err != nil && !errors.As(err, &unknown):
		return Expansion{}, errorf("/diff: %v", err)
	case changes == "":
		return Expansion{Print: "No files changed in this session."}, nil
	case len(changes) > maxDiff:
		return Expansion{Print: tool.Fence("diff", changes[:maxDiff]+"\n… truncated\n"), Markdown: true}, nil
	default:
		return Expansion{Print: tool.Fence("diff", changes), Markdown: true}, nil
	}
}

// slashExport writes the session to a file that doesn't exist yet.
func slashExport(_ context.Context, s *session.Session, words string) (Expansion, error) {
	file, format := "", ""
	for _, w := range splitQuoted(words) {
		switch {
		case format == "" && slices.Contains(record.ExportFormats(), w):
			format = w
		case file == "":
			file = w
		default:
			return Expansion{}, errorf("/export: unexpected %q\nUsage: /export [FILE] [%s]", w,
				strings.Join(record.ExportFormats(), "|"))
		}
	}
	if format == "" {
		format = "md"
		if ext := strings.TrimPrefix(filepath.Ext(file), "."); slices.Contains(record.ExportFormats(), ext) {
			format = ext
		}
	}
	if file == "" {
		file = "adze-" + s.ID[:8] + "." + format
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok && s.Env.Home != "" {
		file = filepath.Join(s.Env.Home, rest)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Directory.Path, file)
	}
	if !s.Recorder.Sync() {
		return Expansion{}, project.Errorf(project.ErrSession,
			"/export: this session isn't recorded (general.chatRecording)")
	}
	var b bytes.Buffer
	err := record.Of(s.Directory).Export(&b, s.ID, format)
	var unknown *journal.UnknownError
	if errors.As(err, &unknown) {
		return Expansion{Print: "Nothing to export: the conversation has not started."}, nil
	}
	if err == nil {
		_, err = atomicfile.Write(file, b.Bytes(), atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return Expansion{}, errorf("/export: %v", err)
	}
	return Expansion{Print: "Exported the session to " + tool.Visible(file) + "."}, nil
}

// slashAddDir checks a directory that the user adds to the workspace. Tools, policy, sandbox and undo get the
// directories at their start, so the front end reopens the session.
func slashAddDir(_ context.Context, s *session.Session, words string) (Expansion, error) {
	roots := s.Tools.Roots()
	if words == "" {
		return Expansion{
			Print: "Workspace:\n  " + tool.Visible(strings.Join(roots, "\n  ")) +
				"\nAdd a directory with /add-dir DIR.",
		}, nil
	}
	path := s.Directory.Resolve(strings.ReplaceAll(words, `\ `, " "))
	if err := project.CheckAdded(path, s.Env.Home); err != nil {
		return Expansion{}, errorf("/add-dir: %v", err)
	}
	if w, err := workspace.Open(append(roots, path)...); err == nil && len(w.Skipped()) > 0 {
		return Expansion{}, errorf("/add-dir: %s", w.Skipped()[0])
	}
	path = project.Canonical(path)
	if _, inside := names.Within(path, roots); inside {
		return Expansion{Print: "Already in the workspace: " + tool.Visible(path)}, nil
	}
	if names.Below(path, project.Canonical(s.Directory.Home)) {
		return Expansion{}, errorf("/add-dir: in Adze's own directory: %s\nAdd another directory.", path)
	}
	if denies(s, path) || denies(s, filepath.Join(path, "file")) {
		return Expansion{}, errorf("/add-dir: a deny rule applies: %s\nSee /permissions.", path)
	}
	if why := busy(s); why != "" {
		return Expansion{}, errorf("/add-dir: %s, and the session must be opened again\nWait for it, or "+
			"stop it with /background stop ID.", why)
	}
	return Expansion{AddDir: path}, nil
}

// denies reports whether calls can't read a path.
func denies(s *session.Session, path string) bool {
	read := tool.Request{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Reads, Target: path}}}}
	return s.Policy.Judge(read).Verdict == tool.Deny
}

// busy describes the background work that would stop at the end of the session; "": none.
func busy(s *session.Session) string {
	switch {
	case len(s.Tools.Running()) > 0:
		return "a background command is running"
	case slices.ContainsFunc(s.Tasks.Jobs(), func(j builtin.TaskJob) bool { return j.Running }):
		return "a background subagent is running"
	}
	return ""
}

func slashDoctor(ctx context.Context, s *session.Session, _ string) (Expansion, error) {
	var b strings.Builder
	c := doctor.New(&b)
	found, err := c.Machine(s.Env)
	if err != nil {
		return Expansion{}, err
	}
	c.Session(ctx, s, found, nil)
	if ctx.Err() != nil {
		return Expansion{}, ctx.Err()
	}
	c.End()
	return Expansion{Print: b.String()}, nil
}

func slashCost(_ context.Context, s *session.Session, _ string) (Expansion, error) {
	all := s.Models.Spent()
	if len(all) == 0 {
		return Expansion{Print: "No requests to a model in this session."}, nil
	}
	var b strings.Builder
	b.WriteString("| model | requests | input | cached | output | cost |\n|---|--:|--:|--:|--:|--:|\n")
	total, priced := 0.0, 0
	for _, m := range all {
		price := "–"
		if p, ok := s.Settings.Model.Pricing[m.Model]; ok {
			c := models.Cost(m.Usage, p)
			total += c
			priced++
			price = fmt.Sprintf("$%.4f", c)
		}
		n := humanize.Number[int]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", inCell(m.Model), n(m.Requests), n(m.Usage.Input),
			n(m.Usage.CacheRead), n(m.Usage.Output), price)
	}
	switch {
	case priced == 0:
		b.WriteString("\nThe setting `modelPricing` has no prices for these models.")
	case len(all) > 1:
		fmt.Fprintf(&b, "\nTotal: $%.4f.", total)
	}
	return Expansion{Print: b.String(), Markdown: true}, nil
}

// inCell escapes a text for a cell of a Markdown table.
func inCell(s string) string {
	return strings.NewReplacer("|", `\|`, "`", "'", "*", `\*`, "_", `\_`).Replace(tool.Visible(s))
}
