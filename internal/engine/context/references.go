package contextfiles

import (
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reference is the text after an @.
type reference string

// maxReferences is the maximum number per file.
const maxReferences = 200

// references finds the @paths of a Markdown text. An @ counts at the start of a line or after a space, before a dot, a
// slash, a tilde or a letter, and not in code. The path ends at a space or code; a backslash escapes a space.
func references(text string) (found []reference) {
	at := regexp.MustCompile("(?:^|[ \t])@([./~\\pL](?:\\\\ |[^ \t\r\n`])*)")
	for _, line := range outsideFences(strings.SplitAfter(text, "\n")) {
		if !strings.Contains(line, "@") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
			continue
		}
		for _, match := range at.FindAllStringSubmatch(withoutSpans(line), maxReferences-len(found)) {
			found = append(found, reference(match[1]))
		}
		if len(found) == maxReferences {
			break
		}
	}
	return found
}

// outsideFences returns the lines that aren't in a fenced code block, by their index.
func outsideFences(lines []string) iter.Seq2[int, string] {
	fences := regexp.MustCompile("^ *(```+|~~~+)(.*)")
	return func(yield func(int, string) bool) {
		fence := "" // of the open block
		for i, line := range lines {
			mark := fences.FindStringSubmatch(line)
			switch {
			case fence == "" && mark == nil:
				if !yield(i, line) {
					return
				}
			case fence == "":
				fence = mark[1]
			case mark != nil && strings.HasPrefix(mark[1], fence) && strings.TrimSpace(mark[2]) == "":
				fence = ""
			}
		}
	}
}

// withoutSpans replaces code spans by a back-tick. A span ends at as many back-ticks as it begins with.
func withoutSpans(line string) string {
	var b strings.Builder
	runs, from := regexp.MustCompile("`+").FindAllStringIndex(line, -1), 0
	for i := 0; i < len(runs); i++ {
		same := func(run []int) bool { return run[1]-run[0] == runs[i][1]-runs[i][0] }
		if n := slices.IndexFunc(runs[i+1:], same); n >= 0 {
			b.WriteString(line[from:runs[i][0]] + "`")
			i += n + 1
			from = runs[i][1]
		}
	}
	return b.String() + line[from:]
}

// endMarks are the marks that may end a sentence after a name.
const endMarks = ".,;:!?)]}>\"'*_"

// file returns the name of a file, if it is clearly not a user or a package.
func (r reference) file() (name string, is bool) {
	name = strings.TrimRight(string(r), endMarks)
	return name, strings.HasSuffix(name, ".md") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

// find returns the path of an existing file. Marks that end a sentence are not part of it, unless the name has them.
func (r reference) find(dir, home string) (string, bool) {
	name := strings.ReplaceAll(string(r), `\ `, " ")
	if strings.Contains(name, "://") || strings.ContainsRune(name, 0) {
		return "", false
	}
	for {
		path := filepath.FromSlash(name)
		if rest, ok := strings.CutPrefix(name, "~/"); ok && home != "" {
			path = filepath.Join(home, rest)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
		shorter := strings.TrimRight(name, endMarks)
		if shorter == name || shorter == "" {
			return "", false
		}
		name = shorter
	}
}
