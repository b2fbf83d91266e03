package shell

import (
	"slices"
	"strings"
)

// findNames are the names that files have for which something is true: patterns; nil for any.
type findNames []string

// or are the names of files for which one or the other is true.
func (n findNames) or(other findNames) findNames {
	if n == nil || other == nil {
		return nil
	}
	return slices.Concat(n, other)
}

// String are the patterns with a slash between two, "*" for any name.
func (n findNames) String() string {
	if s := joinPatterns(n); s != "" {
		return s
	}
	return "*"
}

// findExpression is what find makes of its words: which names the files have that it prints or gives to -exec.
type findExpression struct {
	words        []Word
	lines, nulls bool // it prints names with line ends behind them, or NULs
	acts         bool // it does something other than print all for which the whole is true
	whole        findNames
	prints, runs findNames // where it acts
	begun        [2]bool   // whether these two hold something
}

// findExpression reads the words of find: where it starts, and what it does there.
func (c *Command) findExpression() (starts []Word, e *findExpression) {
	words := c.Words[1:]
	for len(words) > 0 && (words[0].Text == "-H" || words[0].Text == "-P") {
		words = words[1:]
	}
	for len(words) > 0 && !isFindTest(words[0].Text) {
		starts = append(starts, words[0])
		words = words[1:]
	}
	if len(starts) == 0 {
		starts = []Word{{".", Literal}}
	}
	e = &findExpression{words: words}
	e.whole = e.either(nil)
	if len(e.words) > 0 { // a comma, or a bracket too many
		e.whole, e.prints, e.runs = nil, nil, nil
	}
	e.lines = e.lines || !e.acts
	return starts, e
}

// printed are the names that it prints.
func (e *findExpression) printed() string {
	if !e.acts {
		return e.whole.String()
	}
	return e.prints.String()
}

// ran are the names that -exec is given.
func (e *findExpression) ran() string { return e.runs.String() }

// either reads A -o B, where held is true of every file that gets there.
func (e *findExpression) either(held findNames) findNames {
	n := e.both(held)
	for e.next("-o", "-or") {
		n = n.or(e.both(held))
	}
	return n
}

// both reads A -a B: B is asked only where A is true.
func (e *findExpression) both(held findNames) findNames {
	for len(e.words) > 0 && !slices.Contains([]string{"-o", "-or", ")", ","}, e.words[0].Text) {
		if n := e.one(held); n != nil {
			held = n
		}
	}
	return held
}

func (e *findExpression) one(held findNames) findNames {
	test := e.words[0]
	e.words = e.words[1:]
	switch test.Text {
	case "!", "-not":
		if len(e.words) > 0 {
			e.one(held)
		}
		return nil
	case "(":
		n := e.either(held)
		if !e.next(")") {
			e.words = append(slices.Clip(e.words), Word{")", Literal}) // so that something is left
		}
		return n
	case "-exec":
		end := execEnd(e.words, -1)
		e.words = e.words[min(end+1, len(e.words)):]
		e.act(&e.runs, 1, held)
		return nil
	case "-print", "-print0":
		e.lines, e.nulls = e.lines || test.Text == "-print", e.nulls || test.Text == "-print0"
		e.act(&e.prints, 0, held)
		return nil
	}
	values := min(findValues(test.Text), len(e.words))
	value := ""
	if values > 0 {
		value = e.words[0].Text
	}
	e.words = e.words[values:]
	switch test.Text {
	case "-name", "-iname":
		return findNames{value}
	case "-path", "-ipath", "-wholename", "-iwholename":
		if end := value[strings.LastIndexAny(value, "*?[]\\/")+1:]; end != "" {
			return findNames{"*" + end}
		}
	}
	return nil
}

// act takes note of something that is done with every file for which held is true.
func (e *findExpression) act(to *findNames, n int, held findNames) {
	e.acts = true
	if !e.begun[n] {
		e.begun[n], *to = true, held
		return
	}
	*to = to.or(held)
}

// next takes the next word if it is one of these.
func (e *findExpression) next(names ...string) bool {
	if len(e.words) == 0 || !slices.Contains(names, e.words[0].Text) {
		return false
	}
	e.words = e.words[1:]
	return true
}
