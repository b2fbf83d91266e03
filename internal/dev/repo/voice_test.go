package repo

import (
	"os"
	"path/filepath"
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
	"README.md", "AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "internal/app/cli/testdata/help/*", "builtin/*.md", "builtin/todo/*.md", "builtin/web/*.md", "agent/*.md",
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
	all := goSources(t)
	for _, f := range all.all {
		if !f.below(voiceDirs...) {
			continue
		}
		for _, group := range f.file.Comments {
			for _, problem := range quaint(group.Text(), banned) {
				t.Errorf("%s, in the comment's line %s", all.set.Position(group.Pos()), problem)
			}
		}
	}
}

func TestVoice(t *testing.T) {
	banned := slices.Concat(bannedPhrases, british)
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
			for _, problem := range quaint(string(text), banned) {
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
		"WHAT IS TOLD, and is told":     3,
		"recommend, commendable":        0,
		"the personal settings":         0,
		"it runs unasked\nand\nunasked": 2,
		"the user, denied by the user":  0,
	} {
		if got := quaint(text, bannedPhrases); len(got) != want {
			t.Errorf("%q: %d problems, want %d: %q", text, len(got), want, got)
		}
	}
}

// quaint returns the banned phrases in text, each with its line number and the replacement.
func quaint(text string, banned []bannedPhrase) []string {
	var found []string
	text = strings.ToLower(text)
	for _, b := range banned {
		words := strings.Fields(strings.ToLower(b.phrase))
		for at := 0; ; at++ {
			next := strings.Index(text[at:], words[0])
			if next < 0 {
				break
			}
			at += next
			if startsWithWords(text[at:], words) && (at == 0 || !isWordByte(text[at-1])) {
				line := 1 + strings.Count(text[:at], "\n")
				found = append(found, strconv.Itoa(line)+": "+strconv.Quote(b.phrase)+": write "+strconv.Quote(b.instead))
			}
		}
	}
	return found
}

// startsWithWords reports whether a text starts with words, whatever space is between them, and the last one ends there.
func startsWithWords(text string, words []string) bool {
	for i, word := range words {
		if i > 0 {
			trimmed := strings.TrimLeft(text, " \t\n\r\f")
			if len(trimmed) == len(text) {
				return false
			}
			text = trimmed
		}
		rest, ok := strings.CutPrefix(text, word)
		if !ok {
			return false
		}
		text = rest
	}
	return text == "" || !isWordByte(text[0])
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
}
