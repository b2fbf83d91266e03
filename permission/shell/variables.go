package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Variables of a line whose values are all known: those that loops and plain assignments give to names that mean
// nothing to any program. To rules a word with one in it stays unknown; but a command is harmless if it is so with
// every value, and for that each is put in.
//
// Which assignment came last is not asked: every value that a name is given anywhere in the line counts everywhere.
// What is asked is whether it was given one at all before it is used.

// maxCases is how many ways to fill in a command are tried.
const maxCases = 64

// scope is the variables of one line.
type scope struct {
	values map[string][]Word // by name; nil: not known
	set    []string          // those that have a value by now
	reads  map[string]int    // how often a name is read into
	sums   bool              // there are $((…)) in the line
}

// tameNames are names in capitals that mean nothing to the shell, and that what runs unasked is not given from outside.
var tameNames = strings.Fields("FILE FILES DIR DIRS F D X Y N I A B C NAME NAMES PATTERN SRC FOO BAR BRANCH BASE COMMIT SHA TAG VERSION COUNT TOTAL NUM " +
	"ROOT TARGET DEST OUT INPUT START END KEY VALUE RESULT STATUS EXT PKG MODULE PROJECT REPO TEXT LINE MSG LOG FILENAME ITEM URL PORT")

// tame reports whether a name means nothing to any program.
func isScratchVar(name string) bool {
	if slices.Contains(tameNames, name) {
		return true
	}
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && !strings.Contains(name, "proxy") &&
		!strings.HasPrefix(name, "npm_") && name != "histchars" && name != "auto_resume" && name[0] != '_'
}

// scan collects the values that names are given in a file.
func (r *reader) scan(file *syntax.File) scope {
	s := scope{values: map[string][]Word{}, reads: map[string]int{}}
	give := func(name string, words []Word) {
		old, known := s.values[name]
		if known && old == nil || !isScratchVar(name) {
			return
		}
		bad := func(w Word) bool { return w.Kind != Literal && w.Kind != Glob && w.Kind != AnyText }
		if slices.ContainsFunc(words, bad) || len(old)+len(words) > maxCases {
			s.values[name] = nil
			return
		}
		for _, w := range words {
			if !slices.Contains(old, w) {
				old = append(old, w)
			}
		}
		s.values[name] = old
	}
	lost := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			_, plain := calculate(n.X)
			s.sums, lost = true, lost || !plain
		case *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause, *syntax.FuncDecl, *syntax.CoprocClause:
			lost = true
		case *syntax.BinaryTest: // [[ x=1 -eq 1 ]] calculates
			lost = lost || strings.Contains(" -eq -ne -lt -le -gt -ge ", " "+n.Op.String()+" ")
		case *syntax.UnaryTest: // and so does the index of a name
			lost = lost || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
		case *syntax.Redirect: // {x}< file
			lost = lost || n.N != nil && strings.HasPrefix(n.N.Value, "{")
		case *syntax.ParamExp:
			lost = lost || n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
		case *syntax.CallExpr:
			lost = lost || assigning(n)
			if words, plain := plainWords(n.Args); plain && len(words) > 0 && words[0].Text == "read" {
				names, _ := reads(words[1:])
				for _, name := range names {
					s.reads[name]++
					give(name, []Word{{Kind: AnyText}})
				}
			}
		case *syntax.Assign:
			if n.Name == nil {
				break
			}
			a := r.assign(n)
			switch {
			case a.Odd:
				a.Value = Word{Kind: Unknown}
			case a.Told:
				a.Value = Word{Kind: AnyText}
			}
			if a.Value.Kind == Glob { // nothing is looked up in an assignment
				a.Value = Word{unescaped(a.Value.Text), Literal}
			}
			give(a.Name, []Word{a.Value})
		case *syntax.ForClause:
			if loop, ok := n.Loop.(*syntax.WordIter); ok && loop.Name != nil {
				words := []Word{}
				for _, w := range loop.Items {
					words = append(words, r.items(w)...)
				}
				if n.Select || !loop.InPos.IsValid() { // without in, it is what the line was called with
					words = []Word{{Kind: Unknown}}
				}
				give(loop.Name.Value, words)
				lost = lost || loop.Name.Value == "PWD" // which otherwise is where the shell stands
			}
		}
		return !lost
	})
	if lost {
		return scope{}
	}
	return s
}

