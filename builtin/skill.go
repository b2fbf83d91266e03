package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/tool"
)

//go:embed skill.md
var skillText string

type skillArgs struct {
	Skill string `json:"skill" description:"Skill name." alias:"command"`
	Args  string `json:"args,omitempty" description:"Arguments for the skill."`
}

// Skill is a set of instructions from the user or the project, loaded on demand.
type Skill struct {
	Name        string
	Description string                 // when to use it
	Dir         string                 // the files that its text refers to
	Load        func() (string, error) // the text
}

// maxSkills is the maximum length of the list, in characters: every request has it.
const maxSkills = 6000

// skill returns the tool that loads skills. It isn't offered if there are none.
func skill(skills []Skill) tool.Tool {
	about := strings.TrimSpace(skillText)
	var lines, names []string
	for _, s := range skills {
		lines = append(lines, fmt.Sprintf("\n- %s: %s", s.Name, oneLine(s.Description, 300)))
		names = append(names, s.Name)
	}
	if len(lines) > 0 {
		about += " The skills:" + bounded(lines, maxSkills)
	}
	return tool.Define(tool.Def[skillArgs]{
		Name: "skill", DisplayName: "Skill",
		Summary:     "Load the instructions of a skill",
		Description: about, Kind: tool.Read, Deferred: len(skills) == 0, Needs: tool.NeedsSession,
		Prepare: func(_ context.Context, a skillArgs) (*tool.Invocation, error) {
			s, err := findSkill(skills, names, a.Skill)
			if err != nil {
				return nil, err
			}
			return &tool.Invocation{
				Description: "load the skill " + s.Name,
				Access:      []tool.Access{tool.Nothing}, // it is the user's own, or from a trusted project
				Run: func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
					if err := ctx.Err(); err != nil {
						return tool.Result{}, err
					}
					text, err := s.Load()
					if err != nil {
						return tool.Result{}, tool.Errorf(readContentFailure, "%w\nContinue without it.", err)
					}
					if strings.TrimSpace(a.Args) != "" {
						text += "\n\nArguments: " + a.Args
					}
					return tool.Result{
						Content: []tool.Part{tool.Text(fmt.Sprintf("Skill %s. The files it refers to are in %s.\n\n%s",
							s.Name, s.Dir, text))},
						Display: tool.Markdown("Loaded the skill " + tool.Visible(s.Name) + "."),
					}, nil
				},
			}, nil
		},
	})
}

func findSkill(skills []Skill, names []string, name string) (Skill, error) {
	for _, s := range skills {
		if strings.EqualFold(s.Name, strings.TrimSpace(name)) {
			return s, nil
		}
	}
	there := "no skills are installed (add .adze/skills/NAME/SKILL.md)"
	if len(names) > 0 {
		there = "the skills are " + oneLine(strings.Join(names, ", "), 1000)
	}
	return Skill{}, tool.BadParam("skill", "unknown skill %q; %s", oneLine(name, 60), there)
}
