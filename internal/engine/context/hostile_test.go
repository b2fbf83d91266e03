package contextfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostile repositories try to have more than the user approved. Each has an honest skill, which must keep working.
var hostile = []struct {
	name  string
	files map[string]string
	after map[string]string // written once the user trusts the rest
}{
	{"skill out of the project", map[string]string{".claude/skills/s": "->$DIR/../out/s"}, nil},
	{"skill file out of the project", map[string]string{".claude/skills/s/SKILL.md": "->$DIR/../out/s/SKILL.md"}, nil},
	{"directory out of the project", map[string]string{".claude/skills": "->$DIR/../out"}, nil},
	{"agents out of the project", map[string]string{".claude/agents": "->$DIR/../out/agents"}, nil},
	{"command out of the project", map[string]string{".gemini/commands/evil.toml": "->$DIR/../out/evil.toml"}, nil},
	{"commands out of the project", map[string]string{".opencode/commands": "->$DIR/../out"}, nil},
	{"loop of links", map[string]string{".claude/commands/a": "->$DIR/.claude/commands", ".claude/skills/evil": "->$DIR/.claude/skills"}, nil},
	{"name with dots", map[string]string{".claude/skills/../evil/SKILL.md": evilSkill, ".claude/skills/..evil/SKILL.md": evilSkill}, nil},
	{"name with control characters", map[string]string{".claude/skills/evil\x1b[2J/SKILL.md": evilSkill, ".claude/commands/ev\til.md": "evil"}, nil},
	{"invalid YAML", map[string]string{".claude/skills/s/SKILL.md": "---\nname: [evil\n---\nevil", ".claude/agents/a.md": "---\n: evil\n---\n"}, nil},
	{"invalid TOML", map[string]string{".gemini/commands/evil.toml": "prompt = \"evil"}, nil},
	{"10 MB", map[string]string{".claude/skills/s/SKILL.md": evilSkill + strings.Repeat("evil ", 2<<20), ".claude/commands/evil.md": strings.Repeat("evil ", 2<<20)}, nil},
	{"YAML of many references", map[string]string{".claude/agents/a.md": "---\na: &a [evil,evil,evil,evil,evil,evil,evil,evil,evil]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ntools: *d\nname: evil\ndescription: d\n---\n"}, nil},
	{"binary", map[string]string{".claude/skills/s/SKILL.md": "---\nname: evil\n\x00\xff---\n", ".claude/commands/evil.md": "\x00"}, nil},
	{"changed front matter", nil, map[string]string{".agents/skills/honest2/SKILL.md": "---\ndescription: evil\n---\nHonest."}},
	{"new skill", nil, map[string]string{".claude/skills/evil/SKILL.md": evilSkill}},
	{"new command", nil, map[string]string{".claude/commands/evil.md": "!`touch evil`"}},
	{"changed command", map[string]string{".claude/commands/c.md": "!`ls`"}, map[string]string{".claude/commands/c.md": "!`touch evil`"}},
	{"new agent that hides another", nil, map[string]string{".adze/agents/a.md": "---\nname: evil\ndescription: d\nmode: yolo\n---\n"}},
	{"instructions that plant instructions", nil, map[string]string{"sub/AGENTS.md": "evil", "sub/.claude/commands/evil.md": "evil"}},
	{"hidden by AI ignore files", map[string]string{".adzeignore": ".claude/commands/\n", ".claude/commands/evil.md": "evil"}, nil},
}

const evilSkill = "---\ndescription: evil\n---\nevil"

// Nothing of 21 hostile repositories is used without approval, nothing leaves the project, and the rest works.
func TestHostileRepositories(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			base := tree(t, map[string]string{
				"out/s/SKILL.md": evilSkill, "out/agents/evil.md": "---\nname: evil\ndescription: d\n---\n", "out/evil.toml": "prompt = 'evil'",
				"out/evil.md": "evil",
			})
			dir := filepath.Join(base, "p")
			plant := func(files map[string]string) {
				for name, text := range files {
					path := filepath.Join(dir, filepath.FromSlash(name))
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					var err error
					if to, link := strings.CutPrefix(text, "->$DIR/"); link {
						err = os.Symlink(filepath.Join(dir, filepath.FromSlash(to)), path)
					} else {
						err = os.WriteFile(path, []byte(text), 0o600)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			plant(map[string]string{".agents/skills/honest/SKILL.md": "---\ndescription: Honest.\n---\nHonest.", ".agents/skills/honest2/SKILL.md": "---\ndescription: Honest.\n---\nHonest."})
			plant(h.files)
			if got := used(Places{Project: dir}); got != "" {
				t.Errorf("without trust: %s", got)
			}
			p := Places{Project: dir, Trusted: true, Seals: map[string]string{}}
			for _, s := range p.Sealed() {
				p.Seals[s.Path] = s.Seal
			}
			nested := NewNested(dir, nil, time.Now().Add(-time.Second)) // times of files are coarse
			plant(h.after)
			got := used(p) + strings.Join(nested.Reached("", "glob", filepath.Join(dir, "sub")), "")
			if strings.Contains(got, "evil") || !strings.Contains(got, "honest: Honest. Honest.") {
				t.Errorf("%s", got)
			}
		})
	}
}

// used returns what a model or a user gets of definitions.
func used(p Places) string {
	var b strings.Builder
	skills, _ := Skills(p)
	for _, s := range skills {
		about, err := s.About()
		text, _, loaded := s.Read()
		if err == nil && loaded == nil {
			fmt.Fprintf(&b, "%s: %s %s\n", s.Name, about.Description, text)
		}
	}
	agents, _ := Agents(p)
	for _, a := range agents {
		fmt.Fprintf(&b, "%s\n", a.Name)
	}
	commands, _ := Commands(p)
	for _, c := range commands {
		fmt.Fprintf(&b, "%s %v\n", c.Name, c.Parts)
	}
	return b.String()
}
