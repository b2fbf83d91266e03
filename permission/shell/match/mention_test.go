package match

import (
	"slices"
	"strings"
	"testing"
)

// The paths that a command names: ! it writes, / it may use what is below, ? it isn't sure. "…" at the end: there may be others.
func TestMentions(t *testing.T) {
	for line, want := range map[string]string{
		"x > a":                         "!/w/a",
		"x < /a":                        "/a",
		"echo a > $b":                   "!/w/$b …",
		"x $a":                          "…",
		"touch a":                       "!/w/a",
		"chmod 1 a":                     "!/w/a /w/1",
		"rm -r a":                       "!/w/a/ /w/-r?",
		"cp a b":                        "!/w/b !/w/b/a? !/w/b? /w/a",
		"cp a/b .":                      "!/w/. !/w/./b? !/w/.? /w/a/b",
		"cp -t d a":                     "!/w/a/d? !/w/d !/w/d/a? /w/-t? /w/a …",
		"mv a b":                        "!/w/a/ !/w/b/ !/w/b/a? !/w/b? /w/a /w/a/?",
		"curl -O h/a?x":                 "!/w/a? /w/-O? /w/h/a?x?",
		"gunzip a.gz":                   "!/w/a? /w/a.gz?",
		"unzip a":                       "!/w/./? !/w/a/? /w/a?",
		"tar xf a":                      "!/w/./? !/w/a/? !/w/xf/? /w/a/? /w/a? /w/xf/? /w/xf?",
		"x --f=a,b":                     "/w/--f=a,b? /w/--f? /w/a,b? /w/a? /w/b?",
		"x -of":                         "/w/-of? /w/f?",
		"sed 'w a' b":                   "/w/a? /w/b? /w/w a? /w/w?",
		"wc --files0-from=l":            "/w/--files0-from=l? /w/--files0-from? /w/l? …",
		"python3 < a":                   "/w/a …",
		"python3 <<< 'open(\"a\")'":     "/w/a? /w/open(\"a\")? /w/open?",
		"cd /u && git archive a":        "/u/./? /u/a/? /u/a? /u/archive/? /u/archive?",
		"git diff --no-index --ext a b": "/w/--ext? /w/--no-index? /w/. /w/a? /w/b? /w/diff?",
	} {
		var got []string
		all := Mentions(command(t, line), func(touch Touch) bool {
			s := touch.Path
			if touch.Writes {
				s = "!" + s
			}
			if touch.Below {
				s += "/"
			}
			if !touch.Sure {
				s += "?"
			}
			got = append(got, s)
			return true
		})
		slices.Sort(got)
		got = slices.Compact(got)
		if !all {
			got = append(got, "…")
		}
		if names := strings.Join(got, " "); names != want {
			t.Errorf("%s:\n got %s\nwant %s", line, names, want)
		}
	}
}

// Mentions stops when visit has had enough, and then reports that there may be more.
func TestMentionsStops(t *testing.T) {
	visits := 0
	all := Mentions(command(t, "x a b c"), func(Touch) bool {
		visits++
		return false
	})
	if all || visits != 1 {
		t.Errorf("all %v, %d visits", all, visits)
	}
}
