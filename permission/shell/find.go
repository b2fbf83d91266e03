package shell

import (
	"slices"
	"strings"
)

// findTests are the words of find that only look, and how many words follow them. What is not here is not harmless:
// -delete, -exec, -ok, -fprint, -fls.
var findTests = func() map[string]int {
	m := map[string]int{}
	for _, name := range strings.Fields("-print -print0 -ls -prune -quit -not -a -and -o -or ! ( ) , -true -false -depth -d -mount -xdev -follow -noleaf " +
		"-daystart -executable -readable -writable -empty -nouser -nogroup -warn -nowarn -ignore_readdir_race -E -X -s -x") {
		m[name] = 0
	}
	for _, name := range strings.Fields("-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin " +
		"-perm -user -group -maxdepth -mindepth -printf -links -inum -regextype -lname -ilname -fstype -uid -gid -used") {
		m[name] = 1
	}
	return m
}()

// proveFind judges find: starting points, then tests that only look.
func (c *Command) proveFind() Proof {
	words := c.Words[1:]
	var ts []Touch
	links := slices.ContainsFunc(words, func(w Word) bool { return w.Text == "-L" || w.Text == "-follow" })
	for len(words) > 0 && (words[0].Text == "-L" || words[0].Text == "-H" || words[0].Text == "-P" || words[0].Text == "-E") {
		words = words[1:]
	}
	for len(words) > 0 && !isFindTest(words[0].Text) {
		if why := wordWhy(words[0], false); why != "" {
			return Proof{Why: why}
		}
		ts = append(ts, Touch{Path: words[0].Text, Glob: words[0].Kind == Glob, Below: true, Names: true, Links: links})
		words = words[1:]
	}
	if len(ts) == 0 {
		ts = []Touch{{Path: ".", Below: true, Names: true, Links: links}}
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.Kind != Literal {
			return Proof{Why: notLiteral(w.Text)}
		}
		switch n, ok := findTests[w.Text]; {
		case comparesWith(w.Text):
			if i++; i >= len(words) || words[i].Kind != Literal {
				return Proof{Why: "the value of " + w.Text + " expands at run time, so it can't be checked"}
			}
			if !strings.HasSuffix(w.Text, "t") {
				ts = append(ts, Touch{Path: words[i].Text, Names: true})
			}
		case w.Text == "-exec" && !links:
			end := execEnd(words, i)
			if end >= len(words) || end == i+1 {
				return Proof{Why: "can't find the end of -exec"}
			}
			i = end // what it runs is judged on its own
		case !ok:
			return Proof{Why: "find " + w.Text + " is not on the read-only list"}
		case n == 1:
			if i++; i >= len(words) || words[i].Kind != Literal {
				return Proof{Why: "the value of " + w.Text + " expands at run time, so it can't be checked"}
			}
		}
	}
	return c.proved(ts)
}

// execEnd is where the command behind an -exec at i ends.
func execEnd(words []Word, i int) int {
	end := i + 1
	for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && end > 0 && words[end-1].Text == "{}") {
		end++
	}
	return end
}

// comparesWith reports whether the word behind a test names a file, or a time, to compare with.
func comparesWith(test string) bool {
	return test == "-newer" || test == "-anewer" || test == "-cnewer" || test == "-samefile" || isNewer(test)
}

// findValues is how many words a test takes.
func findValues(test string) int {
	if comparesWith(test) {
		return 1
	}
	return findTests[test]
}

// isNewer reports whether s is -newerXY: Y is t where a time follows, else a file.
func isNewer(s string) bool {
	return len(s) == len("-newerXY") && strings.HasPrefix(s, "-newer") && strings.IndexByte("aBcm", s[6]) >= 0 && strings.IndexByte("aBcmt", s[7]) >= 0
}

// isFindTest reports whether find takes a word for the start of its expression.
func isFindTest(s string) bool {
	return strings.HasPrefix(s, "-") && len(s) > 1 || s == "(" || s == ")" || s == "!" || s == ","
}
