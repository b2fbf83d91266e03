// Package outline lists the declarations of source files without a language server: line by line, with the
// expressions of languages.txt. What it misses in an unusual layout is a matter of convenience: an outline is for
// finding the part of a file to read.
package outline

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Declaration is a declaration in a source file.
type Declaration struct {
	Line  int    // counted from 1
	Depth int    // how many declarations contain it
	Kind  string // a word of its language, such as func
	Name  string // with the receiver of a method in Go
	Minor bool   // a constant, variable or macro
}

const (
	maxSource       = 2 << 20 // bytes of a source file; longer ones are generated
	maxDeclarations = 50_000
	maxName         = 80      // bytes; a longer name is omitted, because a part of a name can be a part of a secret
	maxColumns      = 400     // bytes of a line that are searched for a declaration
	maxSearched     = 1 << 20 // bytes of such lines; those in functions don't count
)

// Of returns the declarations of a file, in order; none if its language is unknown or it is longer than 2 MB. The name
// of the file decides about the language.
func Of(name, source string) []Declaration {
	l := languages()[strings.ToLower(filepath.Ext(name))]
	if l == nil || len(source) > maxSource {
		return nil
	}
	return l.declarations(source)
}

// outer is a declaration around a line.
type outer struct {
	indent, inside int // inside: the indentation of the last declaration in it; 0: none yet
	container      bool
}

// declarations searches source line by line.
func (l *language) declarations(source string) (all []Declaration) {
	outers := []outer{{indent: -1, container: true}} // the file
	n, searched, key := 0, 0, false
	for line := range strings.Lines(source) {
		n++
		// A line of a key could look like a declaration.
		if strings.Contains(line, "-----BEGIN ") && strings.Contains(line, "PRIVATE KEY-----") {
			key = true
		}
		if key {
			key = !strings.Contains(line, "-----END ")
			continue
		}
		code := strings.TrimRight(line[:min(len(line), maxColumns)], " \t\r\n")
		indent, depth := indentation(code), len(outers)-1
		for outers[depth].indent >= indent {
			depth--
		}
		around := &outers[depth]
		if len(code) == 0 || !around.container {
			continue
		}
		if searched += len(code); searched > maxSearched || len(all) == maxDeclarations {
			break
		}
		d, role := l.match(code, len(line) > maxColumns)
		// Something that isn't indented like the members is in something that wasn't recognized.
		if role == "" || role == "member" && (depth == 0 || around.inside != 0 && around.inside != indent) {
			continue
		}
		d.Line, d.Depth = n, depth
		all = append(all, d)
		around.inside = indent
		outers = append(outers[:depth+1], outer{indent: indent, container: role == "container"})
	}
	return all
}

// match returns the declaration in a line, and its role; "": none. A name at the end of a cut line isn't one.
func (l *language) match(code string, cut bool) (d Declaration, role string) {
	for _, p := range *l {
		m := p.expression().FindStringSubmatchIndex(code)
		if m == nil {
			continue
		}
		last := len(m) - 2
		d = Declaration{Kind: roles[p.role], Name: strings.TrimSpace(code[m[last]:m[last+1]]), Minor: p.role == "minor"}
		if last > 2 {
			d.Kind = code[m[2]:m[3]]
		} else if slices.Contains(notNames, d.Name) {
			continue
		}
		if len(d.Name) <= maxName && !(cut && m[last+1] == len(code)) {
			return d, p.role
		}
	}
	return d, ""
}

// indentation returns the columns before the first character, with tabs of four.
func indentation(line string) (columns int) {
	for _, c := range line {
		switch c {
		case ' ':
			columns++
		case '\t':
			columns += 4
		default:
			return columns
		}
	}
	return columns
}

// List returns as many declarations as fit, one per line, and how many these are: the outer ones first, and evenly
// distributed ones of the first depth that doesn't fit.
func List(all []Declaration, maxLines, maxBytes int) (text string, n int) {
	groups := map[int][]int{} // indexes of declarations
	for i, d := range all {
		rank := 2 * d.Depth
		if d.Minor {
			rank += 3 // after the members of what is beside it
		}
		groups[rank] = append(groups[rank], i)
	}
	var listed []int
	for _, rank := range slices.Sorted(maps.Keys(groups)) {
		group, size := groups[rank], 0
		for _, i := range group {
			size += len(all[i].String()) + 1
		}
		fit := min(len(group), maxLines, maxBytes*len(group)/size)
		for k := range fit {
			i := group[k*len(group)/fit]
			if maxBytes -= len(all[i].String()) + 1; maxBytes >= 0 {
				listed = append(listed, i)
			}
		}
		if maxLines -= fit; fit < len(group) {
			break
		}
	}
	slices.Sort(listed)
	var b strings.Builder
	for _, i := range listed {
		b.WriteString(all[i].String() + "\n")
	}
	return b.String(), len(listed)
}

// String returns the line number and the declaration, indented by its depth.
func (d Declaration) String() string {
	return fmt.Sprintf("%d: %s%s %s", d.Line, strings.Repeat("  ", min(d.Depth, 8)), d.Kind, d.Name)
}
