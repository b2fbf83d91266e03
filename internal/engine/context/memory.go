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

// LoadedWhole is the maximum size in bytes of a context file that is loaded completely.
const LoadedWhole = maxFile

// MemoryFile selects the file of facts: the first of names that exists, else the first. Without names that is
// AGENTS.md, or QWEN.md if only that exists.
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

// usualNames returns the default names of context files.
func usualNames() []string { return []string{"AGENTS.md", "QWEN.md"} }

// withUsual returns names, and the default ones: facts for all projects have those, whatever names a project uses.
func withUsual(names []string) []string {
	all := slices.Clone(names)
	for _, name := range usualNames() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Fact makes a fact one line: without line breaks, list dash and invisible characters. A zero byte would make the whole
// file binary.
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

// AddFact returns the text with the fact added to its section of facts, which is created at the end if missing. It
// returns false if the text has the fact, ignoring case and whitespace.
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
	last := first // the last nonblank line of the section
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

// section finds the lines of the section of facts: its heading, and the first line after it; -1 without one.
func section(lines []string) (first, end int) {
	first = -1
	for i, line := range outsideFences(lines) {
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
