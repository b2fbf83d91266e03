package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a command prints may be taken into a word by $(…). A harmless command is so there too, and what it prints is not
// known; so such a word only stands where any text will do: behind echo and printf, where test compares, in [[ … ]] and
// case, and as the value of a variable that is used in such places.

// tells reports whether a word is made of texts, of what commands print and of plain variables that are welcome.
func tells(parts []syntax.WordPart, welcome func(name string) bool) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.CmdSubst:
			if p.TempFile || p.ReplyVar {
				return false
			}
		case *syntax.ParamExp:
			if !plainParam(p) || !welcome(p.Param.Value) {
				return false
			}
		case *syntax.DblQuoted:
			if p.Dollar || !tells(p.Parts, welcome) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func anyName(string) bool { return true }

func isAmbient(name string) bool { return ambient[name] }

// command reads $(…): a text, if any text will do. Without quotes it would be taken apart, and a star in it be looked
// up, so it must come from a command that prints none.
func (b *builder) command(p *syntax.CmdSubst, quoted bool) {
	b.started = true
	if b.binding != nil && b.takes && !p.TempFile && !p.ReplyVar && (quoted || b.prints && printsPlainly(p)) {
		b.one = true
		return
	}
	b.unknown = true
}

// printsPlainly reports whether what stands in $(…) prints numbers and names alone.
func printsPlainly(p *syntax.CmdSubst) bool {
	if len(p.Stmts) != 1 || decorated(p.Stmts[0]) {
		return false
	}
	last := p.Stmts[0]
	if pipe, ok := last.Cmd.(*syntax.BinaryCmd); ok && pipe.Op == syntax.Pipe && !decorated(pipe.Y) {
		last = pipe.Y
	}
	call, ok := last.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	for i, w := range call.Args {
		text, plain := plainLiteral(w)
		switch {
		case !plain:
			return false
		case i == 0 && !slices.Contains([]string{"date", "uname", "nproc", "whoami", "hostname", "id", "arch", "wc"}, text):
			return false
		case i > 0 && call.Args[0].Lit() == "wc" && !strings.HasPrefix(text, "-"):
			return false // it prints the names of files
		}
	}
	return true
}

// takesText reports whether any text will do for the words of a command.
func takesText(name string) bool {
	return name == "echo" || name == "printf" || name == "test" || name == "["
}

// substitutes reports whether a word holds $(…).
func substitutes(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		_, is := n.(*syntax.CmdSubst)
		found = found || is
		return !found
	})
	return found
}
