package shell

import (
	"slices"
	"strings"
)

// limited reports whether rg looks into no hidden files but those that its patterns or types mean.
func (a *args) limited() bool {
	open, globs, types := 0, 0, false
	for _, f := range a.flags {
		switch f.name {
		case "-g", "--glob", "--iglob":
			if strings.HasPrefix(f.value.Text, "!") {
				continue
			}
			each, ok := rgBraces(f.value.Text)
			if !ok || slices.ContainsFunc(each, func(p string) bool { return strings.Trim(p, "/") == "" }) {
				return false
			}
			globs += len(each)
		case "-t", "--type":
			types = true
		case "-.", "--hidden":
			open += 2
		case "-u", "--unrestricted":
			open++
		}
	}
	return types || globs > 0 || open < 2
}

// rgBraces expands the braces of a pattern as rg does: to it {env} is env, which it is not to a shell. It reads a pattern
// as a line of an ignore file: one that begins with # is none at all, and whitespace at its end is dropped.
func rgBraces(pattern string) (each []string, ok bool) {
	if strings.HasPrefix(pattern, "#") || strings.TrimSpace(pattern) != pattern {
		return nil, false
	}
	each, ok = expandBraces(pattern, true)
	return each, ok && !slices.ContainsFunc(each, func(p string) bool { return strings.Contains(p, "{") })
}

// joinPatterns are patterns with a slash between two; "" if one is empty or has a slash itself.
func joinPatterns(patterns []string) string {
	if slices.ContainsFunc(patterns, func(p string) bool { return p == "" || strings.Contains(p, "/") }) {
		return ""
	}
	return strings.Join(patterns, "/")
}

// ignores are the ignore files that rg reads where it starts and above: it tells the lines of them that it cannot read,
// and they may be links. Those below are looked at with the rest.
func ignores(starts []Word) []Touch {
	folders := []string{"."}
	for _, w := range starts {
		outer := !strings.HasPrefix(w.Text, "/") && !strings.Contains(w.Text, "..") // else what is above may be nobody's business
		for i := 1; i <= len(w.Text) && w.Kind == Literal; i++ {
			if i == len(w.Text) || w.Text[i] == '/' && outer {
				folders = append(folders, w.Text[:i])
			}
		}
	}
	var ts []Touch
	for _, dir := range folders[:min(len(folders), 64)] {
		for _, name := range []string{".gitignore", ".ignore", ".rgignore"} {
			ts = append(ts, Touch{Path: join2(dir, name)})
		}
	}
	return ts
}
