package adze_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type bannedPhrase struct{ phrase, instead string }

// bannedPhrases are phrases that Adze's texts don't use, and what to write instead.
var bannedPhrases = []bannedPhrase{
	{"It is asked about", "Needs approval: …"},
	{"needs a yes", "requires approval"},
	{"nobody could be asked", "this session is non-interactive"},
	{"refused by the person", "denied by the user"},
	{"the person", "the user"},
	{"is not known to be read-only", "is not on the read-only list"},
	{"is not literal", "expands at run time, so its value can't be checked"},
	{"Ways to have one", "Set one of:"},
	{"Mend", "Fix"},
	{"house rules", "style guide"},
	{"count only in a folder you trust", "ignored until you trust this project"},
	{"mean nothing to adze", "unknown settings"},
	{"means nothing to adze", "unknown setting"},
	{"go on with offset", "use offset to read more"},
	{"what is told", "output format"},
	{"Most matches told", "Maximum number of matches"},
	{"say what you need", "tell the user what you need"},
	{"a yes that you keep", "a saved approval"},
	{"to the letter", "exact text"},
	{"is told", "is sent, receives"},
	{"unasked", "without approval"},
}

// voiceFiles are the texts that users, models and contributors read.
var voiceFiles = []string{
	"README.md", "AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "internal/cli/testdata/help/*", "builtin/*.md", "agent/*.md",
	"builtin/testdata/declarations.json",
}

// voiceDirs are the directories of Go files whose comments are checked, with all directories below them.
var voiceDirs = []string{
	"agent", "builtin", "cmd", "discover", "examples", "fleet", "hook", "internal", "journal", "model", "permission", "serve", "tool",
}

// bannedInComments are phrases that comments in Go files don't use.
var bannedInComments = []bannedPhrase{
	{"the person", "the user"},
	{"a person", "the user"},
	{"nobody", "no user, no call, no process"},
	{"somebody", "a user"},
	{"sub-agent", "subagent"},
	{"sub-agents", "subagents"},
	{"is told", "is sent, receives, is reported"},
	{"are told", "are sent, receive, are reported"},
	{"asked about", "needs approval"},
	{"needs a yes", "requires approval"},
	{"whoever", "the user, the caller, the program"},
	{"none the worse", "unaffected"},
	{"for good", "permanently"},
	{"so far as", "as far as"},
	{"who knows", "unknown"},
}

// british are spellings that neither texts nor comments use. "Cancelled" stays: it is a word of the protocols.
var british = []bannedPhrase{
	{"analyse", "analyze"},
	{"behaviour", "behavior"},
	{"catalogue", "catalog"},
	{"honour", "honor"},
	{"judgement", "judgment"},
	{"labelled", "labeled"},
	{"normalise", "normalize"},
	{"recognise", "recognize"},
	{"signalled", "signaled"},
	{"summarise", "summarize"},
}

// Comments use the words that users read.
func TestVoiceOfComments(t *testing.T) {
	banned := slices.Concat(bannedInComments, british)
	compiled := patterns(banned)
	for _, dir := range voiceDirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, group := range file.Comments {
				for _, problem := range quaint(group.Text(), banned, compiled) {
					t.Errorf("%s, in the comment's line %s", files.Position(group.Pos()), problem)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestVoice(t *testing.T) {
	banned := slices.Concat(bannedPhrases, british)
	compiled := patterns(banned)
	for _, pattern := range voiceFiles {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("%s matches no file (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, problem := range quaint(string(text), banned, compiled) {
				t.Errorf("%s:%s", filepath.ToSlash(file), problem)
			}
		}
	}
}

// The check finds phrases in any case, across line breaks, and only as whole words.
func TestVoiceFindsPhrases(t *testing.T) {
	for text, want := range map[string]int{
		"Mend it.":                      1,
		"ask the\n  person first":       1,
		"WHAT IS TOLD, and is told":     3, // "is told" twice
		"recommend, commendable":        0,
		"the personal settings":         0,
		"it runs unasked\nand\nunasked": 2,
		"the user, denied by the user":  0,
	} {
		if got := quaint(text, bannedPhrases, patterns(bannedPhrases)); len(got) != want {
			t.Errorf("%q: %d problems, want %d: %q", text, len(got), want, got)
		}
	}
}

// phrasePattern finds a phrase. Most texts don't even contain its longest word.
type phrasePattern struct {
	*regexp.Regexp
	longest string
}

// patterns returns those that find the phrases.
func patterns(banned []bannedPhrase) []phrasePattern {
	var all []phrasePattern
	for _, b := range banned {
		words := strings.Fields(strings.ToLower(b.phrase))
		longest := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
		for i, w := range words {
			words[i] = regexp.QuoteMeta(w)
		}
		all = append(all, phrasePattern{regexp.MustCompile(`(?i)\b` + strings.Join(words, `\s+`) + `\b`), longest})
	}
	return all
}

// quaint returns the banned phrases in text, each with its line number and the replacement.
func quaint(text string, banned []bannedPhrase, patterns []phrasePattern) []string {
	var found []string
	lower := strings.ToLower(text)
	for i, b := range banned {
		if !strings.Contains(lower, patterns[i].longest) {
			continue
		}
		for _, at := range patterns[i].FindAllStringIndex(text, -1) {
			line := 1 + strings.Count(text[:at[0]], "\n")
			found = append(found, strconv.Itoa(line)+": "+strconv.Quote(b.phrase)+": write "+strconv.Quote(b.instead))
		}
	}
	return found
}
