package wrap

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
)

// The commands that a line runs: what wrappers run in turn, behind >, and what they may run, behind ?.
func TestUnwrap(t *testing.T) {
	for line, want := range map[string]string{
		"env -u C A=b rm x":            "env -u C A=b rm x > rm x",
		"timeout 5 nice -n 3 rm x":     "timeout 5 nice -n 3 rm x > nice -n 3 rm x > rm x",
		"sudo -u me rm x":              "sudo -u me rm x > rm x",
		"bash -c 'rm x; ls'":           "bash -c rm x; ls > rm x > ls",
		"bash -lc 'rm x' y":            "bash -lc rm x y > rm x",
		"bash -eo pipefail -c 'rm x'":  "bash -eo pipefail -c rm x > rm x",
		"bash -c -e -- 'rm x'":         "bash -c -e -- rm x > rm x",
		"bash --rcfile f -c 'rm x'":    "bash --rcfile f -c rm x > rm x",
		"bash +x -c 'rm x'":            "bash +x -c rm x > bash +x -c 'rm x'",
		"bash a.sh -c 'rm x'":          "bash a.sh -c rm x",
		"bash --version":               "bash --version",
		"bash":                         "bash > bash",
		"bash $x":                      "bash $x > bash $x",
		"bash -s y <<< 'rm x'":         "bash -s y > rm x",
		"bash /dev/stdin <<< 'rm x'":   "bash /dev/stdin > rm x",
		"sh -c 'rm {a,b}'":             "sh -c rm {a,b} > rm {a,b} > sh -c 'rm {a,b}'",
		"source /dev/stdin <<< 'rm x'": "source /dev/stdin > rm x",
		"alias l='rm x'":               "alias l=rm x > alias l='rm x'",
		"echo 'rm x' | sh":             "echo rm x > sh > echo 'rm x'",
		"sh <<< 'rm x'":                "sh > rm x",
		"eval rm x":                    "eval rm x > rm x",
		"trap 'rm x' EXIT":             "trap rm x EXIT > rm x",
		"xargs -n 1 rm":                "xargs -n 1 rm > rm",
		"find . -exec rm {} \\;":       "find . -exec rm {} ; > rm {}",
		"find . -exec {} \\;":          "find . -exec {} ; > {}",
		"find . $x":                    "find . $x > $x",
		"fd -xrm":                      "fd -xrm > rm",
		"fd x -x rm":                   "fd x -x rm > rm",
		"npx rm x":                     "npx rm x ? rm x ? x",
		"npm exec -- rm x":             "npm exec -- rm x ? rm x",
		"ssh host rm x":                "ssh host rm x ? rm x",
		"git -c alias.x='!rm y' x":     "git -c alias.x=!rm y x ? rm y",
		"git-push x":                   "git-push x ? git push x",
		"hub push x":                   "hub push x ? git push x",
		"git rebase --exec 'rm x' a":   "git rebase --exec rm x a ? rm x",
		"git bisect run rm x":          "git bisect run rm x ? rm x",
		"git config alias.x '!rm y'":   "git config alias.x !rm y ? rm y",
		"git -c core.pager='rm x' log": "git -c core.pager=rm x log ? rm x",
		"sudo --unknown a rm x":        "sudo --unknown a rm x ? rm x ? x > a rm x",
		"sudo -s -- 'rm x'":            "sudo -s -- rm x ? rm x > rm x",
		"strace -f -o y rm x":          "strace -f -o y rm x ? y rm x ? rm x ? x",
		"echo 'rm x' | python3":        "echo rm x > python3",
		"su me -c 'rm x'":              "su me -c rm x > rm x",
		"flock f -c 'rm x'":            "flock f -c rm x > rm x > -c rm x",
		"sg g 'rm x'":                  "sg g rm x > rm x",
		"sg g -c 'rm x'":               "sg g -c rm x > rm x > -c rm x",
		"newgrp g <<< 'rm x'":          "newgrp g > rm x",
		"command -v rm":                "command -v rm",
		"env -S 'rm x'":                "env -S rm x > env -S 'rm x'",
		"cat x | grep y":               "cat x > grep y",
		"echo $(rm x)":                 "rm x > echo $(rm x)",
		"for f in a b; do rm $f; done": " > rm $f",
	} {
		script, err := bash.Read(line, bash.Options{Dir: "/w", Home: "/home/me"}, Unwrap)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got strings.Builder
		for i, c := range script.Commands {
			switch {
			case i > 0 && c.MayRun:
				got.WriteString(" ? ")
			case i > 0:
				got.WriteString(" > ")
			}
			got.WriteString(strings.Join(c.Argv(), " "))
		}
		if got.String() != want {
			t.Errorf("%s: %q, want %q", line, got.String(), want)
		}
	}
}

// What xargs adds to a wrapper's words becomes words of the command that the wrapper runs: with rules for xargs, nice and
// exactly "npm test", the line "xargs nice npm test" was allowed.
func TestAddedWords(t *testing.T) {
	for _, line := range []string{"xargs nice npm test", "xargs env nice npm test", "find . -exec nice npm test {} +"} {
		script, err := bash.Read(line, bash.Options{Dir: "/w", Home: "/home/me"}, Unwrap)
		if err != nil {
			t.Fatal(err)
		}
		if last := script.Commands[len(script.Commands)-1]; last.Base() != "npm" || !last.AddsArgs {
			t.Errorf("%s: %s: adds words: %v", line, last, last.AddsArgs)
		}
	}
}

// Wrappers that run their command in another directory.
func TestDirs(t *testing.T) {
	for line, want := range map[string]bool{
		"env -C a x":        false,
		"env --ch=a x":      false,
		"env -iCa x":        false,
		"trap x EXIT; cd a": false,
		"env ls -C a":       true, "timeout 5 x": true, "chroot a x": false,
	} {
		script, err := bash.Read(line, bash.Options{Dir: "/w", Home: "/home/me"}, Unwrap)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for _, c := range script.Commands {
			if c.By != nil && (c.Dirs != nil) != want {
				t.Errorf("%s: in %q", line, c.Dirs)
			}
		}
	}
}
