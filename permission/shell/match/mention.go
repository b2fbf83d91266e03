package match

import (
	"path"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// Mentions gives visit the paths that the words and redirections of a command name, whatever it does with them, and
// tells whether these are all: a word that is not known may name any path. One long word may name as many long paths as
// it has letters, so they are not collected, and visit may say that it has had enough.
func Mentions(c *bash.Command, visit func(prove.Touch) bool) (all bool) {
	all = true
	enough := false
	add := func(t prove.Touch, dirs []string) {
		if enough || t.Path == "" || strings.IndexByte(t.Path, 0) >= 0 {
			return
		}
		if path.IsAbs(t.Path) {
			enough = !visit(t)
			return
		}
		for _, d := range dirs {
			at := t
			at.Path = prove.Join2(d, t.Path)
			if enough = !visit(at); enough {
				return
			}
		}
	}
	for _, d := range c.Redirs {
		if d.File {
			all = all && d.Target.Kind == bash.Literal && d.Dirs != nil
			add(prove.Touch{Path: d.Target.Text, Glob: d.Target.Kind == bash.Glob, Write: d.Write, Sure: true}, d.Dirs)
		}
	}
	for _, a := range c.Prefix {
		all = all && a.Value.Kind == bash.Literal
	}
	if len(c.Words) == 0 || c.Name() == "echo" || c.Name() == "printf" || c.Name() == "true" || c.Name() == ":" {
		return all
	}
	all = all && c.Dirs != nil && !c.AddsArgs
	if reads := program.ReadsProgram(c); reads || program.Interprets(c) || readsNames(c) {
		text := document(c)
		for _, s := range pathsIn(text.Text, true) {
			add(prove.Touch{Path: s}, c.Dirs)
		}
		all = all && (text.Kind == bash.Literal || !reads && !readsNames(c))
	}
	for _, t := range spreads(c) {
		add(t, c.Dirs)
	}
	for _, t := range lands(c) {
		add(t, c.Dirs)
	}
	writes, operands := writes(c)
	below := operands && recursive(c)
	written := func(i int) bool {
		_, found := slices.BinarySearch(writes, i)
		return found
	}
	for i, w := range c.Words[1:] {
		if enough {
			return false
		}
		switch {
		case w.Kind == bash.Unknown || w.Kind == bash.PublicVar:
			all = false
		case w.Kind == bash.Glob:
			add(prove.Touch{Path: w.Text, Glob: true, Write: written(i + 1), Sure: operands}, c.Dirs)
		case operands && !strings.HasPrefix(w.Text, "-"):
			add(prove.Touch{Path: w.Text, Write: written(i + 1), Below: below, Sure: true}, c.Dirs)
			if renamesFrom(c, i+1) { // under another name, what is in it can be read
				add(prove.Touch{Path: w.Text, Sure: true}, c.Dirs)
				add(prove.Touch{Path: w.Text, Below: true, Vague: true}, c.Dirs)
			}
		default:
			for _, s := range pathsIn(w.Text, program.Interprets(c)) {
				add(prove.Touch{Path: s}, c.Dirs)
			}
			if name := c.Base(); name == "sed" || name == "gsed" {
				files, known := sedFiles(w.Text)
				for _, s := range files {
					add(prove.Touch{Path: s}, c.Dirs)
				}
				all = all && known
			}
		}
	}
	return all && !enough
}

// document is the text that a command is given as its input in the line itself; unknown if it is given another one.
func document(c *bash.Command) bash.Word {
	for _, d := range slices.Backward(c.Redirs) {
		if strings.HasPrefix(d.Op, "<<") {
			return d.Target
		}
	}
	return bash.Word{Kind: bash.Unknown}
}

// readsNames reports whether a command reads names of files from its input, or from a file.
func readsNames(c *bash.Command) bool {
	return slices.ContainsFunc(c.Words[1:], func(w bash.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		return slices.Contains([]string{"--batch", "--batch-check", "--stdin", "--stdin-paths", "--files0-from", "--files-from", "--pathspec-from-file", "--from-file"}, name)
	})
}

// spreads are the folders below which a well-known command reads or writes what its words do not name: what it packs,
// unpacks, sets back or deletes.
func spreads(c *bash.Command) []prove.Touch {
	all := func(write bool) (ts []prove.Touch) {
		for _, w := range c.Words[1:] {
			if !strings.HasPrefix(w.Text, "-") && w.Kind == bash.Literal {
				ts = append(ts, prove.Touch{Path: w.Text, Below: true, Vague: true, Write: write})
			}
		}
		return ts
	}
	here := prove.Touch{Path: ".", Below: true, Vague: true, Write: true}
	has := func(words ...string) bool {
		return slices.ContainsFunc(c.Words[1:], func(w bash.Word) bool { return slices.Contains(words, w.Text) })
	}
	switch c.Base() {
	case "tar", "7z", "cpio", "pax":
		switch {
		case unpacks(c) && slices.ContainsFunc(c.Words, func(w bash.Word) bool { return w.Text == "-C" || strings.HasPrefix(w.Text, "--dir") }):
			return append(all(false), all(true)...)
		case unpacks(c):
			return append(all(false), here)
		}
		return all(false)
	case "zip", "scp":
		return all(false)
	case "black", "isort", "autopep8", "yapf", "ruff", "rustfmt", "biome":
		if !has("--check", "--diff") {
			return append(all(true), here)
		}
	case "rsync":
		return append(all(false), all(true)...)
	case "gofmt", "prettier", "eslint":
		if has("-w", "--write", "--fix") {
			return append(all(true), here)
		}
	case "find":
		if has("-delete", "-fprint", "-fprintf", "-fprint0", "-fls") {
			return append(all(true), here)
		}
	case "patch", "unzip":
		return []prove.Touch{here}
	case "rg", "ag", "ack", "ugrep":
		return append(all(false), prove.Touch{Path: ".", Below: true, Vague: true})
	case "grep", "egrep", "fgrep", "diff":
		if recursive(c) {
			return append(all(false), prove.Touch{Path: ".", Below: true, Vague: true})
		}
	case "git":
		if has("grep", "archive") {
			return append(all(false), prove.Touch{Path: ".", Below: true, Vague: true})
		}
		if has("mv") {
			return all(false)
		}
		if ts := prove.GitShown(c); len(ts) > 0 {
			return ts
		}
		if has("checkout", "restore", "reset", "stash", "clean", "apply", "am", "merge", "rebase", "pull", "cherry-pick", "revert", "switch") {
			return []prove.Touch{here}
		}
	case "go", "cargo":
		if has("fmt", "fix", "generate") {
			return []prove.Touch{here}
		}
	}
	return nil
}

// writes are the places of the words that a well-known command writes, in order; ok: all other operands are read.
func writes(c *bash.Command) (places []int, ok bool) {
	if into, ok := intoFolder(c); ok {
		return into, true
	}
	switch c.Base() {
	case "rm", "rmdir", "unlink", "touch", "mkdir", "truncate", "shred", "tee", "mv":
		return operandPlaces(c), true
	case "chmod", "chown", "chgrp":
		operands := operandPlaces(c)
		return operands[min(1, len(operands)):], true
	case "cp", "install", "ln":
		operands := operandPlaces(c)
		return operands[max(0, len(operands)-1):], true
	}
	return nil, false
}

// renamesFrom reports whether a word is what mv or ln gives another name.
func renamesFrom(c *bash.Command, i int) bool {
	operands := operandPlaces(c)
	into := slices.ContainsFunc(c.Words, func(w bash.Word) bool {
		return program.Cluster(w.Text) && strings.HasSuffix(w.Text, "t") || strings.HasPrefix(w.Text, "--target")
	})
	return (c.Base() == "mv" || c.Base() == "ln") && (into || len(operands) == 1 || i != operands[len(operands)-1])
}

func operandPlaces(c *bash.Command) (places []int) {
	for i, w := range c.Words {
		if i > 0 && !strings.HasPrefix(w.Text, "-") {
			places = append(places, i)
		}
	}
	return places
}

// intoFolder is the place of the folder that cp -t and its kin write to.
func intoFolder(c *bash.Command) (places []int, ok bool) {
	if name := c.Base(); name != "cp" && name != "mv" && name != "install" && name != "ln" {
		return nil, false
	}
	for i, w := range c.Words {
		if program.Cluster(w.Text) && strings.HasSuffix(w.Text, "t") || w.Text == "--target-directory" {
			if c.Base() == "mv" { // what is moved goes
				return operandPlaces(c), true
			}
			return []int{i + 1}, true
		}
	}
	return nil, false
}

// recursive reports whether a well-known command also means all below the folders it is given.
func recursive(c *bash.Command) bool {
	for _, w := range c.Words {
		if program.Cluster(w.Text) && strings.ContainsAny(w.Text, "rRa") || w.Text == "--recursive" || w.Text == "--archive" {
			return true
		}
	}
	return c.Base() == "mv"
}

// pathsIn are the paths that may stand in a word: itself, what follows = : @ or a short flag's letter, and in a program
// every piece between quotes and brackets. What is too long to be the name of a file is none: a message of many lines
// would give as many texts that are nearly as long as itself.
func pathsIn(word string, code bool) []string {
	out := []string{}
	seen := make(map[string]bool, len(word)/10)
	add := func(s string) {
		if s == "" {
			return
		}
		if nameable(s) > 0 {
			if s = path.Clean(s); nameable(s) > 0 { // git makes one name of ./././name
				return
			}
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	if !strings.HasPrefix(word, "-") {
		add(word)
	} else if len(word) > 2 && word[1] != '-' {
		add(word[2:])
		for i := 3; i < min(len(word), maxGlued) && program.IsLetter(word[i-1]); i++ {
			add(word[i:]) // sort -uosecret.txt
		}
	}
	least := nameable(word)
	from := 0
	for i := range len(word) {
		if !joinSet[word[i]] {
			continue
		}
		if i+1 < len(word) && i+1 >= least {
			out = append(out, word[i+1:])
		}
		if from > 0 || word[0] != '-' { // -v ./secrets:/s
			add(word[from:i])
		}
		from = i + 1
	}
	if from < least {
		add(word[from:])
	}
	if code {
		from = 0
		for i := range len(word) {
			if codeSet[word[i]] {
				add(word[from:i])
				from = i + 1
			}
		}
		add(word[from:])
	}
	return out
}

// maxGlued is how many short flags may stand in one word before the file that the last of them names.
const maxGlued = 10

// What a path may stand behind in a word, and what it stands between in a program.
var joinSet, codeSet = bash.SetOf("=:@,"), bash.SetOf("'\"`()[]{}<>,;=|&! \t\n")

// The longest that a path and a name in it can be: no system opens a longer path, and no disk keeps a longer name.
const (
	maxPath = 4 << 10
	maxName = 1 << 10
)

// nameable is from where on the end of a text is short enough to be a path.
func nameable(s string) int {
	if len(s) <= maxName {
		return 0
	}
	start, name := max(0, len(s)-maxPath), 0
	for i := len(s) - 1; i >= start; i-- {
		if name++; s[i] == '/' {
			name = 0
		}
		if name > maxName {
			return i + 1
		}
	}
	return start
}

// sedFiles are what may be files in a script of sed: what stands behind an r, R, w or W to the end of the line. known is
// false if there are too many of these letters to look at.
func sedFiles(script string) (files []string, known bool) {
	const most = 64
	for i := 0; i < len(script); i++ {
		if strings.IndexByte("rRwW", script[i]) < 0 {
			continue
		}
		if len(files) == most {
			return files, false
		}
		file, _, _ := strings.Cut(script[i+1:], "\n")
		if file = strings.TrimLeft(file, " \t"); len(file) <= maxPath {
			files = append(files, file)
		}
	}
	return files, true
}
