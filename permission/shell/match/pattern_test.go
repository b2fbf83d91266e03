package match

import (
	"slices"
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/prove"
)

func command(t *testing.T, line string) *bash.Command {
	t.Helper()
	script, err := bash.Read(line, bash.Options{Dir: "/w", Home: "/home/me"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return script.Commands[len(script.Commands)-1]
}

// Deny and ask rules look through paths, flags in another order or spelling, and what may run another command.
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		rule, line string
		want       Match
	}{
		{"rm", "rm x", Yes}, {"rm", "/bin/rm x", Yes}, {"rm", "ls", No}, {"rm", "$x y", Undecided}, {"*", "ls", Yes},
		{"rm -rf", "rm -fr x", Yes}, {"rm -rf", "rm --recursive -f x", Yes}, {"rm -rf", "rm -r x", No}, {"rm -rf", "rm $x", Maybe},
		{"git push", "git -C a push", Yes}, {"git push", "git pull", No}, {"git push", "git -c alias.x=push x", Maybe},
		{"rm", "python3 -c 'rm'", Maybe}, {"rm", "unknown rm x", Maybe}, {"rm", "cat rm", No}, {"rm", "go test -exec rm", Maybe}, {"rm", "EDITOR=rm git commit", Maybe}, {"rm", "tar -Irm x", Maybe},
	} {
		p, err := ParsePattern(tt.rule, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(command(t, tt.line)); got != tt.want {
			t.Errorf("%s: %s: %v, want %v", tt.rule, tt.line, got, tt.want)
		}
	}
}

// Allow rules cover exactly their words.
func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		rule, line string
		want       bool
	}{
		{"git status", "git status", true}, {"git status", "git status -s", false}, {"git status:*", "git status -s", true}, {"git status *", "git -C a status", false}, {"*", "rm x", true},
	} {
		p, err := ParsePattern(tt.rule, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Covers(command(t, tt.line)); got != tt.want {
			t.Errorf("%s: %s: %v", tt.rule, tt.line, got)
		}
	}
	if _, err := ParsePattern("git * x", false); err == nil {
		t.Error("a star in the middle is allowed")
	}
}

// The paths that a command names.
func TestMentions(t *testing.T) {
	for line, want := range map[string]string{
		"cp a b": "/w/b", "mv a b/": "/w/b/a", "rm a": "/w/a", "x --file=a": "/w/a", "curl -O h/a": "/w/a", "sed -n 'r a' b": "/w/a", "python3 -c 'open(\"a\")'": "/w/a", "x > a": "/w/a",
	} {
		var got []string
		Mentions(command(t, line), func(touch prove.Touch) bool {
			got = append(got, touch.Path)
			return true
		})
		if !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %s", line, got, want)
		}
	}
}
