package bash

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// A line that bash and the parser, or two versions of bash, read differently is not read.

// odd returns why such a line is not read.
func odd(what string) error {
	return fmt.Errorf("%s is ambiguous between shells", what)
}

// joinedSigns are operators that joined lines may combine: & and > in two lines are &> to bash, but not to the parser.
var joinedSigns = lazy.Regexp(`[&|<>();0-9}](\\\n)[\\\n]*[&|<>();]`)

// oddComment reports whether a comment ends in a backslash, which continues it for the parser but not for bash, or
// starts in the middle of a word, as in $(ls ""#), where it is a comment only for the parser.
func oddComment(file *syntax.File, line string) (found bool) {
	if !strings.Contains(line, "#") {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			start := min(int(c.Hash.Offset()), len(line))
			text, _, _ := strings.Cut(line[start:], "\n")
			found = found || strings.HasSuffix(text, `\`) || strings.Contains(c.Text, "\n") ||
				start > 0 && strings.IndexByte(" \t\n;&|(", line[start-1]) < 0 ||
				strings.HasSuffix(line[:start], "\\\n")
		}
		return !found
	})
	return found
}

// tooDeep reports whether a line is nested too deeply for a recursive parser. Brackets in quotes count too.
func tooDeep(line string) bool {
	open := 0
	for i := range len(line) {
		switch line[i] {
		case '(', '{', '[':
			if open++; open > maxDepth {
				return true
			}
		case ')', '}', ']':
			open = max(0, open-1)
		}
	}
	return strings.Count(line, "`") > 2*maxDepth || len(openers().FindAllStringIndex(line, 8*maxDepth+1)) > 8*maxDepth
}

// openers are the words that start a compound command.
var openers = lazy.Regexp(`(?:^|[ \t\n;&|(){}!])(?:(?:if|while|until|for|case|select)\b|!)`)

// checkPart rejects ambiguous parts of words. top is the source of the word; inTest means that it is in [[ … ]].
func (r Reader) checkPart(n syntax.Node, top string, inTest bool) {
	switch n := n.(type) {
	case *syntax.ExtGlob: // its pattern isn't read, and bash may not take it for one
		if !inTest || !only(n.Pattern.Value, patternBytes) {
			r.Err = odd("a pattern with brackets")
		}
	case *syntax.DblQuoted: // a quote in "`…`" ends the text for bash, which then expands braces
		for _, p := range n.Parts {
			if c, ok := p.(*syntax.CmdSubst); ok && c.Backquotes && strings.Contains(top, "{") {
				r.Err = odd("a brace near back quotes in a text")
			}
		}
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil &&
			strings.Contains(n.Exp.Word.Lit(), "P") {
			r.Add(&Command{Words: []Word{{r.text(n), Unknown}}, Source: top}) // ${x@P} is a prompt, whatever x is
		}
	case *syntax.CmdSubst:
		if n.Backquotes && strings.Contains(r.text(n), `\`) { // bash removes some of them first, even in '…'
			r.Err = odd("a backslash in back quotes")
		}
	case *syntax.ProcSubst:
		if len(n.Stmts) == 0 {
			r.Err = odd("an empty substitution") // it isn't a word
		}
	}
}

// checkSubstitution rejects a here-document in a substitution with something after it. Bash 5.2 prints the commands of
// a substitution and reads them again, and loses the ; after a here-document: two commands become one.
func (r Reader) checkSubstitution(n syntax.Node) {
	end := n.End().Offset() - 1
	syntax.Walk(n, func(inner syntax.Node) bool {
		if d, ok := inner.(*syntax.Redirect); ok && (d.Op == syntax.Hdoc || d.Op == syntax.DashHdoc) {
			if d.Hdoc == nil || strings.TrimSpace(r.source[min(d.Hdoc.End().Offset(), end):end]) != "" {
				r.Err = odd("what follows a here-document in a substitution")
			}
		}
		return true
	})
}

// checkDocument rejects ambiguous ends of a here-document. Bash looks for the end after it has joined lines that end in
// a backslash, and in $(…) a bracket after the delimiter ends both.
func (r Reader) checkDocument(doc *syntax.Word, delimiter string, quoted bool) {
	from, to := int(doc.Pos().Offset()), min(int(doc.End().Offset()), len(r.source))
	for strings.HasSuffix(r.source[:from], "\\\n") {
		from -= 2 // the parser omits a line that is only a backslash
	}
	text := r.source[from:to]
	text = text[:strings.LastIndex(text, "\n")+1] // without the end itself
	if !quoted {
		text += strings.ReplaceAll(text, "\\\n", "")
	}
	begins := func(line string) bool {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), delimiter)
		return ok && (rest == "" || strings.ContainsAny(rest, ")`"))
	}
	if !quoted && strings.HasSuffix(text, "\\\n") || slices.ContainsFunc(strings.Split(text, "\n"), begins) {
		r.Err = odd("the end of a here-document")
	}
}
