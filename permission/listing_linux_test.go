package permission_test

import (
	"testing"

	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/tool"
)

// Names that find prints are words where a shell or xargs takes them apart: a folder "x " in which home/me lies makes a
// word of /home/me. Where there is such a name, the line tells what lies outside, and is asked about.
func TestNamesThatComeApart(t *testing.T) {
	t.Parallel()
	r := bashlab.StartRunner(t)
	blank := `mkdir -p 'src/x /home/me' && echo > 'src/x /home/me/notes.txt'`
	line := `mkdir -p $'src/x\n/home/me' && echo > $'src/x\n/home/me/notes.txt'`
	for _, o := range []bashlab.Command{
		{Setup: []string{blank}, Line: "find src -name '*.txt' | xargs cat"},
		{Setup: []string{line}, Line: "find src -name '*.txt' | sort | xargs -d '\\n' cat"},
		{Setup: []string{line}, Line: "find src -name '*.txt' | xargs -I{} cat {}"},
		{Setup: []string{line}, Line: "find src -name '*.txt' | while read -r f; do cat \"$f\"; done"},
		{Setup: []string{blank}, Line: "for f in $(find src -name '*.txt'); do cat \"$f\"; done"},
		{Setup: []string{blank}, Line: "cat $(find src -name '*.txt')"},
		{Setup: []string{`mkdir -p 'src/x /home/me' && echo foo > 'src/x /home/me/notes.txt'`}, Line: "grep -rl foo src | xargs cat"},
	} {
		o.Restricted = true
		if e := r.Run(t, o); !e.PrintedSecret {
			t.Errorf("%s after %s: tells nothing: %s", o.Line, o.Setup, e.Output)
		}
		o.IfApproved = true
		if e := r.Run(t, o); !e.NeedsApproval {
			t.Errorf("%s after %s: runs unasked", o.Line, o.Setup)
		}
	}
}

// Names are looked at where they come from: what is odd elsewhere does not matter, and NULs part any names.
func TestNamesOnDisk(t *testing.T) {
	dir := searchedFolder(t, "odd/a b.go foo", "odd/-x.go foo", "deep/.env x", "deep/a.go foo")
	for want, lines := range map[tool.Verdict][]string{
		tool.Ask: {
			"find . -name '*.go' -print0 | xargs -0 grep -l foo", "find src deep -name '*.go' | xargs cat", "rg -l foo deep | xargs cat", "grep -rl foo --include='*.go' deep | xargs cat",
			"find deep -name '*.go' | while read f; do cat \"$f\"; done", "find . -name '*.go' -exec cat {} +", "find . \\( -name '*.go' -o -name '*.ts' \\) -print0 | xargs -0 cat", "find deep ! -path './x/*' -name '*.go' | xargs cat",
			"find . -name '*.go' | xargs wc -l", "find odd -name '*.go' | xargs wc -l", "find src odd -name '*.go' | xargs wc -l", "rg -l foo | xargs wc -l", "rg -l0 foo | xargs -0 cat", "wc -l $(find src -name '*.go')",
			"grep -rl foo deep | xargs cat", "find deep -type f -print0 | xargs -0 cat", "rg -lu foo . | xargs cat", "find . -name '*.go' | while read f; do cat \"$f\"; done", "find odd | xargs ls -ld",
			"for f in $(find src -name '*.go'); do cat $f; done", "cd odd && find . -name '*.go' | xargs cat",
		},
	} {
		for _, line := range lines {
			if got := judgeIn(dir, line); got != want {
				t.Errorf("%s: %v, want %v", line, got, want)
			}
		}
	}
}
