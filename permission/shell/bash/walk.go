package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// outcome is where the shell may stand after a statement: in ok if it succeeded, in failed if not. nil: not known.
type outcome struct{ ok, failed []string }

// maxDirs is how many folders are kept apart before the folder counts as unknown.
const maxDirs = 6

func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	for _, d := range b {
		if !slices.Contains(a, d) {
			a = append(slices.Clip(a), d)
		}
	}
	if len(a) > maxDirs {
		return nil
	}
	return a
}

// stmts reads a list; each statement begins where the one before may have left the shell.
func (r *Reader) stmts(list []*syntax.Stmt) outcome {
	o := outcome{r.Dirs, r.Dirs}
	for _, s := range list {
		o = r.stmt(s, nil)
		r.Dirs = union(o.ok, o.failed)
		r.set = append(slices.Clip(r.set), assigned(s)...)
	}
	return o
}

// stmt reads one statement. redirs are those of the groups around it.
func (r *Reader) stmt(s *syntax.Stmt, redirs []Redirect) outcome {
	if r.late() {
		return outcome{}
	}
	before := r.Dirs
	redirs = r.redirects(s, redirs)
	if s.Coprocess || s.Disown {
		r.note("uses background syntax of another shell", s)
	}
	o := outcome{before, before}
	if s.Cmd != nil {
		r.opened(s, redirs)
		o = r.command(s.Cmd, s, redirs)
	} else {
		r.Add(&Command{Source: r.text(s), Redirs: redirs})
	}
	r.Dirs = before
	switch {
	case s.Background:
		return outcome{before, before}
	case s.Negated:
		return outcome{o.failed, o.ok}
	}
	return o
}

func (r *Reader) command(cmd syntax.Command, s *syntax.Stmt, redirs []Redirect) outcome {
	same := outcome{r.Dirs, r.Dirs}
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return r.call(c, s, redirs)
	case *syntax.BinaryCmd:
		return r.binary(c, redirs)
	case *syntax.Block:
		return r.group(c.Stmts, redirs)
	case *syntax.Subshell:
		r.group(c.Stmts, redirs)
		return same
	case *syntax.IfClause:
		return r.branches(c, redirs)
	case *syntax.WhileClause:
		return r.loop(redirs, c.Cond, c.Do)
	case *syntax.ForClause:
		r.forHead(c)
		set := r.set
		if loop, ok := c.Loop.(*syntax.WordIter); ok && loop.Name != nil {
			r.set = append(slices.Clip(set), loop.Name.Value)
		}
		o := r.loop(redirs, c.Do)
		r.set = set
		return o
	case *syntax.CaseClause:
		return r.cases(c, redirs)
	case *syntax.TimeClause:
		return r.time(c, redirs)
	case *syntax.TestClause:
		r.test(c)
	case *syntax.FuncDecl:
		r.note("defines a function", c)
		r.within(Function, func() {
			r.Dirs = nil
			r.stmt(c.Body, redirs)
		})
		return outcome{} // its caller may be anywhere then
	case *syntax.CoprocClause:
		r.note("starts a coprocess", c)
		if strings.Contains(r.source, "\\\n") && strings.Contains(r.source, "#") {
			r.Err = odd("a coprocess with a comment") // which the parser does not tell of
		}
		if c.Name != nil && !compound(c.Stmt) || r.firstWord(c.Stmt, func(word string) bool { return strings.Contains(word, "=") }) {
			r.Err = odd("a coprocess with a name or a variable") // to bash the name is the command, to the parser the variable
		}
		r.stmt(c.Stmt, redirs)
	case *syntax.DeclClause:
		r.note("declares variables", c)
		r.nested(c)
		r.declared(c, redirs)
		if slices.ContainsFunc(c.Args, func(a *syntax.Assign) bool { return a.Name == nil || moving(a.Name.Value) }) {
			return outcome{}
		}
	case *syntax.LetClause:
		r.noteHeld("evaluates arithmetic, which may run commands", c)
		r.nested(c)
		r.Add(&Command{Words: []Word{{"let", Literal}}, Source: r.text(c), Redirs: redirs})
	default: // (( … )), and what future parsers may know
		r.noteHeld("evaluates arithmetic, which may run commands", c)
		r.nested(c)
		r.Add(&Command{Words: []Word{{"((", Literal}}, Source: r.text(c), Redirs: redirs})
	}
	return same
}

