package shell_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/form"
	"github.com/adze-dev/adze/permission/shell/match"
)

// On Windows, paths with a drive counted as relative to the workspace, so that commands read the whole disk and deny rules
// didn't match.
func TestWindowsPaths(t *testing.T) {
	for line, want := range map[string]string{
		"cat a":                   "C:/ws/a",
		"cat C:/Users/me/x":       "C:/Users/me/x",
		"cat c:/x":                "C:/x",
		`cat 'C:\Users\me\x'`:     "C:/Users/me/x",
		`cat C:\\x`:               "C:/x",
		"cat D:/secret.txt":       "D:/secret.txt",
		"cat /d/secret.txt":       "D:/secret.txt",
		"cat ~/outside.txt":       "C:/Users/me/outside.txt",
		"cat ../x":                "C:/ws/../x",
		`cat '..\x'`:              "C:/ws/../x",
		"cat //server/share/x":    "//server/share/x",
		`cat '\\server\share\x'`:  "//server/share/x",
		"cat /etc/passwd":         "/etc/passwd",
		"cat C:x":                 "C:x", // in the current directory of that drive
		"cat '.env::$DATA'":       ".env::$DATA",
		"cd C:/Users && cat x":    "C:/Users/x C:/Users",
		"cd /c/Users && cat x":    "C:/Users/x C:/Users",
		"wc -l < D:/x":            "D:/x",
		"grep -r KEY C:/Users/me": "C:/Users/me",
		"grep -f D:/patterns a":   "D:/patterns C:/ws/a",
		"git -C D:/other status":  "D:/other",
	} {
		script, err := shell.Read(line, bash.Options{Dir: "C:/ws", Home: "C:/Users/me"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range script.Commands {
			reading, why := form.Read(c)
			if why != "" {
				t.Errorf("%s: %s", line, why)
			}
			for _, p := range reading.Paths {
				got = append(got, p.Path)
			}
		}
		slices.Sort(got)
		got = slices.Compact(got)
		for _, path := range strings.Fields(want) {
			if !slices.Contains(got, path) {
				t.Errorf("%s: %q without %s", line, got, path)
			}
		}
		if want := len(strings.Fields(want)); len(got) != want {
			t.Errorf("%s: %q, want %d paths", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"mytool C:/Users/x":       "C:/Users/x",
		"mytool --file=D:/x":      "D:/x",
		`mytool -o'C:\x'`:         "C:/x",
		"mytool /d/x":             "D:/x",
		"mytool > D:/x":           "D:/x",
		"mytool //server/share/x": "//server/share/x",
		"mytool ~/x":              "C:/Users/me/x",
		"cp a D:/x/":              "D:/x/a",
	} {
		script, err := shell.Read(line, bash.Options{Dir: "C:/ws", Home: "C:/Users/me"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		match.Mentions(script.Commands[0], func(touch match.Touch) bool {
			got = append(got, touch.Path)
			return true
		})
		if !slices.Contains(got, want) {
			t.Errorf("%s mentions %q, want %s", line, got, want)
		}
	}
}
