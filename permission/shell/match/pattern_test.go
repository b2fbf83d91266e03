package match

import (
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
)

func command(t *testing.T, line string) *bash.Command {
	t.Helper()
	script, err := bash.Read(line, bash.Options{Dir: "/w", Home: "/home/me"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return script.Commands[len(script.Commands)-1]
}

func pattern(t *testing.T, rule string, loose bool) *Pattern {
	t.Helper()
	p, err := ParsePattern(rule, loose)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// Specifiers that are one simple command of literal words are accepted, whatever the shell's keywords are.
func TestParsePattern(t *testing.T) {
	for _, tt := range []struct {
		rule          string
		strict, loose bool
	}{
		{"*", true, true}, {":*", false, true}, {"rm", true, true}, {"git commit:*", true, true}, {"git commit *", true, true}, {"'git' \"a b\"", true, true},
		{"export", true, true}, {"export X=1", true, true}, {"let", true, true}, {"if", true, true}, {"time make", true, true},
		{"git * x", false, true}, {"np*", false, true}, {"", false, false}, {"a; b", false, false}, {"a | b", false, false}, {"a > b", false, false},
		{"X=1 npm test", false, false}, {"X=1", false, false}, {"echo $X", false, false}, {"echo $(x)", false, false}, {"'a", false, false},
	} {
		_, strict := ParsePattern(tt.rule, false)
		_, loose := ParsePattern(tt.rule, true)
		if (strict == nil) != tt.strict || (loose == nil) != tt.loose {
			t.Errorf("%s: as an allow rule: %v; as a deny rule: %v", tt.rule, strict, loose)
		}
	}
}

// Deny and ask rules look through paths, and through flags in another order or spelling.
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		rule, line string
		want       Match
	}{
		{"rm", "rm x", Yes}, {"rm", "/bin/rm x", Yes}, {"rm", "grm x", Yes}, {"rm", "ls", No}, {"rm", "$x y", Undecided}, {"*", "ls", Yes},
		{"rm -rf", "rm -fr x", Yes}, {"rm -rf", "rm --recursive -f x", Yes}, {"rm -rf", "rm --rec --fo x", Yes}, {"rm -rf", "rm x -rvf", Yes},
		{"rm -rf", "rm -r x", No}, {"rm -rf", "rm $x", Maybe}, {"kill -KILL", "kill -9 1", Yes}, {"tar -x", "tar xf a", Yes}, {"find -delete", "find . -delete", Yes},
		{"git push", "git -C a push", Yes}, {"git push", "git --no-pager push", Yes}, {"git push", "git pull", No}, {"git push", "git stash push", No},
		{"git push", "git $x", Maybe}, {"git push", "git unknown", Maybe}, {"git push", "git -c alias.x=push x", Maybe}, {"git push --force", "git push -f", Yes},
		{"git push --force", "git push --force-with-lease", No}, {"npm run te*", "npm run build", Yes},
	} {
		if got := pattern(t, tt.rule, true).Match(command(t, tt.line)); got != tt.want {
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
		{"git status", "git status", true}, {"git status", "git status -s", false}, {"git status:*", "git status -s", true}, {"git status *", "git status", true},
		{"git status *", "git -C a status", false}, {"git status", "git $x", false}, {"git status:*", "git", false}, {"*", "rm x", true},
	} {
		if got := pattern(t, tt.rule, false).Covers(command(t, tt.line)); got != tt.want {
			t.Errorf("%s: %s: %v", tt.rule, tt.line, got)
		}
	}
}

// A glob that may become a flag is not literal.
func TestIsLiteral(t *testing.T) {
	for line, want := range map[string]bool{
		"npm test x": true, "npm test $x": false, "npm test *": false, "npm test src/*.js": true, "npm test -- *": true, "ls *": true, "x* y": false,
	} {
		if got := IsLiteral(command(t, line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// A command may run the one that a rule means by its words, its input, a variable, or the value of a flag.
func TestMayRun(t *testing.T) {
	for _, tt := range []struct {
		rule, line string
		want       bool
	}{
		{"rm", "unknown rm x", true}, {"rm", "unknown 'rm x'", true}, {"rm -rf", "unknown rm x", true}, {"rm", "unknown farm", false},
		{"rm", "cat rm", false}, {"rm", "git commit -m 'rm x'", false}, {"rm", "EDITOR=rm git commit", true}, {"rm", "X=rm", true},
		{"rm", "python3 -c 'rm'", true}, {"rm", "python3 <<< 'rm x'", true}, {"rm", "make rm", false}, {"rm", "awk 'BEGIN{system(\"rm x\")}'", true},
		{"rm", "tar -Irm x", true}, {"rm", "sed '1erm x' y", true}, {"rm", "sed s/arm/x/ y", false},
		{"rm", "docker run a rm x", true}, {"rm", "docker rm x", false}, {"rm", "docker exec -i c sh <<< 'rm x'", true}, {"rm", "docker ps <<< 'rm x'", false},
		{"rm", "go test -exec rm", true}, {"rm", "git fetch --upload-pack=rm", true}, {"rm", "git config core.pager rm", true}, {"rm", "git clone ext::rm", true},
		{"rm", "env EDITOR=rm git commit", true}, {"rm", "find . -exec rm {} +", false},
	} {
		if got := pattern(t, tt.rule, true).mayRun(command(t, tt.line)); got != tt.want {
			t.Errorf("%s: %s: %v", tt.rule, tt.line, got)
		}
	}
}

func TestInText(t *testing.T) {
	p, _ := ParsePattern("rm", true)
	for text, want := range map[string]bool{
		"rm": true, "a;rm -rf": true, "rmdir": false, "arm": false, "rmrm rm": true, "/bin/rm": true, "rm_x": false, "": false,
	} {
		if got := p.inText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