// declared adds export, declare and their kin as a command, with what they set in front of it.
func (r *Reader) declared(c *syntax.DeclClause, redirs []Redirect) {
	cmd := &Command{Words: []Word{{c.Variant.Value, Literal}}, Source: r.text(c), Redirs: redirs}
	for _, a := range c.Args {
		set := r.assign(a)
		word := set.Value
		switch {
		case a.Naked && a.Name != nil:
			word = Word{set.Name, Literal}
		case a.Name != nil:
			cmd.Prefix = append(cmd.Prefix, set)
			word.Text = set.Name + "=" + word.Text
		}
		cmd.Words = append(cmd.Words, word)
	}
	r.Add(cmd)
}

// group reads the statements of { … } and ( … ).
func (r *Reader) group(list []*syntax.Stmt, redirs []Redirect) outcome {
	before := r.Dirs
	o := outcome{before, before}
	for _, s := range list {
		o = r.stmt(s, redirs)
		r.Dirs = union(o.ok, o.failed)
	}
	r.Dirs = before
	return o
}

// binary reads a | b | c, or a && b && c. What stands left of the last sign is a tree itself: as deep as the line is
// long, so it is gone through from its bottom up.
func (r *Reader) binary(c *syntax.BinaryCmd, redirs []Redirect) outcome {
	chain := []*syntax.BinaryCmd{c}
	for {
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || decorated(c.X) {
			break
		}
		c = left
		chain = append(chain, c)
	}
	before := r.Dirs
	defer func() { r.Dirs = before }()
	x := r.stmt(c.X, redirs)
	for _, c := range slices.Backward(chain) {
		r.Dirs = before
		x = r.right(c, x, redirs)
	}
	return x
}

// decorated reports whether there is more to a statement than its command.
func decorated(s *syntax.Stmt) bool {
	return s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) > 0
}

// right reads the right side of a sign, where x is what the left side comes to.
func (r *Reader) right(c *syntax.BinaryCmd, x outcome, redirs []Redirect) outcome {
	before := r.Dirs
	switch c.Op {
	case syntax.AndStmt:
		r.Dirs = x.ok
		set := r.set
		r.set = append(slices.Clip(set), assigned(c.X)...)
		y := r.stmt(c.Y, redirs)
		r.set = set
		return outcome{y.ok, union(x.failed, y.failed)}
	case syntax.OrStmt:
		r.Dirs = x.failed
		y := r.stmt(c.Y, redirs)
		return outcome{union(x.ok, y.ok), y.failed}
	}
	if _, timed := c.Y.Cmd.(*syntax.TimeClause); timed {
		r.Err = odd("time after a |") // to bash it is a program there
	}
	// Both sides of a pipe are shells of their own.
	r.Dirs = before
	mark := len(r.script.Commands)
	if line := r.echoed(c.X); line.Kind == Literal && prints(c.X) {
		r.stdin = &line
	}
	r.stmt(c.Y, redirs)
	r.stdin = nil
	if mark < len(r.script.Commands) && r.hooks != nil {
		r.hooks.Piped(r, r.script.Commands[mark], r.echoed(c.X))
	}
	return outcome{before, before}
}

func (r *Reader) branches(c *syntax.IfClause, redirs []Redirect) outcome {
	before := r.Dirs
	o := r.group(c.Cond, redirs)
	r.Dirs = union(o.ok, o.failed)
	o = r.group(c.Then, redirs)
	all := union(before, union(r.Dirs, union(o.ok, o.failed)))
	if c.Else != nil {
		o = r.branches(c.Else, redirs)
		all = union(all, union(o.ok, o.failed))
	}
	r.Dirs = before
	return outcome{all, all}
}

// loop reads a body that runs any number of times: where it moves, nobody knows where.
func (r *Reader) loop(redirs []Redirect, parts ...[]*syntax.Stmt) outcome {
	before := r.Dirs
	for _, p := range parts {
		if moves(p) {
			before = nil
		}
	}
	for _, p := range parts {
		r.Dirs = before
		r.group(p, redirs)
	}
	r.Dirs = before
	return outcome{before, before}
}

// moves reports whether a command that changes the folder stands anywhere in list.
func moves(list []*syntax.Stmt) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			if _, apart := n.(*syntax.Subshell); apart {
				return false
			}
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				name, plain := plainLiteral(c.Args[0]) // \cd and {cd,..} are no plain words
				found = found || !plain && c.Args[0].Lit() != "[" || name == "cd" || slices.Contains(ChangesShellState, name)
			}
			return !found
		})
	}
	return found
}

