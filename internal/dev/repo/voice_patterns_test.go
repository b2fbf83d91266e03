package repo

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// quaintPattern is a way to write that readers stumbled over. A space in the expression is any white space.
type quaintPattern struct {
	expression, instead string
	sample              string // a text that the expression matches
	comments            bool   // comments and names of tests don't use it either
}

// quaintPatterns are checked in the documentation, help, texts for models, and the texts of the program.
var quaintPatterns = []quaintPattern{
	{`\]\([^)]*\) has\b`, "describes, lists", "[The guide](guide.md) has HTTP and other clients", false},
	{`\bof (its|their|your|our|my) own([^\w ]|$| (in|to|with|for|and|or|which|that|each|when)\b)`,
		"its own …, a new …", "defines a type of its own", true},
	{`\bof (yours|theirs|ours|mine|that time)\b`, "your …", "start in a project of yours", true},
	{`\b(take|takes|took|taken|taking) ([^\s,.;:]+ ){0,4}back\b`,
		"undo, redo, retrieve", "take changes on disk back", true},
	{`\bwhat (is|was|are) (not zero|queued|stored|kept|configured|recorded|loaded|removed|guaranteed|refused|measured)\b`,
		"a noun: queued prompts", "what is queued is sent then", false},
	{`\bwhat (a|the|an) \w+ left\b`, "changes by …", "what a command left that timed out", true},
	{`\b(all|everything) that is \w+ed\b`, "everything … in results", "masked in all that is stored", false},
	{`\bleaves (it|them|\w+) alone\b|\b(is|are) left alone\b`,
		"turns this off, isn't restored", "leaves it alone", true},
	{`\b(leave|leaves|leaving) (it |them )?out\b|\bleft out\b`,
		"omit, skip", "the prompt remains and the rest is left out", true},
	{`\bnothing lasts\b`, "in a trial, on a throwaway copy", "the call is about to run where nothing lasts", true},
	{`\bfor good\b`, "permanently, without a trial", "works once it runs for good", true},
	{`\bonce more\b|\banew\b`, "again", "the call is tried once more", true},
	{`(^|[.;|] )of (a|an|one|each|over) `,
		"In a …, If several …", "Of one name, the project's file comes first", false},
	{`\bonly this many\b`, "maximum number of", "only this many are saved and compared", true},
	{`\b(told|tells)\b`, "report, show, print", "no name tells which one to use", false},
	{`\bobeys?\b`, "read, follow", "changing what git, CI, editors and agents obey", false},
	{`\belse than\b`, "other than", "prints something else than a JSON object", true},
	{`\bholds?\b`, "contains, pauses", "holds all workers of the key", false},
	{`\b(is|are|was|were) refused\b|\brefused writes?\b`,
		"denied, rejected", "Paths that commands could have chosen are refused", false},
	{`\b(whoever|somebody|someone|nobody)\b`, "a user, others", "changes between calls are someone else's", true},
	{`\b(gets?|takes?) none\b`, "doesn't support …", "Models and organizations that get none", false},
	{`\bdecides? nothing\b`, "Adze ignores its decision", "and it decides nothing", true},
	{`\bdecided about\b`, "decided", "show which rule decided about each command", false},
	{`\bno longer counts?\b|\bcounts? (for|only)\b`,
		"applies to, isn't part of", "the conversation no longer counts", false},
	{`\balso if\b`, "even if", "0, also if a prompt failed", true},
	{`\| more (in|with|than)\b`, "added by", "| more in `read-only` | 1 ms |", false},
	{`\blets? (the|a) (model|user|server)\b`, "ask … to", "`/init` lets the model write one", false},
	{`\bis different now\b`, "compared with now", "and is different now", true},
	{`\breturn to before\b`, "go back to before", "return to before a prompt", false},
	{`\bafter a question\b`, "and ask whether", "trust it after a question", false},
	{`\b(permission|open) questions?\b`, "prompt", "a rule that also covers other open questions", false},
	{`\b(is|are) there[.;,]`, "available, visible", "readable paths below one are there.", false},
	{`\bmean no\b`, "turn … off", "mean no trial", false},
	{`\bfiles? with several names\b`, "hard-linked files", "a file with several names is written in place", true},
	{`\bwhat (enforces|does|is|has) what\b`, "a noun", "Security: what enforces what", true},
	{`\bwhere it belongs\b`, "where to save it", "shows where it belongs", true},
	{`\bfrom where on\b`, "the point", "it records from where on", true},
	{`\b(isn't|is not) as the \w+ left\b`, "has changed since", "A path that isn't as the call left it", true},
	{`\b(again|twice|or less): (the|no|quit|up|\d)`, "a verb: repeat to …", "0 or less: no limit", false},
	{`\bon their way\b`, "pending", "waits for those on their way", true},
	{`\bsecret by (its|their) name\b`, "with a secret-looking name", "A file is secret by its name", true},
	{`\bthat are files\b`, "of other programs", "connect to Unix sockets that are files", true},
	{`\bwithout rights\b`, "unprivileged", "a user without rights", true},
	{`\b(give|gives|have|has) the same bytes\b`,
		"are reproducible, produces the same", "builds have the same bytes", false},
	{`\bhas no end there\b`, "its result isn't there", "it has no end there", true},
	{`\bin turn with\b`, "interleaved with", "15 times in turn with the others", false},
	{`\bnot over all\b`, "not the total", "counts for each attempt, not over all", true},
	{`\bstays? (text|as (it|they))\b`, "isn't changed", "A path of something else stays text", false},
	{`\btakes the (start|next|rest) `, "selects", "`adze -r 3f2a` takes the start of an ID", false},
	{`\bverdict is\b`, "a definition, or: Adze asks", "the verdict is stricter", false},
	{`\bat points of\b`, "at session events", "run at points of a session", true},
	{`\bcalls you (when|if)\b`, "notifies you", "How Adze calls you when a question waits", true},
	{`\bis being tried\b`, "during a trial", "unless it is being tried", false},
	{`\bchanges? of files\b`, "file changes", "undo the last change of files", false},
	{`\bhave no rule\b`, "can't be answered by a rule", "such prompts have no rule", false},
	{`(^|[.;] )so (they|it) (do|does) `, "the same applies to", "So they do in a project", true},
	{`\b(have|has) beside\b`, "included in", "which releases have beside `adze`", true},
	{`\bruns? on[.;,|]`, "no process outlives", "nothing that the command started runs on.", true},
	{`\bif there is none\b|: there is none\b`, "or nil, without one", "\"\" if there is none", true},
	{`\bmust be one of (objects|strings|lists|numbers)\b`,
		"top-level type must be", "The schema must be one of objects", true},
	{`\b(that|which) its \w+ has\b`, "that its … uses", "gets the name that its matcher has", false},
	{`\balthough (they|it) looks? like\b`,
		"even though", "that commands get although they look like a credential", false},
	{`\bline of keys\b`, "listed keys", "the line of keys names it", false},
	{`\b(is|are) then (in|again)\b`, "is back in", "The text is then in the prompt again", true},
	{`\b(is|are) one \w+ \w+ in it\b`, "are inserted as one …", "Arguments are one quoted word in it", true},
	{`\bReplacements of \w+ aren't read\b`,
		"inserted text isn't expanded again", "Replacements of placeholders aren't read again", true},
	{`\bthat runs one of these\b`, "runs a …", "Command that runs one of these tools.", false},
	{`\bstop the start\b`, "stop Adze", "stop the start with exit code 52", false},
	{`\band the verdict\b`, "the decision", "sandbox, and the verdict", false},
	{`\bcan \w+ anything, but not\b`, "can't", "They can compute anything, but not", true},
	{`\bif a terminal becomes\b`, "shrinking the terminal", "if a terminal becomes smaller than the live area", true},
	{`\bfiles that the file of\b`, "the files that … loads", "Files that the file of a hook uses", true},
	{`\b(port|account) tell\b`, "report it", "only the port and the server's system account tell", true},
	{`\brejects every \w+ of\b`, "rejects … from", "the server rejects every append of the old worker", true},
}

