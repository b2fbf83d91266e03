package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// Names that find prints are words where a shell or xargs takes them apart: a folder "x " in which home/me lies makes a
// word of /home/me. Where there is such a name, the line tells what lies outside, and is asked about.
func TestNamesThatComeApart(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	blank := `mkdir -p 'src/x /home/me' && echo > 'src/x /home/me/notes.txt'`
	line := `mkdir -p $'src/x\n/home/me' && echo > $'src/x\n/home/me/notes.txt'`
	for _, o := range []order{
		{Setup: []string{blank}, Command: "find src -name '*.txt' | xargs cat"},
		{Setup: []string{line}, Command: "find src -name '*.txt' | sort | xargs -d '\\n' cat"},
		{Setup: []string{line}, Command: "find src -name '*.txt' | xargs -I{} cat {}"},
		{Setup: []string{line}, Command: "find src -name '*.txt' | while read -r f; do cat \"$f\"; done"},
		{Setup: []string{blank}, Command: "for f in $(find src -name '*.txt'); do cat \"$f\"; done"},
		{Setup: []string{blank}, Command: "cat $(find src -name '*.txt')"},
		{Setup: []string{`mkdir -p 'src/x /home/me' && echo foo > 'src/x /home/me/notes.txt'`}, Command: "grep -rl foo src | xargs cat"},
	} {
		o.Unasked = true
		if e := b.run(t, o); !e.Told {
			t.Errorf("%s after %s: tells nothing: %s", o.Command, o.Setup, e.Output)
		}
		o.Judge = true
		if e := b.run(t, o); !e.Asked {
			t.Errorf("%s after %s: runs unasked", o.Command, o.Setup)
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

// Whatever prints names, whatever passes them on, whatever is done with them, and whatever lies there: what runs unasked
// tells no secret and changes nothing.
func TestListingsAreHarmless(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	s := newSpeaker(t, 7)
	find := []string{"-name '*.txt'", "-name '*.go'", "-type f", "! -name '*.go'", "-o", "-path './lib/*'", "-print", "-print0", "\\( -name '*.txt' -o -name '*.go' \\)", "-prune", "-not", "-true", ",", "(", ")",
		"-path '*.txt'", "-iname '*.TXT'", "-maxdepth 2", "-type d", "-false", "-a", "-exec cat {} +", "-exec echo {} \\;"}
	search := []string{"-l", "-rl", "-rlZ", "-l0", "--files", "-g '*.txt'", "--include='*.txt'", "--exclude='*.go'", "-i", "-u", "--hidden", "-e foo", "-n", "-c", "foo", "''"}
	places := []string{"lib", "lib", "lib", ".", "lib .", "", "./lib", "lib/..", "lib/sub"}
	filters := []string{"sort", "head -3", "tail -n 2", "grep -v go", "uniq", "sort -z", "head -n 3", "grep txt", "sort -u", "tail -n +2"}
	users := []string{"cat", "wc -l", "grep -h ''", "head", "sed -n p", "ls", "grep -r ''", "awk 1", "tail -n 5", "cat -- ", "sort", "od -c", "diff README.md"}
	plants := []string{
		`mkdir -p 'lib/x /home/me' && echo foo > 'lib/x /home/me/notes.txt'`, `mkdir -p $'lib/x\n/home/me' && echo foo > $'lib/x\n/home/me/notes.txt'`, `ln -s ../../notes.txt lib/l.txt`, `ln -s ../notes.txt l.go`,
		`ln -s ../.env lib/l.txt`, `cp .env lib/.env`, `echo foo > './-f.txt'`, `echo foo > "lib/'\"' .txt"`, `ln -s /home/me lib/up`, `echo foo > lib/a.txt`, `mkdir -p lib/d.txt && cp .env lib/d.txt/`, `cp .env 'lib/*'`,
		`echo '!.env' > .ignore`, `mv .env lib/.env.txt`, `cp .env docs/x.pem`,
	}
	ran := 0
	for range int(1000 * share()) {
		var list string
		if s.IntN(3) > 0 {
			list = "find " + pick(s, places)
			for range s.IntN(5) {
				list += " " + pick(s, find)
			}
		} else {
			list = pick(s, []string{"rg", "grep"})
			for range 1 + s.IntN(4) {
				list += " " + pick(s, search)
			}
			list += " " + pick(s, places)
		}
		for range s.IntN(2) {
			list += " | " + pick(s, filters)
		}
		use := pick(s, users)
		line := pick(s, []string{
			list + " | xargs " + pick(s, []string{"", "-0 ", "-n1 ", "-r ", "-d '\\n' "}) + use, list + " | xargs " + pick(s, []string{"", "-0 "}) + "-I{} " + use + " {}",
			list + " | while read -r f; do " + use + ` "$f"; done`, "for f in $(" + list + "); do " + use + pick(s, []string{" $f", ` "$f"`, ` < "$f"`, ` "$f.txt"`}) + "; done", use + " $(" + list + ")",
			list + " | while read f; do echo \"$f\"; " + use + ` < "$f"; done`,
		})
		o := order{Command: line, Unasked: true, Judge: true, Setup: []string{"mkdir -p lib/sub && echo foo > lib/b.txt && echo foo > lib/sub/c.go"}}
		for range s.IntN(3) {
			o.Setup = append(o.Setup, pick(s, plants)+" || true")
		}
		if missing(strings.TrimPrefix(line, "for f in $(")) {
			continue
		}
		e := b.run(t, o)
		if e.harm() != "" {
			t.Errorf("%s after %q: %s", line, o.Setup, e.harm())
		}
		if !e.Asked {
			ran++
		}
	}
	t.Logf("%d lines ran unasked", ran)
}
