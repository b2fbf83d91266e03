package builtin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

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
	skills := []Skill{{Name: "release", Description: "How to release.", Dir: "/skills/release", Load: func() (string, error) { return "Tag it.", nil }}}
	build := func(dir string) tool.Tool { return skill(skills) }
	tooltest.Check(t, build, tooltest.Try{Args: `{"skill":"Release","args":"v1"}`}, tooltest.Try{Args: `{"skill":"other"}`, Fails: true})

	o := call(t, executor(skillTools(t, t.TempDir(), skills)), "skill", args{"skill": "Release", "args": "v1"})
	want := "Skill release. The files it refers to are in /skills/release.\n\nTag it.\n\nArguments: v1"
	if o.Status != tool.StatusSuccess || o.Result.Text() != want {
		t.Errorf("%s: %q", o.Status, o.Result.Text())
	}
}

// The description lists skills only if there are some, and only as many as fit.
func TestSkillsAreListed(t *testing.T) {
	if d := skill(nil).Declaration(); !d.Deferred {
		t.Error("a tool without use is declared")
	}
	var many []Skill
	for i := range 1000 {
		many = append(many, Skill{Name: fmt.Sprint("s", i), Description: strings.Repeat("long\n", 200)})
	}
	d := skill(many).Declaration()
	if d.Deferred || len(d.Description) > maxSkills+500 || !strings.Contains(d.Description, "\n- s0: long long") || !strings.Contains(d.Description, "more") {
		t.Errorf("%d bytes: %.200s", len(d.Description), d.Description)
	}
	_, err := findSkill(many, []string{"s0", "s1"}, "none")
	if err == nil || !strings.Contains(err.Error(), `unknown skill "none"; the skills are s0, s1`) {
		t.Error(err)
	}
}

func TestSkillThatCannotBeLoaded(t *testing.T) {
	x := executor(skillTools(t, t.TempDir(), []Skill{{Name: "gone", Description: "d", Load: func() (string, error) { return "", errors.New("load skill gone: it is gone") }}}))
	o := call(t, x, "skill", args{"skill": "gone"})
	if o.Error == nil || o.Error.Type != readContentFailure || o.Error.Message != "load skill gone: it is gone\nContinue without it." {
		t.Errorf("%+v", o.Error)
	}
}
