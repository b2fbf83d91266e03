package contextfiles

import (
	"slices"
	"strings"
)

// MemoryHeading begins the section of a context file that facts are added to; a file that has Qwen Code's keeps that.
const (
	MemoryHeading = "## Added Memories"
	qwenHeading   = "## Qwen Added Memories"
)

// LoadedWhole is the size in bytes up to which a context file is loaded as a whole.
const LoadedWhole = maxFile

// MemoryFile chooses the file of facts among what is there: the first of names that exists, else the first. Without
// names that is AGENTS.md, or QWEN.md where only that exists.
func MemoryFile(names []string, exists func(name string) bool) string {
	if len(names) == 0 {
		names = usualNames()
	}
	for _, name := range names {
		if exists(name) {
			return name
		}
	}
	return names[0]
}

// usualNames returns what context files are called.
func usualNames() []string { return []string{"AGENTS.md", "QWEN.md"} }

// withUsual are names, and the usual ones: facts for all projects are under those, whatever one project calls its files.
func withUsual(names []string) []string {
	all := slices.Clone(names)
	for _, name := range usualNames() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Fact makes one line of what is to be remembered: without line breaks, without the dash of a list, and without
// characters that nobody sees. A zero byte would make the whole file one that is not text.
func Fact(s string) string {
	s = strings.Join(strings.Fields(visible(strings.ToValidUTF8(strings.ReplaceAll(s, "\r", "\n"), "\uFFFD"))), " ")
	for {
		rest := strings.TrimLeft(s, " ")
		if rest == "-" || isItem(rest) {
			s = rest[1:]
			continue
		}
		return rest
	}
}

// AddFact gives the text with one more line in its section of facts, which is made at the end if there is none. It is
// false if the fact is there already; letter case and blanks make no difference.
func AddFact(text, fact string) (string, bool) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first, end := section(lines)
	if first < 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if strings.TrimSpace(text) != "" {
			text += "\n"
		}
		return text + MemoryHeading + "\n- " + fact + "\n", true
	}
	last := first // the last line of the section that is not blank
	for i := first + 1; i < end; i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		last = i
		if isItem(line) && strings.EqualFold(Fact(line), Fact(fact)) {
			return text, false
		}
	}
	head := strings.Join(lines[:last+1], "")
	if !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + "- " + fact + "\n" + strings.Join(lines[last+1:], ""), true
}

func isItem(line string) bool {
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ")
}

// section finds the lines of the section of facts: its heading, and the first line after it; -1 if there is none.
func section(lines []string) (first, end int) {
	first = -1
	fence := ""
	for i, line := range lines {
		if mark := fenceOf(line); fence == "" && mark != "" {
			fence = mark
			continue
		} else if fence != "" {
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
			continue
		}
		heading := strings.TrimSpace(line)
		switch {
		case first < 0:
			if heading == MemoryHeading || heading == qwenHeading {
				first = i
			}
		case strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## "):
			return first, i
		}
	}
	return first, len(lines)
}
