package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// outcome is the directories that the shell may be in after a statement: if it succeeded, and in any case. nil:
// unknown.
type outcome struct{ ok, all []string }

// maxDirs is the number of directories beyond which the directory counts as unknown.
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

// stmts reads a list. Each statement starts in the directories that the one before may have left the shell in.
func (r Reader) stmts(list []*syntax.Stmt) outcome {
	next, o := r, outcome{r.Dirs, r.Dirs}
	for _, s := range list {
		o = next.stmt(s)
		next.Dirs = o.all
	}
	return o
}

func (r Reader) stmt(s *syntax.Stmt) outcome {
	if r.Err != nil {
		return outcome{}
	}
	o := r.command(s)
	switch {
	case s.Background:
		return outcome{r.Dirs, r.Dirs}
	case s.Negated:
		return outcome{o.all, o.all}
	}
	return o
}

// command reads a statement without its ! and &.
func (r Reader) command(s *syntax.Stmt) outcome {
	call, simple := s.Cmd.(*syntax.CallExpr)
	if simple {
		return r.call(call, s)
	}
	own := r.redirects(s)
	r.redirs = append(slices.Clip(r.redirs), own...)
	r.addOpened(s, own)
	same := outcome{r.Dirs, r.Dirs}
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		return r.binary(c)
	case *syntax.Block:
		return r.stmts(c.Stmts)
	case *syntax.Subshell:
		r.stmts(c.Stmts)
	case *syntax.IfClause:
		return r.branches(c)
	case *syntax.WhileClause:
		return r.loop(c.Cond, c.Do)
	case *syntax.ForClause:
		return r.forLoop(c)
	case *syntax.CaseClause:
		return r.cases(c)
	case *syntax.TimeClause:
		return r.time(c)
	case *syntax.TestClause:
		r.test(c)
	case *syntax.FuncDecl:
		r.note("defines a function", c)
		r.Place, r.Dirs = Function, nil
		r.stmt(c.Body)
		return outcome{} // its caller may be anywhere
	case *syntax.CoprocClause:
		r.Err = odd("a coprocess") // to bash, a name or a variable after it may be the command
	case *syntax.DeclClause:
		return r.declaration(c)
	default: // let, (( … )), and syntax of future parsers
		r.note("evaluates arithmetic, which may run commands", c)
		r.nested(c)
		name := "(("
		if _, ok := c.(*syntax.LetClause); ok {
			name = "let"
		}
		r.Add(&Command{Words: []Word{{name, Literal}}, Source: r.text(c), Redirs: r.redirs})
	}
	return same
}

// declaration reads export, declare and the like as a command with assignments before it.
func (r Reader) declaration(c *syntax.DeclClause) outcome {
	r.note("declares variables", c)
	r.nested(c)
	cmd := &Command{Words: []Word{{c.Variant.Value, Literal}}, Source: r.text(c), Redirs: r.redirs}
	o := outcome{r.Dirs, r.Dirs}
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
		if a.Name == nil && word != (Word{"-x", Literal}) && word != (Word{"-r", Literal}) || a.Name != nil &&
			moving(a.Name.Value) {
			o = outcome{}
		}
	}
	r.Add(cmd)
	return o
}

// binary reads a | b | c, or a && b && c. The left side of the last operator is a tree as deep as the line is long, so
// it is read from the bottom up.
func (r Reader) binary(c *syntax.BinaryCmd) outcome {
	chain := []*syntax.BinaryCmd{c}
	for {
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || decorated(c.X) {
			break
		}
		c = left
		chain = append(chain, c)
	}
	x := r.stmt(c.X)
	for _, c := range slices.Backward(chain) {
		x = r.right(c, x)
	}
	return x
}

// decorated reports whether a statement has more than its command: !, & or redirections.
func decorated(s *syntax.Stmt) bool {
	return s.Negated || s.Background || len(s.Redirs) > 0
}

