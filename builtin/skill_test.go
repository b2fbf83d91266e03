package builtin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func says(text string) func() (string, bool) { return func() (string, bool) { return text, true } }

func skillTools(t *testing.T, dir string, skills []Skill) *Set {
	t.Helper()
	s, err := New(Options{Dir: dir, Skills: skills})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSkill(t *testing.T) {
	skills := []Skill{{Name: "release", About: says("How to release."), Dir: "/skills/release", Load: func() (string, error) { return "Tag it.", nil }}}
	build := func(dir string) tool.Tool { return skill(skills) }
	tooltest.Check(t, build, tooltest.Try{Args: `{"skill":"Release","args":"v1"}`}, tooltest.Try{Args: `{"skill":"other"}`, Fails: true})

	o := call(t, executor(skillTools(t, t.TempDir(), skills)), "skill", args{"skill": "Release", "args": "v1"})
	want := "Skill release. The files it refers to are in /skills/release.\n\nTag it.\n\nArguments: v1"
	if o.Status != tool.StatusSuccess || o.Result.Text() != want {
		t.Errorf("%s: %q", o.Status, o.Result.Text())
	}
}

// Arguments of skills are counted from 0, as the documentation of Claude Code has it. What has no argument stays.
func TestSkillArguments(t *testing.T) {
	for text, want := range map[string]string{
		"All: $ARGUMENTS.": "All: 'a b' $0.", "$0, $1, $2 and $ARGUMENTS[0]; $ARGUMENTS[7]": "a b, $0, $2 and a b; $ARGUMENTS[7]", "In ${CLAUDE_SKILL_DIR}/x: $1": "In /skills/s/x: $0",
		"Costs $5.": "Costs $5.\n\nArguments: 'a b' $0",
	} {
		s := Skill{Name: "s", Dir: "/skills/s", Load: func() (string, error) { return text, nil }}
		got, err := s.Text("'a b' $0")
		if _, got, _ = strings.Cut(got, "\n\n"); got != want || err != nil {
			t.Errorf("%q: %q, not %q; %v", text, got, want, err)
		}
	}
}

// The description lists skills only if there are some, and only as many as fit. The others aren't read until the model
// searches for them.
func TestSkillsAreListed(t *testing.T) {
	if d := skill(nil).Declaration(); !d.Deferred {
		t.Error("a tool without use is declared")
	}
	var many []Skill
	for i := range 1000 {
		many = append(many, Skill{Name: fmt.Sprint("s", i), About: says(strings.Repeat("long\n", 200))})
	}
	d := skill(many).Declaration()
	if d.Deferred || len(d.Description) > maxSkills+500 || !strings.Contains(d.Description, "\n- s0: long long") || !strings.Contains(d.Description, "more") {
		t.Errorf("%d bytes: %.200s", len(d.Description), d.Description)
	}
	read := 0
	for i := range many {
		many[i].About = func() (string, bool) { read++; return fmt.Sprintf("Does the thing number %d.", i), i != 7 }
	}
	d = skill(many).Declaration()
	if len(d.Description) > maxSkills+200 || read > 150 || !strings.HasSuffix(d.Description, "more: search them with query") ||
		strings.Contains(d.Description, "- s7:") {
		t.Errorf("%d bytes, %d skills read: %s", len(d.Description), read, d.Description)
	}
	o := call(t, executor(skillTools(t, t.TempDir(), many)), "skill", args{"query": "number 912"})
	if text := o.Result.Text(); !strings.HasPrefix(text, "- s912: Does the thing number 912.\n") || strings.Count(text, "\n") != maxSkillsFound {
		t.Errorf("%s", text)
	}
	if o := call(t, executor(skillTools(t, t.TempDir(), many)), "skill", args{"skill": "s7"}); o.Status != tool.StatusError {
		t.Errorf("a skill for users was loaded: %+v", o)
	}
	if o := call(t, executor(skillTools(t, t.TempDir(), many)), "skill", args{}); o.Status != tool.StatusError {
		t.Errorf("no name: %+v", o)
	}
	_, err := findSkill(many[:2], "none")
	if err == nil || !strings.Contains(err.Error(), `unknown skill "none"; the skills are s0, s1`) {
		t.Error(err)
	}
}

func TestSkillThatCannotBeLoaded(t *testing.T) {
	x := executor(skillTools(t, t.TempDir(), []Skill{{Name: "gone", About: says("d"), Load: func() (string, error) { return "", errors.New("load skill gone: it is gone") }}}))
	o := call(t, x, "skill", args{"skill": "gone"})
	if o.Error == nil || o.Error.Type != readContentFailure || o.Error.Message != "load skill gone: it is gone\nContinue without it." {
		t.Errorf("%+v", o.Error)
	}
}
