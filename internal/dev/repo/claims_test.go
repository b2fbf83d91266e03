package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claim matches a statement about what asks, runs or is denied.
var claim = regexp.MustCompile(`(?i)\b(asks?|asked|denie[sd]|den(y|ies)|approv(e|es|ed|al)|runs?|discard(s|ed)|kept|keeps|hidden|hides|masked|read-only|ignored|trusted)\b`)

// A statement of the README or of permissions.md about what asks, runs or is denied is followed by a comment with the tests
// that show it. A comment "instructions" marks a text that only says what to do.
func TestClaimsHaveTests(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"README.md", "docs/permissions.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		claims := 0
		for _, b := range statements(string(text)) {
			if !claim.MatchString(b.text) {
				continue
			}
			claims++
			switch {
			case b.tests == "":
				t.Errorf("%s:%d: no comment names the tests of this:\n%s", page, b.line, b.text)
			case b.tests != "instructions":
				checkNamedTests(t, page, b)
			}
		}
		if claims < 8 {
			t.Errorf("%s has %d statements", page, claims)
		}
	}
}

// statement is a paragraph, an item of a list or a table, and the comment after it.
type statement struct {
	line        int
	text, tests string
}

func statements(page string) (found []statement) {
	fenced, open := false, false
	for i, line := range strings.Split(page, "\n") {
		line, comment, commented := strings.Cut(line, "<!--")
		line = strings.TrimRight(line, " ")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced, open = !fenced, false
		case fenced, strings.HasPrefix(trimmed, "#"):
		case trimmed == "":
			open = open && commented
		case !open, strings.HasPrefix(trimmed, "- "), regexp.MustCompile(`^\d+\. `).MatchString(trimmed):
			found, open = append(found, statement{line: i + 1, text: line}), true
		default:
			found[len(found)-1].text += "\n" + line
		}
		if n := len(found) - 1; commented && open && !fenced {
			found[n].tests = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(comment), "-->"))
			open = false
		}
	}
	return found
}

// checkNamedTests reports tests that don't exist: "TestScripts/undo and TestPages in cmd/adze, TestTable in permission".
func checkNamedTests(t *testing.T, page string, s statement) {
	t.Helper()
	groups := regexp.MustCompile(`((?:Test[\w/]+(?:, | and )?)+) in ([\w/-]+)(?:, |$)`)
	if rest := groups.ReplaceAllString(s.tests, ""); rest != "" {
		t.Errorf("%s:%d: the comment has %q", page, s.line, rest)
	}
	for _, group := range groups.FindAllStringSubmatch(s.tests, -1) {
		files, err := filepath.Glob(filepath.Join(group[2], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var code strings.Builder
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(source)
		}
		for _, name := range regexp.MustCompile(`Test[\w/]+`).FindAllString(group[1], -1) {
			test, part, _ := strings.Cut(name, "/")
			if !strings.Contains(code.String(), "func "+test+"(t *testing.T)") {
				t.Errorf("%s:%d: there is no %s in %s", page, s.line, test, group[2])
			}
			if part == "" {
				continue
			}
			story := map[string]string{"TestScripts": "script", "TestTerminal": "tui"}[test]
			if _, err := os.Stat(filepath.Join("testdata", story, part+".txtar")); err != nil || story == "" {
				t.Errorf("%s:%d: there is no %s", page, s.line, name)
			}
		}
	}
}

// A comment belongs to the statement before it, on its last line or below.
func TestStatements(t *testing.T) {
	got := statements("# A\nIt runs\ntwice.\n<!-- x -->\n- a\n  b\n  <!-- y -->\n- c\n\n```sh\nrun\n```\n<!-- z -->\n| d |\n|---|\n\ne <!-- f -->\n")
	want := []statement{{2, "It runs\ntwice.", "x"}, {5, "- a\n  b", "y"}, {8, "- c", ""}, {14, "| d |\n|---|", ""}, {17, "e", "f"}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}