// right reads the right side of an operator. x is the outcome of the left side.
func (r Reader) right(c *syntax.BinaryCmd, x outcome) outcome {
	switch c.Op {
	case syntax.AndStmt:
		r.Dirs = x.ok
		y := r.stmt(c.Y)
		return outcome{y.ok, union(x.all, y.all)}
	case syntax.OrStmt:
		r.Dirs = x.all
		y := r.stmt(c.Y)
		return outcome{union(x.ok, y.ok), union(x.all, y.all)}
	}
	if _, timed := c.Y.Cmd.(*syntax.TimeClause); timed {
		r.Err = odd("time after a |") // to bash it is a program there
	}
	// Both sides of a pipe run in subshells.
	right := r
	right.stdin = &Word{Kind: Unknown}
	if call, ok := c.X.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 &&
		(call.Args[0].Lit() == "echo" || call.Args[0].Lit() == "printf") {
		right.stdin.Text = strings.ReplaceAll(r.text(c.X), `\n`, "\n") // a text that may contain it
	}
	right.stmt(c.Y)
	return outcome{r.Dirs, r.Dirs}
}

// branches reads an if.
func (r Reader) branches(c *syntax.IfClause) outcome {
	all := r.Dirs
	r.Dirs = r.stmts(c.Cond).all
	all = union(all, union(r.Dirs, r.stmts(c.Then).all))
	if c.Else != nil {
		all = union(all, r.branches(c.Else).all)
	}
	return outcome{all, all}
}

// loop reads a body that runs any number of times. If it changes the directory, the directory is unknown.
func (r Reader) loop(parts ...[]*syntax.Stmt) outcome {
	before, dirs := r.script, r.Dirs
	for _, p := range parts {
		dirs = union(dirs, r.stmts(p).all)
	}
	if slices.Equal(dirs, r.Dirs) && (dirs == nil) == (r.Dirs == nil) {
		return outcome{dirs, dirs}
	}
	r.script, r.Dirs = before, nil
	return r.loop(parts...)
}

// forLoop reads for NAME in WORDS.
func (r Reader) forLoop(c *syntax.ForClause) outcome {
	loop, ok := c.Loop.(*syntax.WordIter)
	switch {
	case c.Select:
		r.note("has a select", c)
	case !ok:
		r.note("has a C-style for loop", c)
		r.nested(c.Loop)
		return r.loop(c.Do)
	case !scratchName().MatchString(loop.Name.Value):
		r.note("assigns the variable "+loop.Name.Value, loop)
	}
	words := []Word{}
	for _, w := range loop.Items {
		r.nested(w)
		if r.build(w).odd {
			r.note("loops over unknown words", w)
		}
		words = append(words, r.word(w))
	}
	r.Add(&Command{Source: "for " + r.text(loop), Values: words})
	return r.loop(c.Do)
}

// scratchName matches names of variables without a meaning to the shell or a program.
var scratchName = lazy.Regexp(`^([a-z][a-z0-9]{0,7}|[A-Z]|DIR|FILE|NAME)$`)

// cases reads a case.
func (r Reader) cases(c *syntax.CaseClause) outcome {
	r.nested(c.Word)
	if r.build(c.Word).odd {
		r.note("depends on an unknown value", c.Word)
	}
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			r.nested(p)
			if r.word(p).Kind == Unknown {
				r.note("depends on an unknown pattern", p)
			}
		}
		r.Dirs = union(r.Dirs, r.stmts(item.Stmts).all)
	}
	return outcome{r.Dirs, r.Dirs}
}

// time reads the keyword, which is a wrapper.
func (r Reader) time(c *syntax.TimeClause) outcome {
	wrapper := &Command{Words: []Word{{"time", Literal}}, Source: r.text(c), Redirs: r.redirs, Keyword: true}
	r.Add(wrapper)
	if c.Stmt == nil {
		return outcome{r.Dirs, r.Dirs}
	}
	if strings.HasPrefix(strings.ReplaceAll(r.text(c.Stmt), "\\\n", ""), "--") {
		r.Err = odd("time --") // to the parser it is a command
	}
	r.by = wrapper
	return r.stmt(c.Stmt)
}

// nested reads the commands in the substitutions of a node.
func (r Reader) nested(n syntax.Node) {
	_, inTest := n.(*syntax.TestClause)
	top := n
	syntax.Walk(n, func(n syntax.Node) bool {
		r.checkPart(n, r.text(top), inTest)
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.substituted(n, n.Stmts)
			return false
		case *syntax.ProcSubst:
			r.note("substitutes a process", n)
			r.substituted(n, n.Stmts)
			return false
		}
		return true
	})
}

// substituted reads the statements of $(…) or <(…).
func (r Reader) substituted(n syntax.Node, list []*syntax.Stmt) {
	r.checkSubstitution(n)
	if r.redirs, r.stdin = nil, nil; r.Place == Plain {
		r.Place = Substitution
	}
	r.stmts(list)
}
