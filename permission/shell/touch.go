package shell

import (
	"path"
	"slices"
	"strings"
)

// touches are the files among the words. Where a sandbox enforces reads, those that aren't known are left out.
func (a *args) touches() []Touch {
	p := a.program
	var ts []Touch
	for _, f := range a.flags {
		if p.flags[f.name] == reading && f.value.Kind <= Glob && f.value.Text != "-" {
			ts = append(ts, Touch{Path: f.value.Text, Glob: f.value.Kind == Glob, Names: p.operands == names})
		}
	}
	list := a.operands
	switch {
	case slices.Contains([]string{"test", "[", "[["}, a.cmd.Name()):
		return tested(list, a.held)
	case p.unless != nil && a.has(p.unless...), p.operands == noOperands, p.operands == texts:
		return ts
	case p.operands == pattern || p.operands == script: // a pattern without quotes may come out as a text and files
		if !a.has("-e", "-f", "--regexp", "--file", "--expression", "--files", "--type-list") && len(list) > 0 {
			if list[0].Kind == Literal || a.held {
				list = list[1:]
			} else if len(list) == 1 { // or as one text, and then it searches here
				list = append(slices.Clip(list), Word{".", Literal})
			}
		}
	}
	t := Touch{Names: p.operands == names || p.named}
	if t.Below = a.given(p.below) && !a.held; t.Below {
		t.Links = a.given(p.links)
	}
	for _, w := range list {
		if w.Text == "-" && w.Kind == Literal || w.Kind > Glob {
			continue
		}
		t.Path, t.Glob = w.Text, w.Kind == Glob
		if p.paths {
			t.Path = strings.TrimSuffix(t.Path, "/...")
		}
		ts = append(ts, t)
		for i := 0; i < len(p.endings) && !a.held; i++ {
			ts = append(ts, Touch{Path: w.Text + p.endings[i], Glob: t.Glob})
		}
	}
	if fallback := p.fallback; len(list) == 0 && !a.held && (fallback != "" || t.Below) {
		if t.Path, t.Glob = fallback, false; fallback == "" {
			t.Path = "."
		}
		ts = append(ts, t)
	}
	if p.ignores && !a.held {
		ts = append(ts, ignoreFiles(list)...)
	}
	return append(ts, a.chosen(ts)...)
}

// chosen are the files that grep and rg are told to look into below a directory: a pattern that asks for .env asks for it
// by name.
func (a *args) chosen(folders []Touch) (ts []Touch) {
	for _, f := range a.flags {
		p := f.value.Text
		if f.name != "--include" && f.name != "-g" && f.name != "--glob" && f.name != "--iglob" || strings.HasPrefix(p, "!") {
			continue
		}
		each, ok := expandBraces(p, true)
		if !ok || strings.HasPrefix(p, "#") || strings.TrimSpace(p) != p || strings.Contains(strings.Join(each, ""), "{") { // to rg {env} is env
			each = []string{"*.env"}
		}
		for _, p := range each {
			glob := strings.ContainsAny(p, "*?[")
			if !glob {
				p = unescaped(p)
			}
			if a.held && !glob && f.value.Kind == Literal && ok {
				ts = append(ts, Touch{Path: p})
			}
			for _, t := range folders {
				if t.Below && !t.Names {
					ts = append(ts, Touch{Path: join2(t.Path, strings.TrimLeft(p, "/")), Glob: glob || t.Glob, Spec: glob})
				}
			}
		}
	}
	return ts
}

// ignoreFiles are the ignore files that rg reads where it starts and above: it prints the lines of them that it can't
// read, and they may be links. Those below are looked at with the rest.
func ignoreFiles(starts []Word) (ts []Touch) {
	folders := []string{"."}
	for _, w := range starts {
		outer := !strings.HasPrefix(w.Text, "/") && !strings.Contains(w.Text, "..")
		for i := 1; i <= len(w.Text) && w.Kind == Literal; i++ {
			if i == len(w.Text) || w.Text[i] == '/' && outer {
				folders = append(folders, w.Text[:i])
			}
		}
	}
	for _, dir := range folders[:min(len(folders), 64)] {
		for _, name := range []string{".gitignore", ".ignore", ".rgignore"} {
			ts = append(ts, Touch{Path: join2(dir, name)})
		}
	}
	return ts
}

// tested are the files that test looks at: what follows an operator on files, and what stands around one that compares
// two of them.
func tested(words []Word, held bool) []Touch {
	var ts []Touch
	add := func(i int) {
		if i >= 0 && i < len(words) && !(held && strings.ContainsAny(words[i].Text, "$`\"")) {
			ts = append(ts, Touch{Path: words[i].Text, Glob: words[i].Kind == Glob, Names: true})
		}
	}
	for i, w := range words {
		if isFileTest(w.Text) {
			add(i + 1)
		}
		if comparesFiles(w.Text) {
			add(i - 1)
		}
	}
	return ts
}

// proof makes a proof of what is touched, with the patterns that the shell looks up and the files that are redirected from.
func (c *Command) proof(ts []Touch, held bool) Proof {
	p := Proof{Open: held}
	dirs := c.Dirs
	if held && dirs == nil && c.start != "" {
		dirs = []string{c.start} // a secret's name is one anywhere
	}
	add := func(t Touch, dirs []string) bool {
		if held && dirs == nil && !path.IsAbs(t.Path) {
			return true
		}
		return c.place(&p, t, dirs)
	}
	for _, t := range ts {
		if !add(t, dirs) {
			return p
		}
	}
	raw := false
	if spec := readOnly().find(systemName(c.Name()), false); spec != nil {
		raw = spec.raw
	}
	for _, w := range append(slices.Clip(c.Words), c.globs...) {
		if w.Kind == Glob && c.Name() != "[[" && !add(Touch{Path: w.Text, Glob: true, Names: true, Flag: w.canBeFlag() && !raw && !held && len(c.Words) > 0}, dirs) {
			return p
		}
	}
	for _, d := range c.Redirs {
		at := d.Dirs
		if held {
			at = dirs
		}
		for _, w := range append(slices.Concat(d.cases...), d.Target) {
			if d.File && w.Kind <= Glob && !add(Touch{Path: w.Text, Glob: w.Kind == Glob}, at) {
				return p
			}
		}
	}
	return p
}

// place puts a touch into every folder that the command may run in.
func (c *Command) place(p *Proof, t Touch, dirs []string) bool {
	t.Sure = true
	switch {
	case t.Path == "", t.Path == "/dev/null":
		return true // opens nothing
	case path.IsAbs(t.Path):
		p.Touches = append(p.Touches, t)
		return true
	case dirs == nil:
		*p = Proof{Why: "its working directory is unknown"}
		return false
	}
	for _, d := range dirs {
		at := t
		at.Path = join2(d, t.Path)
		p.Touches = append(p.Touches, at)
		if p.size += len(at.Path); p.size > maxTouched {
			*p = Proof{Why: "it names too many paths to check"}
			return false
		}
	}
	return true
}

// maxTouched bounds the paths of a proof, in bytes.
const maxTouched = 4 << 20

// join2 joins without cleaning: what .. means depends on links.
func join2(dir, name string) string {
	return strings.TrimSuffix(dir, "/") + "/" + name
}
