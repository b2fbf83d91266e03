package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/tool"
)

//go:embed skill.md
var skillText string

type skillArgs struct {
	Skill string `json:"skill,omitempty" description:"Skill name." alias:"command"`
	Args  string `json:"args,omitempty" description:"Arguments for the skill."`
	Query string `json:"query,omitempty" description:"Words to search all skills for, instead of loading one."`
}

// Skill is a set of instructions from the user or the project, loaded on demand.
type Skill struct {
	Name  string
	Dir   string                        // the files that its text refers to
	About func() (text string, ok bool) // when to use it; false: the model doesn't get it. May be nil
	Load  func() (string, error)        // the text
}

func (s Skill) about() (text string, ok bool) {
	if s.About == nil {
		return "", true
	}
	return s.About()
}

// Text returns the skill's instructions with arguments: $ARGUMENTS has all of them, $0 or $ARGUMENTS[0] the first one.
func (s Skill) Text(args string) (string, error) {
	text, err := s.Load()
	if err != nil {
		return "", err
	}
	args = strings.TrimSpace(args)
	words, used := shellwords.Split(args, true).Words, false
	placeholder := regexp.MustCompile(`\$ARGUMENTS(\[\d+\])?|\$\d+\b`)
	text = placeholder.ReplaceAllStringFunc(text, func(mark string) string {
		n, err := strconv.Atoi(strings.Trim(mark, "$ARGUMENTS[]"))
		switch {
		case err != nil: // it is $ARGUMENTS
			mark, used = args, true
		case n < len(words):
			mark, used = words[n], true
		}
		return mark
	})
	if args != "" && !used {
		text += "\n\nArguments: " + args
	}
	text = strings.ReplaceAll(text, "${CLAUDE_SKILL_DIR}", s.Dir)
	return fmt.Sprintf("Skill %s. The files it refers to are in %s.\n\n%s", s.Name, s.Dir, text), nil
}

const (
	maxSkills      = 4000 // bytes of the list: every request has it
	maxSkillsFound = 20
)

// skill returns the tool that loads skills. It isn't offered if there are none.
func skill(skills []Skill) tool.Tool {
	return tool.Define(tool.Def[skillArgs]{
		Name: "skill", DisplayName: "Skill",
		Summary:     "Load the instructions of a skill",
		Description: strings.TrimSpace(skillText) + listSkills(skills), Kind: tool.Read, Deferred: len(skills) == 0,
		Needs: tool.NeedsSession,
		Prepare: func(_ context.Context, a skillArgs) (*tool.Invocation, error) {
			invocation := &tool.Invocation{
				Access: []tool.Access{tool.Nothing}, // it is the user's own, or from a trusted project
			}
			if a.Query != "" && a.Skill == "" {
				invocation.Description = "search the skills"
				invocation.Run = func(context.Context, *tool.Live) (tool.Result, error) {
					found := searchSkills(skills, a.Query)
					return tool.Result{Content: []tool.Part{tool.Text(found)}, Display: tool.Markdown(found)}, nil
				}
				return invocation, nil
			}
			s, err := findSkill(skills, a.Skill)
			if err != nil {
				return nil, err
			}
			invocation.Description = "load the skill " + s.Name
			invocation.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
				if err := ctx.Err(); err != nil {
					return tool.Result{}, err
				}
				text, err := s.Text(a.Args)
				if err != nil {
					return tool.Result{}, tool.Errorf(readContentFailure, "%w\nContinue without it.", err)
				}
				return tool.Result{
					Content: []tool.Part{tool.Text(text)},
					Display: tool.Markdown("Loaded the skill " + tool.Visible(s.Name) + "."),
				}, nil
			}
			return invocation, nil
		},
	})
}

// listSkills returns the list of skills for the tool's description. Skills that don't fit aren't even read.
func listSkills(skills []Skill) string {
	var b strings.Builder
	for i, s := range skills {
		text, ok := s.about()
		if !ok {
			continue
		}
		more := fmt.Sprintf("\n- … and %d more: search them with query", len(skills)-i)
		line := fmt.Sprintf("\n- %s: %s", s.Name, oneLine(text, 300))
		if b.Len()+len(line)+len(more) > maxSkills {
			b.WriteString(more)
			break
		}
		b.WriteString(line)
	}
	if b.Len() == 0 {
		return ""
	}
	return " The skills:" + b.String()
}

// searchSkills lists the skills whose name or description has most of the words.
func searchSkills(skills []Skill, query string) string {
	type match struct {
		line  string
		words int
	}
	var all []match
	for _, s := range skills {
		text, ok := s.about()
		m := match{line: fmt.Sprintf("- %s: %s", s.Name, oneLine(text, 300))}
		for word := range strings.FieldsSeq(strings.ToLower(query)) {
			if strings.Contains(strings.ToLower(m.line), word) {
				m.words++
			}
		}
		if ok && m.words > 0 {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return "No skill matches. Use other words, or continue without a skill."
	}
	slices.SortStableFunc(all, func(a, b match) int { return b.words - a.words })
	var b strings.Builder
	for _, m := range all[:min(len(all), maxSkillsFound)] {
		b.WriteString(m.line + "\n")
	}
	return b.String() + "Load one by its name."
}

func findSkill(skills []Skill, name string) (Skill, error) {
	var names []string
	for _, s := range skills {
		if !strings.EqualFold(s.Name, strings.TrimSpace(name)) {
			names = append(names, s.Name)
		} else if _, ok := s.about(); ok {
			return s, nil
		}
	}
	there := "no skills are installed (add .adze/skills/NAME/SKILL.md)"
	if len(names) > 0 {
		there = "the skills are " + oneLine(strings.Join(names, ", "), 1000)
	}
	return Skill{}, tool.BadParam("skill", "unknown skill %q; %s", oneLine(name, 60), there)
}
