package shell

import (
	"slices"
	"strings"
)

// Which files a search through a folder looks into, as its flags tell it.

// included are the patterns of grep --include. Where an --exclude stands before the first of them, files that no pattern
// means are searched too.
func (a *args) included() string {
	var patterns []string
	for _, f := range a.flags {
		switch f.name {
		case "--include":
			patterns = append(patterns, f.value.Text)
		case "--exclude", "--exclude-from":
			if len(patterns) == 0 {
				return ""
			}
		}
	}
	return joinPatterns(patterns)
}

// searched says what rg looks into: the patterns that it is told with -g; or else those of the types it is told; or
// else all that is not hidden. A hidden file that one of the patterns means is searched.
func (a *args) searched() (among string, shown bool) {
	var patterns, types []string
	open := 0
	for _, f := range a.flags {
		switch f.name {
		case "-g", "--glob", "--iglob":
			if strings.HasPrefix(f.value.Text, "!") {
				continue
			}
			each, ok := rgBraces(f.value.Text)
			if !ok {
				return "", false
			}
			for _, p := range each {
				p = strings.TrimRight(p, "/")
				patterns = append(patterns, p[strings.LastIndexByte(p, '/')+1:])
			}
		case "-t", "--type":
			globs, known := rgTypes[f.value.Text]
			if !known {
				globs = "*"
			}
			types = append(types, globs)
		case "-.", "--hidden":
			open += 2
		case "-u", "--unrestricted":
			open++
		}
	}
	if among = joinPatterns(patterns); among == "" {
		among = strings.Join(types, "/")
	}
	return among, among == "" && len(patterns) == 0 && open < 2
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

// rgTypes are the files that rg means by a type, for those of which no version of it means a secret: to some, sh is .env.
var rgTypes = map[string]string{
	"go": "*.go", "rust": "*.rs", "py": "*.py/*.pyi", "ts": "*.ts/*.tsx/*.cts/*.mts", "js": "*.js/*.jsx/*.cjs/*.mjs/*.vue", "css": "*.css/*.scss",
	"html": "*.htm/*.html/*.ejs", "md": "*.markdown/*.md/*.mdown/*.mdwn/*.mdx/*.mkd/*.mkdn", "kotlin": "*.kt/*.kts", "swift": "*.swift", "csharp": "*.cs", "lua": "*.lua",
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
