package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a command prints may be taken into a word by $(…). A harmless command is so there too, and what it prints is not
// known; so such a word only stands where any text will do: behind echo, printf and basename, where test compares, in
// [[ … ]] and case, and as the value of a variable that is used in such places.

// isCapturedOutput reports whether a word is made of texts, of what commands print and of plain variables that are welcome.
func isCapturedOutput(parts []syntax.WordPart, allowed func(name string) bool) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.CmdSubst:
			if p.TempFile || p.ReplyVar {
				return false
			}
		case *syntax.ParamExp:
			if !plainParam(p) || !allowed(p.Param.Value) {
				return false
			}
		case *syntax.DblQuoted:
			if p.Dollar || !isCapturedOutput(p.Parts, allowed) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func anyName(string) bool { return true }

func isPublicVar(name string) bool { return publicVars[name] }

// command reads $(…): a text, if any text will do. Without quotes it would be taken apart, and a star in it be looked
// up, so it must come from a command that prints none, and only be printed: to test, no word is another word.
func (b *builder) command(p *syntax.CmdSubst, quoted bool) {
	b.started = true
	if b.binding != nil && b.acceptsAnyText && !p.TempFile && !p.ReplyVar && (quoted || b.printsArgs && printsPlainly(p)) {
		b.one = true
		return
	}
	b.unknown = true
}

// lastCall is the command whose output $(…) stands for, alone or behind a pipe; nil if it is more than a command. Files
// that it reads as its input are no more.
func lastCall(p *syntax.CmdSubst) *syntax.CallExpr {
	if len(p.Stmts) != 1 {
		return nil
	}
	last := p.Stmts[0]
	if pipe, ok := last.Cmd.(*syntax.BinaryCmd); ok && pipe.Op == syntax.Pipe && !decorated(last) {
		last = pipe.Y
	}
	for _, d := range last.Redirs {
		if d.Op != syntax.RdrIn || d.N != nil {
			return nil
		}
	}
	call, ok := last.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || last.Negated || last.Background || last.Coprocess || last.Disown {
		return nil
	}
	return call
}

// printsPlainly reports whether what stands in $(…) prints numbers and names alone.
func printsPlainly(p *syntax.CmdSubst) bool {
	call := lastCall(p)
	if call == nil {
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
	return name == "echo" || name == "printf" || name == "test" || name == "[" || specs[name].anyText()
}

// reads are the variables that read NAME… gives what it reads to; ok is false where it does more than that.
func reads(words []Word) (names []string, ok bool) {
	for _, w := range words {
		switch {
		case w.Kind != Literal:
			return nil, false
		case w.Text == "-r" && len(names) == 0:
		case !isScratchVar(w.Text):
			return nil, false
		default:
			names = append(names, w.Text)
		}
	}
	return names, len(names) > 0
}

// checkRead lets read -r NAME… pass: a name with an index would be calculated.
func checkRead(a *args) string {
	_, ok := reads(a.operands)
	return when(!ok, "read is on the read-only list only with -r and plain names")
}

// plainWords are the words of a call, if all of them are plain texts.
func plainWords(args []*syntax.Word) ([]Word, bool) {
	words := make([]Word, len(args))
	for i, w := range args {
		text, ok := plainLiteral(w)
		if !ok {
			return nil, false
		}
		words[i] = Word{text, Literal}
	}
	return words, true
}

// items are the words that a loop goes over. $(seq 1 5) is known.
func (r *reader) items(w *syntax.Word) []Word {
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.CmdSubst); ok && len(p.Stmts) == 1 && !decorated(p.Stmts[0]) {
			if call, ok := p.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(call.Assigns) == 0 {
				if words := counted(call.Args); words != nil {
					return words
				}
			}
		}
	}
	return r.words(w)
}

// counted are the numbers that seq N and seq FROM TO print; nil if it is not that, or too many.
func counted(args []*syntax.Word) []Word {
	words, ok := plainWords(args)
	if !ok || len(words) < 2 || len(words) > 3 || words[0].Text != "seq" {
		return nil
	}
	from, to := 1, 0
	for i, at := range []*int{&to, &from}[:len(words)-1] {
		n, err := strconv.Atoi(words[len(words)-1-i].Text)
		if err != nil || n < 0 || n > 1<<20 {
			return nil
		}
		*at = n
	}
	if to < from || to-from >= maxCases {
		return nil
	}
	var out []Word
	for n := from; n <= to; n++ {
		out = append(out, Word{strconv.Itoa(n), Literal})
	}
	return out
}

// readsPipes reports whether a command only reads the files among its words, so that one may be <(…): what a harmless
// command prints, and no file.
func readsPipes(args []*syntax.Word) bool {
	if len(args) < 2 {
		return false
	}
	switch args[0].Lit() {
	case "diff", "comm", "cmp", "cat", "grep", "wc", "sort", "paste", "join", "head", "tail":
		return true
	}
	return false
}

// isPipe reports whether a word is <(…) and nothing more.
func isPipe(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	p, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok && p.Op == syntax.CmdIn
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