// ChangesShellState are the builtins after which the shell may stand anywhere, now or later: they run texts or functions in
// the shell itself, or change how it reads a cd.
var ChangesShellState = strings.Fields("pushd popd builtin command eval . source trap alias enable mapfile readarray shopt set")

// forHead reads for NAME in WORDS. The name is assigned to, so only names that mean nothing to any program pass.
func (r *Reader) forHead(c *syntax.ForClause) {
	loop, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || loop.Name == nil {
		if c.Select {
			r.note("has a select", c)
		} else {
			r.noteHeld("has a C-style for loop", c)
		}
		r.nested(c.Loop)
		return
	}
	if !IsScratchVar(loop.Name.Value) {
		r.note("assigns the variable "+loop.Name.Value, loop)
	}
	var globs []Word
	for _, w := range loop.Items {
		r.nested(w)
		for _, word := range r.words(w) {
			switch word.Kind {
			case Unknown:
				r.noteHeld("loops over unknown words", w)
			case Glob:
				globs = append(globs, word)
			}
		}
	}
	if len(globs) > 0 { // whatever is done with the names, the directory is listed here
		r.Add(&Command{Source: "for " + r.text(loop), Globs: globs})
	}
}

func (r *Reader) cases(c *syntax.CaseClause, redirs []Redirect) outcome {
	before := r.Dirs
	all := before
	r.nested(c.Word)
	if r.word(c.Word).Kind == Unknown && !oneText(c.Word.Parts) {
		r.noteHeld("depends on an unknown value", c.Word)
	}
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			r.nested(p)
			if r.word(p).Kind == Unknown {
				r.noteHeld("depends on an unknown pattern", p)
			}
		}
		r.Dirs = all
		o := r.group(item.Stmts, redirs)
		all = union(all, union(o.ok, o.failed))
	}
	r.Dirs = before
	return outcome{all, all}
}

// time reads the keyword: a wrapper, although no command of its own.
func (r *Reader) time(c *syntax.TimeClause, redirs []Redirect) outcome {
	wrapper := &Command{Words: []Word{{"time", Literal}}, Source: r.text(c), Redirs: redirs, Keyword: true}
	if c.PosixFormat {
		wrapper.Words = append(wrapper.Words, Word{"-p", Literal})
	}
	r.Add(wrapper)
	if c.Stmt == nil {
		return outcome{r.Dirs, r.Dirs}
	}
	if r.firstWord(c.Stmt, func(word string) bool { return word == "--" }) {
		r.Err = odd("time --") // to the parser it is a command
	}
	outer := r.by
	r.by = wrapper
	defer func() { r.by = outer }()
	return r.stmt(c.Stmt, redirs)
}

// firstWord reports whether something is true of the word, as it is written, that a simple command or a pipe begins with.
func (r *Reader) firstWord(s *syntax.Stmt, is func(word string) bool) bool {
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return r.firstWord(c.X, is)
	case *syntax.CallExpr:
		return len(c.Args) > 0 && is(r.text(c.Args[0]))
	}
	return false
}

// compound reports whether a statement is one that bash lets a coprocess have a name for.
func compound(s *syntax.Stmt) bool {
	switch s.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		return true
	}
	return false
}

// within reads something that stands in a place of its own.
func (r *Reader) within(p Place, read func()) {
	place, dirs, set := r.Place, r.Dirs, r.set
	if r.Place == Plain || p == Function {
		r.Place = p
	}
	read()
	r.Place, r.Dirs, r.set = place, dirs, set
}

// nested reads the commands in the substitutions of a node.
func (r *Reader) nested(n syntax.Node) {
	if w, ok := n.(*syntax.Word); ok {
		if _, ok := plainLiteral(w); ok {
			return
		}
	}
	top := n
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ExtGlob: // its pattern is not looked into; and where it is none to bash, bash stops there and goes on somewhere
			if _, test := top.(*syntax.TestClause); !test || !Only(n.Pattern.Value, &patternSet) {
				r.Err = odd("a pattern with brackets")
			}
		case *syntax.DblQuoted: // bash takes a quote in "`…`" for the end of the text, and expands the braces behind it
			if slices.ContainsFunc(n.Parts, backquoted) && strings.Contains(r.text(top), "{") {
				r.Err = odd("a brace near back quotes in a text")
			}
		case *syntax.CmdSubst:
			if n.Backquotes && strings.IndexByte(r.text(n), '\\') >= 0 { // bash takes some of them away first, within '…' too
				r.Err = odd("a backslash in back quotes")
			}
			r.substituted(n, n.Stmts)
			return false
		case *syntax.ProcSubst:
			if len(n.Stmts) == 0 {
				r.Err = odd("an empty substitution") // it is no word at all
			}
			r.noteHeld("substitutes a process", n)
			r.substituted(n, n.Stmts)
			return false
		}
		return true
	})
}