// pattern is a quaintPattern that is ready to search.
type pattern struct {
	*regexp.Regexp
	words           []string // in lower case, in every match: few paragraphs have them
	instead, sample string
}

// compiled returns the patterns, or those that apply to comments.
func compiled(t *testing.T, comments bool) (found []pattern) {
	t.Helper()
	for _, p := range quaintPatterns {
		if comments && !p.comments {
			continue
		}
		expression := "(?i)" + strings.ReplaceAll(p.expression, " ", `\s+`)
		parsed, err := syntax.Parse(expression, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pattern{regexp.MustCompile(expression), required(parsed), p.instead, p.sample})
	}
	return found
}

// required returns the texts that every match contains, in lower case.
func required(e *syntax.Regexp) (words []string) {
	switch e.Op {
	case syntax.OpLiteral:
		words = []string{strings.ToLower(string(e.Rune))}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range e.Sub {
			words = append(words, required(sub)...)
		}
	}
	return words
}

// stumbles returns what the patterns match in the paragraphs of a text, with line numbers.
func stumbles(text string, patterns []pattern) (found []string) {
	line := 1
	for paragraph := range strings.SplitAfterSeq(text, "\n\n") {
		lower := strings.ToLower(paragraph)
		for _, p := range patterns {
			if slices.ContainsFunc(p.words, func(word string) bool { return !strings.Contains(lower, word) }) {
				continue
			}
			for _, at := range p.FindAllStringIndex(paragraph, -1) {
				in := line + strings.Count(paragraph[:at[0]], "\n")
				found = append(found, strconv.Itoa(in)+": "+strconv.Quote(paragraph[at[0]:at[1]])+": write "+strconv.Quote(p.instead))
			}
		}
		line += strings.Count(paragraph, "\n")
	}
	return found
}

