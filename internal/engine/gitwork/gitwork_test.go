package gitwork

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake answers questions by their words; what it doesn't know fails.
func fake(answers map[string]string) Git {
	return func(dir string, args ...string) (string, error) {
		text, ok := answers[strings.Join(args, " ")]
		if !ok {
			return "", errors.New("git failed")
		}
		return text, nil
	}
}

// commit returns the question what a revision is.
func commit(rev string) string {
	return "rev-parse --verify --quiet --end-of-options " + rev + "^{commit}"
}

func TestOf(t *testing.T) {
	answers := map[string]string{
		"rev-parse --show-toplevel": "/w\n", "rev-parse --show-prefix": "\n", "rev-parse --path-format=absolute --git-common-dir": "/w/.git\n",
		commit("HEAD"): "aaa\n", commit("main"): "bbb\n", commit("@{-1}"): "bbb\n",
		"diff-tree -r --name-only -z --no-renames aaa bbb": "x\x00d/y z\x00",
		"config --get alias.co":                            "checkout -q\n",
		"config --get alias.sh":                            "!sh -c x\n",
		"config --get alias.loop":                          "loop\n",
		"symbolic-ref --short --quiet HEAD":                "topic\n",
		"ls-files -s -z --full-name -- a":                  "",
	}
	files := Effect{Top: "/w", Files: []string{"/w/d/y z", "/w/x"}}
	for _, c := range []struct {
		args string
		want Effect
	}{
		{"checkout main", files},
		{"checkout -", files},
		{"checkout -q main", files},
		{"co main", files},
		{"switch main", files},
		{"checkout -b new", Effect{Top: "/w"}},
		{"checkout nowhere", Effect{Top: "/w", Tracked: true}}, // git diff fails here
		{"sh main", Effect{}},
		{"loop main", Effect{}},
		{"status", Effect{}},
		{"", Effect{}},
		{"pull", Effect{Top: "/w", Tracked: true, Unseen: true}},
		{"am", Effect{Top: "/w", Tracked: true, Unseen: true}},
		{"bisect log", Effect{Top: "/w"}},
		{"bisect start", Effect{Top: "/w", Tracked: true}},
		{"stash list", Effect{Top: "/w"}},
		{"reset main", Effect{Top: "/w"}},
		{"config a.b", Effect{Top: "/w"}},
		{"config --get a.b c", Effect{Top: "/w"}},
		{"config a.b c", Effect{Top: "/w", Config: []Settings{{"/w/.git/config", []string{"a.b"}}}}},
		{"config set a.b c", Effect{Top: "/w", Config: []Settings{{"/w/.git/config", []string{"a.b"}}}}},
		{"config --unset a.b", Effect{Top: "/w", Config: []Settings{{"/w/.git/config", []string{"a.b"}}}}},
		{"config -e", Effect{Top: "/w", Config: []Settings{{"/w/.git/config", []string{"any setting"}}}}},
		{"config --global a.b c", Effect{Top: "/w", Config: []Settings{{"/home/me/.gitconfig", []string{"a.b"}}}}},
		{"config -f x a.b c", Effect{Top: "/w", Config: []Settings{{"/w/x", []string{"a.b"}}}}},
		{"branch -m new", Effect{Top: "/w", Config: []Settings{{"/w/.git/config", []string{"branch.topic", "branch.new"}}}}},
		{"branch --show-current", Effect{Top: "/w"}},
		{"remote -v", Effect{Top: "/w"}},
		{"remote get-url x", Effect{Top: "/w"}},
		{"remote add x y", Effect{Top: "/w", Config: []Settings{{"/w/.git/config", []string{"remote.x"}}}}},
		{"push -u x", Effect{Top: "/w", Config: []Settings{{"/w/.git/config", []string{"branch.topic"}}}}},
		{"push x", Effect{Top: "/w"}},
		{"fetch -u x", Effect{Top: "/w"}},
		{"init sub", Effect{Top: "/w", Creates: []string{"/w/sub/.git"}}},
		{"init --bare sub", Effect{Top: "/w", Creates: []string{"/w/sub"}}},
		{"clone host:a/b.git", Effect{Top: "/w", Creates: []string{"/w/b/.git"}, Files: []string{"/w/b"}}},
		{"clone https://example.test/b/", Effect{Top: "/w", Creates: []string{"/w/b/.git"}, Files: []string{"/w/b"}}},
		{"clone -c a.b=c x y", Effect{Top: "/w", Creates: []string{"/w/y/.git"}, Files: []string{"/w/y"}, Copies: []string{"the setting a.b=c"}}},
		{"mv a b", Effect{Top: "/w", Files: []string{"/w/a", "/w/b"}, Moves: [][2]string{{"/w/a", "/w/b"}}}},
		{"maintenance run", Effect{Top: "/w"}},
	} {
		got := Of(Call{Dir: "/w", Args: strings.Fields(c.args), Literal: true, Global: "/home/me/.gitconfig"}, fake(answers))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("git %s: %s", c.args, d)
		}
	}
	// Unknown arguments, or those that change before the command runs, may be anything.
	for _, c := range []Call{{Args: []string{"checkout"}}, {Args: []string{"checkout", "-"}, Literal: true, Later: true}, {Args: []string{"merge", "new"}, Literal: true, Later: true}} {
		c.Dir = "/w"
		if e := Of(c, fake(answers)); !e.Tracked {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	// Outside of a repository, git changes nothing.
	if e := Of(Call{Dir: "/w", Args: []string{"checkout", "main"}, Literal: true}, fake(nil)); !e.None() {
		t.Errorf("%+v", e)
	}
}

func TestRuns(t *testing.T) {
	for args, want := range map[string]bool{
		"config a.b c": false, "config -e": true, "commit -m x": false, "rebase -x y": true, "rebase main": true, "bisect run x": true, "submodule update": false,
		"submodule foreach x": true, "submodule": true, "fetch --upload-pack=x": true, "clone a b": false, "alias": true, "": true,
	} {
		if got := Runs(strings.Fields(args)); got != want {
			t.Errorf("git %s: %v", args, got)
		}
	}
	for key, want := range map[string]bool{
		"core.hooksPath": true, "core.fsmonitor": true, "CORE.SSHCOMMAND": true, "alias.x": true, "filter.lfs.clean": true, "diff.x.textconv": true, "include.path": true,
		"remote.x.uploadpack": true, "submodule.x.update": true, "any setting": true, "user.name": false, "remote.x.url": false, "branch.x": false, "core.abbrev": false, "": false,
	} {
		if got := RunsPrograms(key); got != want {
			t.Errorf("%s: %v", key, got)
		}
	}
}