// substituted reads the statements of $(…) or <(…). Bash 5.2 writes them again, and loses the first ; behind a
// here-document: two commands become one.
func (r *Reader) substituted(n syntax.Node, list []*syntax.Stmt) {
	syntax.Walk(n, func(inner syntax.Node) bool {
		if _, ok := inner.(*syntax.CoprocClause); ok {
			r.Err = odd("a coprocess in a substitution") // written again, its name is the command
		}
		d, ok := inner.(*syntax.Redirect)
		if !ok || d.Op != syntax.Hdoc && d.Op != syntax.DashHdoc {
			return true
		}
		if d.Hdoc == nil || strings.TrimSpace(r.source[min(d.Hdoc.End().Offset(), n.End().Offset()-1):n.End().Offset()-1]) != "" {
			r.Err = odd("what follows a here-document in a substitution")
		}
		return true
	})
	r.within(Substitution, func() { r.stmts(list) })
}

func backquoted(p syntax.WordPart) bool {
	c, ok := p.(*syntax.CmdSubst)
	return ok && c.Backquotes
}

// call reads a simple command.
func (r *Reader) call(c *syntax.CallExpr, s *syntax.Stmt, redirs []Redirect) outcome {
	cmd := &Command{Source: r.text(s), Redirs: redirs, Stdin: r.stdin, around: len(redirs) - len(s.Redirs)}
	r.stdin = nil
	for _, a := range c.Assigns {
		cmd.Prefix = append(cmd.Prefix, r.assign(a))
		r.nested(a)
	}
	cmd.Words = make([]Word, 0, len(c.Args))
	for _, w := range c.Args {
		if s, ok := plainLiteral(w); ok {
			cmd.Words = append(cmd.Words, Word{s, Literal})
			continue
		}
		r.nested(w)
		cmd.Words = append(cmd.Words, r.words(w)...)
	}
	if len(cmd.Words) > 0 && cmd.Words[0].Kind == Literal {
		cmd.Cases, cmd.Sure = r.filled(c.Args...)
	}
	r.Add(cmd)
	before := r.Dirs
	if r.hooks != nil {
		r.hooks.Unwrap(r, cmd)
	}
	r.Dirs = before
	return r.moved(cmd)
}

func (r *Reader) assign(a *syntax.Assign) Assign {
	out := Assign{Odd: a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil}
	if a.Name != nil {
		out.Name = a.Name.Value
		if out.Name == "" || strings.Trim(out.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			r.Err = odd("the name of a variable") // to bash it is a command
		}
	}
	out.Value = r.word(a.Value)
	return out
}

// Add takes a command into the script, with where it stands.
func (r *Reader) Add(c *Command) {
	c.Place, c.Dirs, c.Start = r.Place, r.Dirs, r.options.Dir
	if c.By == nil {
		c.By = r.by
	}
	c.MayRun = c.MayRun || r.guess
	c.Program = c.Base()
	r.script.Commands = append(r.script.Commands, c)
}

// echoed is what an echo prints; unknown if it is none.
func (r *Reader) echoed(s *syntax.Stmt) Word {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 {
		return Word{r.text(s), Unknown}
	}
	if name := call.Args[0].Lit(); name != "echo" && name != "printf" {
		return Word{r.text(s), Unknown}
	}
	var words []Word
	for _, w := range call.Args[1:] {
		words = append(words, r.words(w)...)
	}
	return Join(words)
}

// prints reports whether echo or printf prints the words of a statement as they are: no flags, escapes or formats.
func prints(s *syntax.Stmt) bool {
	call := s.Cmd.(*syntax.CallExpr)
	first, ok := plainLiteral(call.Args[0])
	word, quoted := wholeQuote(call.Args[1])
	if lit, plain := plainLiteral(call.Args[1]); plain {
		word, quoted = lit, true
	}
	return ok && quoted && !decorated(s) && len(call.Assigns) == 0 && !strings.HasPrefix(word, "-") && !slices.ContainsFunc(call.Args, escaped) &&
		(first == "echo" || len(call.Args) == 2 && !strings.Contains(word, "%"))
}

// escaped reports whether a word holds a backslash.
func escaped(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			found = found || strings.Contains(n.Value, `\`)
		case *syntax.SglQuoted:
			found = found || strings.Contains(n.Value, `\`)
		}
		return !found
	})
	return found
}