// Each pattern finds its sample, across line breaks too.
func TestPatternsFindTheirSamples(t *testing.T) {
	t.Parallel()
	for _, p := range compiled(t, false) {
		for _, text := range []string{p.sample, strings.ReplaceAll(p.sample, " ", "\n  ")} {
			if len(stumbles(text, []pattern{p})) == 0 {
				t.Errorf("%s doesn't match %q", p, text)
			}
		}
	}
}

func TestPatternsOfDocuments(t *testing.T) {
	t.Parallel()
	patterns := compiled(t, false)
	for _, glob := range voiceFiles {
		files, _ := filepath.Glob(glob) // TestVoice reports a glob that matches nothing
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			for _, problem := range stumbles(string(text), patterns) {
				t.Errorf("%s:%s", filepath.ToSlash(file), problem)
			}
		}
	}
}

func TestPatternsOfComments(t *testing.T) {
	t.Parallel()
	patterns := compiled(t, true)
	all := goSources(t)
	for _, f := range all.all {
		if !f.below(voiceDirs...) || strings.HasPrefix(filepath.Base(f.path), "voice_") {
			continue
		}
		for _, group := range f.file.Comments {
			for _, problem := range stumbles(group.Text(), patterns) {
				t.Errorf("%s, in the comment's line %s", all.set.Position(group.Pos()), problem)
			}
		}
	}
}

// upper matches where a word of a name begins.
var upper = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// account matches names of the system's unprivileged account.
var account = regexp.MustCompile(`^nobody$|(?i)\bas nobody\b`)

// Names of functions, types, variables and tests.
func TestPatternsOfNames(t *testing.T) {
	t.Parallel()
	patterns, banned := compiled(t, true), slices.Concat(bannedPhrases, bannedInComments, british)
	all := goSources(t)
	for _, f := range all.all {
		if !f.below(voiceDirs...) {
			continue
		}
		for _, name := range declared(f.file) {
			words := account.ReplaceAllString(upper.ReplaceAllString(name.Name, "$1 $2"), "")
			for _, problem := range append(stumbles(words, patterns), quaint(words, banned)...) {
				t.Errorf("%s: %s, line %s", all.set.Position(name.Pos()), name.Name, problem)
			}
		}
	}
}

// declared returns the names that a file declares at the top level.
func declared(file *ast.File) (names []*ast.Ident) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name)
				case *ast.ValueSpec:
					names = append(names, s.Names...)
				}
			}
		}
	}
	return names
}

// Texts of the program: literals of three and more words, also if they are added up.
func TestPatternsOfTexts(t *testing.T) {
	t.Parallel()
	patterns, banned := compiled(t, false), slices.Concat(bannedPhrases, british)
	all := goSources(t)
	for _, f := range all.all {
		if f.isTest() || !f.below(voiceDirs...) || f.below("internal/dev") {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text := literal(e)
			if !prose.MatchString(text) {
				return text == ""
			}
			for _, problem := range append(stumbles(text, patterns), quaint(text, banned)...) {
				t.Errorf("%s: the text's line %s", all.set.Position(n.Pos()), problem)
			}
			return false
		})
	}
}

// literal returns a string literal, or the sum of several; "" for other expressions.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		if x, y := literal(e.X), literal(e.Y); e.Op == token.ADD && x != "" && y != "" {
			return x + y
		}
	}
	return ""
}

// No page has two equal headings, and no two pages have one title.
func TestHeadingsDiffer(t *testing.T) {
	t.Parallel()
	titles := map[string]string{}
	for _, glob := range []string{"*.md", "docs/*.md"} {
		files, _ := filepath.Glob(glob)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			seen, fenced := map[string]bool{}, false
			for _, line := range strings.Split(string(text), "\n") {
				if strings.HasPrefix(line, "```") {
					fenced = !fenced
				}
				if fenced || !strings.HasPrefix(line, "#") {
					continue
				}
				if seen[line] {
					t.Errorf("%s has two headings %q", file, line)
				}
				seen[line] = true
				if strings.HasPrefix(line, "# ") {
					if other := titles[line]; other != "" {
						t.Errorf("%s and %s have the title %q", other, file, line)
					}
					titles[line] = file
				}
			}
		}
	}
}
