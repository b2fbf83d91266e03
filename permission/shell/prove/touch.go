package prove

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// touches returns the files among the words, without unknown ones if a sandbox enforces reads.
func touches(a *program.Args) (ts []Touch) {
	p, list := a.Program, files(a)
	for _, w := range readFlags(a) {
		ts = append(ts, Touch{Path: w.Text, Pattern: PatternOf(w), Use: use(p.Names)})
	}
	t := Touch{Use: use(p.Names || p.Named)}
	switch below := a.Has(p.Below...) && !a.Held; {
	case below && a.Has(p.Links...):
		t.Scope = Linked
	case below:
		t.Scope = Below
	}
	for _, w := range list {
		if w.Text == "-" && w.Kind == bash.Literal || w.Kind > bash.Glob {
			continue
		}
		t.Path, t.Pattern = w.Text, PatternOf(w)
		ts = append(ts, t)
		for i := 0; i < len(p.Endings) && !a.Held; i++ {
			ts = append(ts, Touch{Path: w.Text + p.Endings[i], Pattern: t.Pattern})
		}
	}
	if t.Path, t.Pattern = p.Default, Exact; len(list) == 0 && !a.Held {
		ts = append(ts, t)
	}
	if p.Ignores && !a.Held {
		ts = append(ts, ignoreFiles(list)...)
	}
	return append(ts, chosen(a)...)
}

// use is what a command does with its operands.
func use(names bool) Use {
	if names {
		return Names
	}
	return Reads
}

// readFlags are the values of flags that name files to read.
func readFlags(a *program.Args) (values []bash.Word) {
	for _, f := range a.Flags {
		if a.Program.Flags[f.Name] == program.Reading && f.Value.Kind <= bash.Glob && f.Value.Text != "-" {
			values = append(values, f.Value)
		}
	}
	return values
}

// files are the operands that name files.
func files(a *program.Args) []bash.Word {
	list := a.Operands
	switch p := a.Program; {
	case p.Raw && p.Names:
		return tested(list)
	case p.None, p.Text:
		return nil
	case len(list) == 0, a.Ended == 0 && !p.Raw, !p.Pattern && !p.Script,
		a.Has("-e", "-f", "--regexp", "--file", "--expression", "--files", "--type-list"):
		return list
	}
	switch { // a pattern without quotes may expand to a text and files
	case list[0].Kind == bash.Literal || a.Held:
		return list[1:]
	case len(list) == 1: // or to one text, and then it searches the current directory
		return []bash.Word{list[0], {Text: ".", Kind: bash.Literal}}
	}
	return list
}

// chosen returns the files that a flag of grep or rg selects below a directory: a pattern that matches .env names it.
func chosen(a *program.Args) (ts []Touch) {
	for _, f := range a.Flags {
		if !slices.Contains(a.Program.Chooses, f.Name) || strings.HasPrefix(f.Value.Text, "!") {
			continue
		}
		script, err := bash.Read(": "+strings.TrimLeft(f.Value.Text, "/"), bash.Options{}, nil) // it has braces as bash has
		each := []bash.Word{{Text: "*.env", Kind: bash.Glob}}
		if err == nil && plainChoice.MatchString(f.Value.Text) {
			each = script.Commands[0].Words[1:]
		}
		for _, w := range each {
			switch {
			case w.Kind == bash.Unknown || strings.Contains(w.Text, "{"): // to rg {env} is env
				ts = append(ts, Touch{Path: "*.env", Pattern: GitGlob})
			case w.Kind != bash.Glob:
				ts = append(ts, Touch{Path: w.Text})
			case !a.Held:
				ts = append(ts, Touch{Path: w.Text, Pattern: GitGlob})
			}
		}
	}
	return ts
}

var plainChoice = regexp.MustCompile(`^(?:[\w./*?\[\]{},^:@+-]|\\.)+$`)

// ignoreFiles returns the ignore files that rg reads in its starting directories and above: it prints lines of them that it
// can't parse, and they may be links. Those below are searched with the other files.
func ignoreFiles(starts []bash.Word) (ts []Touch) {
	const most = 200 // for a path of many components
	for _, w := range append(slices.Clip(starts), bash.Word{Text: "."}) {
		for dir := path.Clean(w.Text); len(ts) < most; dir = path.Dir(dir) {
			for _, name := range []string{".gitignore", ".ignore", ".rgignore"} {
				ts = append(ts, Touch{Path: Join(dir, name)})
			}
			if dir == "." || path.IsAbs(dir) || strings.HasPrefix(dir, "..") {
				break
			}
		}
	}
	return ts
}

// tested are the words that follow an operator of test, such as -f.
func tested(words []bash.Word) (files []bash.Word) {
	for i, w := range words {
		if i > 0 && len(words[i-1].Text) == 2 && words[i-1].Text[0] == '-' {
			files = append(files, w)
		}
	}
	return files
}

// proof is the proof of a read-only command with what it touches, the patterns that the shell looks up and the files that are
// redirected from.
func proof(c *bash.Command, ts []Touch, held bool) Proof {
	p := Proof{Open: held}
	dirs := c.Dirs
	if held && dirs == nil && c.Start != "" {
		dirs = []string{c.Start} // a secret's name is one anywhere
	}
	for _, t := range ts {
		p.add(t, dirs)
	}
	for _, w := range append(slices.Clip(c.Words), c.Values...) {
		if w.Kind == bash.Glob && c.Name() != "[[" {
			p.add(Touch{Path: w.Text, Pattern: Glob, Use: Names, Flag: w.CanBeFlag() && !held && len(c.Words) > 0}, dirs)
		}
	}
	values := c.Values
	for i := 0; i < len(c.Prefix) && len(c.Words) == 0; i++ {
		values = append(values, c.Prefix[i].Value)
	}
	for _, w := range values { // what a variable is set to may be read in ways that aren't seen
		if w.Kind == bash.Literal && dirs != nil {
			p.add(Touch{Path: w.Text}, dirs)
		}
	}
	for _, d := range c.Redirs {
		at := d.Dirs
		if held {
			at = dirs
		}
		if w := d.Target; d.File && w.Kind <= bash.Glob {
			p.add(Touch{Path: w.Text, Pattern: PatternOf(w)}, at)
		}
	}
	return p
}

// add adds what is touched in every directory that the command may run in.
func (p *Proof) add(t Touch, dirs []string) {
	switch {
	case t.Path == "", t.Path == "/dev/null":
		return // opens nothing
	case IsAbs(dirs, t.Path):
		dirs = append(dirs[:len(dirs):len(dirs)], "/")[:1]
	case dirs == nil && !p.Open:
		p.Why = "its working directory is unknown"
	}
	if t.Certain == Named {
		t.Certain = Sure
	}
	for _, d := range dirs {
		at := t
		at.Path = Join(d, t.Path)
		if p.size += len(at.Path); p.size > maxTouched {
			p.Why = "it names too many paths to check"
			return
		}
		p.Touches = append(p.Touches, at)
	}
}

// maxTouched bounds the paths of a proof, in bytes.
const maxTouched = 4 << 20

// IsAbs reports whether a path is the same in all these directories.
func IsAbs(dirs []string, name string) bool {
	_, abs := bash.Abs(append(dirs[:len(dirs):len(dirs)], "/")[0], name)
	return abs
}

// Join joins a path to the directory that it is relative to. It cleans nothing: what .. means depends on links.
func Join(dir, name string) string {
	name, abs := bash.Abs(dir, name)
	if abs {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}