// assigning reports whether a command may give a variable a value that does not stand in the line.
func assigning(c *syntax.CallExpr) bool {
	if len(c.Args) == 0 {
		return false
	}
	name, ok := plainLiteral(c.Args[0])
	if c.Args[0].Lit() == "[" || name == "test" { // -v calculates the index of a name
		return slices.ContainsFunc(c.Args, func(w *syntax.Word) bool { return unquoted(w) == "-v" || unquoted(w) == "-R" })
	}
	if name == "command" && len(c.Args) > 1 && (c.Args[1].Lit() == "-v" || c.Args[1].Lit() == "-V") {
		return false
	}
	if name == "printf" && len(c.Args) > 1 {
		return strings.HasPrefix(unquoted(c.Args[1]), "-") // -v
	}
	if words, plain := plainWords(c.Args); plain && name == "set" {
		return !setsPlainly(words[1:])
	} else if plain && name == "read" {
		_, known := reads(words[1:])
		return !known
	}
	return !ok || slices.Contains(changesShellState, name) || slices.Contains(strings.Fields("read printf getopts unset wait exec"), name)
}

// unquoted is the text of a word that is one text in quotes.
func unquoted(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return "-" // who knows
	}
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		if !p.Dollar {
			return p.Value
		}
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 && !p.Dollar {
			if lit, ok := p.Parts[0].(*syntax.Lit); ok {
				return lit.Value
			}
		}
	case *syntax.Lit:
		if !has(p.Value, &specialSet) {
			return p.Value
		}
	}
	return "-"
}

// unescaped is a pattern as the text that it is.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// bound are the names in a node that stand for known values by now.
func (r *reader) bound(nodes ...syntax.Node) []string {
	if r.scope.values == nil {
		return nil
	}
	here := len(r.dirs) == 1
	if here {
		r.scope.values["PWD"] = []Word{{r.dirs[0], Literal}}
	}
	var names []string
	for _, n := range nodes {
		syntax.Walk(n, func(n syntax.Node) bool {
			if p, ok := n.(*syntax.ParamExp); ok && plainParam(p) {
				name := p.Param.Value
				known := name == "PWD" && here || slices.Contains(r.scope.set, name) && r.scope.values[name] != nil
				if known && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			return true
		})
	}
	return names
}

// each calls fill with every way to give values to names; ok is false where there are too many.
func (r *reader) each(names []string, fill func()) (ok bool) {
	total := 1
	for _, name := range names {
		if total *= len(r.scope.values[name]); total > maxCases || total == 0 {
			return false
		}
	}
	r.binding = map[string]Word{}
	defer func() { r.binding = nil }()
	for n := range total {
		for _, name := range names {
			values := r.scope.values[name]
			r.binding[name] = values[n%len(values)]
			n /= len(values)
		}
		fill()
	}
	return true
}

// fill puts every value into a command that the shell itself runs.
func (r *reader) fill(cmd *Command, args []*syntax.Word) {
	if len(cmd.Words) == 0 || cmd.Words[0].Kind != Literal || cmd.wraps() && !(cmd.Name() == "command" && queries(cmd)) {
		return // what a wrapper runs is read from its words as they stand
	}
	nodes := make([]syntax.Node, len(args))
	for i, w := range args {
		nodes[i] = w
	}
	names := r.bound(nodes...)
	name := systemName(cmd.Name())
	takes := takesText(name)
	if len(names) == 0 && !(r.scope.sums && slices.ContainsFunc(args, calculates)) && !(takes && slices.ContainsFunc(args, substitutes)) &&
		!(r.pipes && slices.ContainsFunc(args, isPipe)) {
		return
	}
	r.acceptsAnyText, r.printsArgs = takes, name == "echo" || name == "printf"
	defer func() { r.acceptsAnyText, r.printsArgs = false, false }()
	ok := r.each(names, func() {
		var words []Word
		for _, w := range args {
			words = append(words, r.words(w)...)
		}
		cmd.cases = append(cmd.cases, words)
	})
	if !ok {
		cmd.cases = nil
	}
}

// calculates reports whether a word holds $((…)).
func calculates(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		_, is := n.(*syntax.ArithmExp)
		found = found || is
		return !found
	})
	return found
}

