package slash

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/model/openai/openaitest"
)

// A headless start lists the names of all commands: no skill is read for it.
func TestNamesReadNoSkills(t *testing.T) {
	s, _ := newDesk(t).open(t, nil)
	read := 0
	s.Definitions.Skills = append(s.Definitions.Skills, builtin.Skill{Name: "pdf", About: func() (string, bool) { read++; return "d", true }})
	c := New(s, 0)
	if names := c.Names(); !slices.Contains(names, "pdf") || !slices.Contains(names, "help") || read > 0 {
		t.Errorf("%q, %d skills read", names, read)
	}
	if c.List(); read != 1 {
		t.Errorf("%d skills read for the list", read)
	}
}

// A name of two words was printed without quotes, so the command that continues the session didn't find it.
func TestRenamePrintsACommand(t *testing.T) {
	d := newDesk(t)
	s, _ := d.open(t, &recording.Options{})
	defer s.Close()
	for name, want := range map[string]string{"work": "work", "my work": "'my work'", "it's $HOME": `'it'\''s $HOME'`} {
		x := decide(t, New(s, Lasts), "/rename "+name)
		if want = "This session is named " + name + ". Continue it with: adze -r " + want; x.Print != want {
			t.Errorf("got  %s\nwant %s", x.Print, want)
		}
	}
}

// adze -c -p /context showed no messages: the conversation starts after the command.
func TestContextOfAContinuedSession(t *testing.T) {
	d := newDesk(t, openaitest.Answer{Text: strings.Repeat("word ", 800)})
	s, c := d.open(t, &recording.Options{})
	d.say(t, c, "go")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := d.try(&recording.Options{Resume: s.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if x := decide(t, New(again, 0), "/context"); !strings.Contains(x.Print, "| messages | 1,15") {
		t.Error(x.Print)
	}
}
