package match

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// gitShown returns the paths of which git prints what is in the files, in whatever commit: those behind --, or all. A
// pathspec with magic may exclude some.
func gitShown(c *bash.Command) (ts []Touch) {
	options, words := program.SplitGit(c)
	if len(words) == 0 || !shows(words) {
		return nil
	}
	at := ""
	for _, dir := range program.OptionValues(options, []string{"-C"}) {
		if at += dir.Text + "/"; strings.HasPrefix(dir.Text, "/") {
			at = dir.Text + "/"
		}
	}
	// HEAD:file, which is judged by its name
	isObject := func(w bash.Word) bool { return strings.IndexByte(w.Text, ':') > 0 }
	behind := slices.Index(words, bash.Word{Text: "--"})
	switch {
	case behind >= 0 && behind < len(words)-1:
	case words[0].Text == "show" && len(words) > 1 &&
		!slices.ContainsFunc(words[1:], func(w bash.Word) bool { return !isObject(w) }):
		return nil
	default:
		return []Touch{{Path: at + ".", Index: true, Whole: true, Sure: true}}
	}
	for _, w := range words[behind+1:] {
		if strings.HasPrefix(w.Text, ":") || strings.ContainsAny(w.Text, `*?[\`) {
			return []Touch{{Path: at + ".", Index: true, Whole: true}}
		}
		ts = append(ts, Touch{Path: at + w.Text, Index: true, Sure: true})
	}
	return ts
}

// shows reports whether a subcommand of git prints what is in files, with these words.
func shows(words []bash.Word) bool {
	r := program.RunnerOf("git " + words[0].Text)
	if words[0].Text == "stash" && len(words) > 1 {
		r = program.RunnerOf("git stash " + words[1].Text)
	}
	patch, quiet := false, false
	for _, w := range words[1:] {
		name, _, _ := strings.Cut(w.Text, "=")
		quiet = quiet || slices.Contains(r.Unless, name)
		patch = patch || slices.ContainsFunc(r.Shows, func(flag string) bool {
			return flag == name || len(flag) == 2 && len(name) > 1 && name[0] == '-' && name[1] != '-' &&
				strings.Contains(name, flag[1:])
		})
	}
	return patch || !quiet && slices.Contains(r.Shows, program.Always)
}