// wraps reports whether a command runs another one.
func (c *Command) wraps() bool {
	_, ok := wrappers[c.base()]
	return ok || slices.Contains(shells, c.base()) || slices.Contains(changesShellState, c.base())
}

// value puts the value of a variable into a word.
func (b *builder) value(w Word, quoted bool) {
	switch {
	case w.Kind == AnyText && quoted && b.acceptsAnyText, w.Kind == Glob && quoted && b.printsArgs: // the loop that looked it up was judged
		b.one = true
	case w.Kind == AnyText:
		b.unknown = true
	case w.Kind == Glob && !quoted && !(b.printsArgs && starsLast(w.Text)):
		b.unknown = true // a name of a file is taken apart at its blanks, and a piece may be anything
	case w.Kind == Glob:
		for i := 0; i < len(w.Text); i++ {
			switch c := w.Text[i]; {
			case c == '\\' && i+1 < len(w.Text):
				i++
				b.text.WriteString(w.Text[i-1 : i+1])
			case strings.IndexByte("{},.~", c) >= 0:
				b.text.WriteByte('\\')
				b.text.WriteByte(c)
			default:
				b.text.WriteByte(c)
			}
		}
	case quoted || w.Text != "" && only(w.Text, &plainSet):
		b.quoted(w.Text)
	default:
		b.unknown = true
	}
}

// starsLast reports whether nothing but the last name of a path is a pattern. A piece of a name holds no slash, and leads
// nowhere else when it is looked up once more; but a folder "x " with a file "*" makes a "/*" of */*.
func starsLast(pattern string) bool {
	return strings.LastIndexByte(pattern, '/') < strings.IndexAny(pattern, "*?[")
}

// proveCases judges a command with every value of its variables.
func (c *Command) proveCases() Proof {
	var all Proof
	if why := c.unfit(); c.fed != nil && why != "" {
		return Proof{Why: why}
	}
	for _, words := range c.cases {
		one := *c
		one.Words, one.cases, one.program = words, nil, ""
		if w := badlyMarked(words); w != "" && !takesText(systemName(c.Name())) {
			return Proof{Why: w + " contains the name of a file that find or xargs provides"}
		}
		p := one.prove()
		if p.Why != "" {
			return p
		}
		all.Touches = append(all.Touches, p.Touches...)
		all.Git = append(all.Git, p.Git...)
		all.Unless = append(all.Unless, p.Unless...)
		all.Versions, all.Tools = append(all.Versions, p.Versions...), append(all.Tools, p.Tools...)
		all.Trees = append(all.Trees, p.Trees...)
	}
	return all
}

// badlyMarked is a word that is not the name of a file that was found, but has it in it.
func badlyMarked(words []Word) string {
	for _, w := range words {
		if rest, ok := strings.CutPrefix(w.Text, "./"+foundMark); strings.Contains(w.Text, foundMark) && (!ok || rest != "" && !(rest == "*" && w.Kind == Glob)) {
			return w.Text
		}
	}
	return ""
}

// holdsFound reports whether names of files that are found stand in the words of a command or in what it is redirected from.
func (c *Command) holdsFound() bool {
	is := func(w Word) bool { return strings.Contains(w.Text, foundMark) }
	return slices.ContainsFunc(c.cases, func(words []Word) bool { return slices.ContainsFunc(words, is) }) ||
		slices.ContainsFunc(c.Redirs, func(d Redirect) bool { return slices.ContainsFunc(d.cases, is) })
}

// Filled are the words of a command with every value of its variables put in, where these are known: it is harmless if
// it is so with each.
func (c *Command) Filled() [][]Word {
	if c.fed == nil {
		return c.cases
	}
	var out [][]Word
	for _, words := range c.cases {
		words = slices.Clone(words)
		for i, w := range words {
			switch {
			case w.Kind == Glob && strings.Contains(w.Text, foundMark):
				words[i].Text = "*"
			case strings.Contains(w.Text, foundMark):
				words[i] = Word{Kind: AnyText}
			}
		}
		out = append(out, words)
	}
	return out
}
