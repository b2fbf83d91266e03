package bashlab

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/shellwords"
)

// Source makes the choices of a Generator. A *rand.Rand is one, and the choices of a property test can be.
type Source interface{ IntN(n int) int }

// Pick returns one of several values.
func Pick[T any](s Source, from []T) T { return from[s.IntN(len(from))] }

// Generator makes up lines of bash. Its methods return a new line each.
type Generator struct {
	source            Source
	harmless, attacks []string
	programs          []string // of the read-only list
	words             []string // of the corpus
	depth             int      // how many parts may still be nested
	inner, end        string   // of the command and the here-document that are being written
}

// NewGenerator returns a generator that takes whole lines and words from a corpus, and the rest from its grammar.
func NewGenerator(s Source, c Corpus) *Generator {
	g := &Generator{source: s, programs: slices.Sorted(maps.Keys(Flags()))}
	for _, l := range c.Harmless {
		g.harmless = append(g.harmless, l.Text)
	}
	for _, l := range c.Attacks {
		if l.Harmful {
			g.attacks = append(g.attacks, l.Text)
		}
	}
	for _, line := range slices.Concat(g.harmless, g.attacks) {
		g.words = append(g.words, strings.Fields(line)...)
	}
	return g
}

// Syntax returns a line that is rich in what readers of bash get wrong.
func (g *Generator) Syntax() string {
	line := g.line("syntax", 24)
	if g.source.IntN(3) > 0 {
		return line
	}
	for range 1 + g.source.IntN(3) {
		line = g.distort(line)
	}
	return line
}

// Command returns a line of read-only programs with flags and operands that may be traps, or of the corpus. About half
// of the lines are changed somewhere.
func (g *Generator) Command() string {
	switch g.source.IntN(12) {
	case 0:
		return g.change(Pick(g.source, g.attacks))
	case 1:
		return g.change(Pick(g.source, g.harmless) + g.line("sign", 9) + Pick(g.source, g.harmless))
	case 2:
		return g.change(Pick(g.source, g.harmless) + g.line("sign", 9) + Pick(g.source, g.attacks))
	case 3, 4, 5:
		return g.change(Pick(g.source, g.harmless))
	}
	line := g.line("frame", 9)
	if g.source.IntN(3) == 0 {
		line = g.change(line)
	}
	return line
}

// Flow returns a line in which it matters what ran before: which variables are set, and where the shell is. A path
// behind a variable that an else or || leaves unset was once judged as if it were set.
func (g *Generator) Flow() string { return g.line("flow", 8) }

// Nest returns a line that runs another one.
func (g *Generator) Nest(line string) string {
	g.inner = line
	return g.line("nest", 9)
}

// line makes a part of the grammar, with at most so many parts in each other.
func (g *Generator) line(name string, depth int) string {
	g.depth = depth
	return g.part(name)
}

// part makes a part of a line: one of the grammar, or one that depends on others.
func (g *Generator) part(name string) string {
	g.depth--
	defer func() { g.depth++ }()
	how, of, _ := strings.Cut(name, " ")
	switch {
	case name == "attack":
		return Pick(g.source, g.attacks)
	case name == "harmless":
		return Pick(g.source, g.harmless)
	case name == "call":
		return g.call()
	case name == "flow line":
		defer func(depth int) { g.depth = depth }(g.depth)
		return g.Flow()
	case name == "inner":
		return g.inner
	case name == "end":
		return g.end
	case name == "here":
		return g.document()
	case how == "quote":
		return shellwords.Quote(g.part(of))
	case how == "escape":
		return strings.ReplaceAll(g.part(of), "`", "\\`")
	case how == "spell":
		return g.Spell(g.part(of))
	}
	forms, ok := grammar[name]
	if !ok {
		panic("the grammar has no part " + name)
	}
	if g.depth < 0 { // only forms without parts, or the first
		plain := slices.DeleteFunc(slices.Clone(forms), func(form string) bool { return strings.Contains(form, "«") })
		forms = append(plain, forms[0])[:max(1, len(plain))]
	}
	return g.fill(Pick(g.source, forms))
}

// fill makes the parts that a form names.
func (g *Generator) fill(form string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(form, "«")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, _ := strings.Cut(after, "»")
		b.WriteString(g.part(name))
		form = rest
	}
}

// document makes a command with a here-document, and one behind it.
func (g *Generator) document() string {
	defer func(end string) { g.end = end }(g.end)
	delimiter := g.part("delimiter")
	g.end = strings.NewReplacer("'", "", `"`, "", "\\\n", "", `\`, "").Replace(delimiter)
	return g.part("document start") + delimiter + g.part("after delimiter") + "\n" + g.part("document lines") +
		g.part("document end") + "\n" + g.part("simple")
}

// call makes a call of a read-only program.
func (g *Generator) call() string {
	if g.source.IntN(8) == 0 {
		return Pick(g.source, g.harmless)
	}
	name := Pick(g.source, g.programs)
	parts := []string{g.maybeSpell(name)}
	for range g.source.IntN(4) {
		parts = append(parts, g.flag(name))
	}
	for range g.source.IntN(4) {
		parts = append(parts, g.part("operand"))
	}
	if g.source.IntN(6) == 0 { // a flag can also follow operands
		parts = append(parts, g.flag(name))
	}
	return strings.Join(parts, " ")
}

// flag makes a flag of a program, alone, with a value, or with another letter that may mean something else.
func (g *Generator) flag(name string) string {
	flags := Flags()[name]
	if len(flags) == 0 {
		return g.part("operand")
	}
	base, valued := strings.CutSuffix(Pick(g.source, flags), " VALUE")
	base, optional, _ := strings.Cut(base, "[")
	short := len(base) == 2
	switch {
	case short && g.source.IntN(4) == 0:
		const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		return g.maybeSpell(base + string(letters[g.source.IntN(len(letters))]))
	case optional != "" && short, valued && short && g.source.IntN(2) == 0:
		return base + g.part("operand")
	case optional != "", valued && g.source.IntN(2) == 0:
		return base + "=" + g.part("operand")
	case valued:
		return base + " " + g.part("operand")
	}
	return g.maybeSpell(base)
}

// maybeSpell writes one plain word of ten in another way. One of its ways is a list in braces with a second word.
func (g *Generator) maybeSpell(word string) string {
	switch g.source.IntN(60) {
	case 0:
		return "{" + word + ",x}"
	case 1, 2, 3, 4, 5:
		return g.Spell(word)
	}
	return word
}

// Spell returns a word in one of the ways to write it that mean the same to bash.
func (g *Generator) Spell(word string) string {
	if g.source.IntN(2) == 0 && !strings.ContainsAny(word, "'\\") {
		return Pick(g.source, []string{"'" + word + "'", `"` + word + `"`, "$'" + word + "'"})
	}
	var b strings.Builder
	for i := range len(word) {
		c := word[i : i+1]
		switch g.source.IntN(10) {
		case 0:
			c = "'" + c + "'"
		case 1:
			c = `"` + c + `"`
		case 2:
			c = fmt.Sprintf(`$'\x%02x'`, c)
		case 3:
			c = fmt.Sprintf(`$'\%03o'`, c[0])
		case 4:
			c = `''"` + c + `"`
		case 5:
			c = "\\\n\\" + c
		case 6, 7:
			c = `\` + c
		default:
			if c == " " {
				c = `\ `
			}
		}
		b.WriteString(c)
	}
	return b.String()
}

// change changes a line in up to three places.
func (g *Generator) change(line string) string {
	for range g.source.IntN(4) {
		line = g.mutate(line)
	}
	return line
}

// mutate changes a line in one place: its words, or what runs it.
func (g *Generator) mutate(line string) string {
	fields := strings.Split(line, " ")
	i := g.source.IntN(len(fields))
	switch g.source.IntN(8) {
	case 0:
		return line + " " + g.part("insert")
	case 1:
		fields[i] += " " + Pick(g.source, g.words)
	case 2:
		fields[i] = g.part("open quote") + fields[i] + g.part("close quote")
	case 3:
		k := g.source.IntN(len(fields))
		fields[i], fields[k] = fields[k], fields[i]
	case 4: // a part of another line
		other := Pick(g.source, g.attacks)
		from := g.source.IntN(len(other))
		return g.put(line, other[from:min(len(other), from+1+g.source.IntN(20))], 0)
	case 5:
		return g.Nest(line)
	case 6:
		return g.put(line, g.part("insert"), 0)
	default:
		return g.distort(line)
	}
	return strings.Join(fields, " ")
}

// distort puts something small anywhere, or takes it away.
func (g *Generator) distort(line string) string {
	switch g.source.IntN(5) {
	case 0:
		return g.put(line, "", 1+g.source.IntN(2))
	case 1, 2:
		return g.put(line, "\\\n", 0)
	case 3:
		return g.put(line, g.part("sign"), g.source.IntN(6))
	}
	return g.put(line, g.part("sign"), 0)
}

// put replaces some bytes of a line, anywhere.
func (g *Generator) put(line, text string, bytes int) string {
	at := g.source.IntN(len(line) + 1)
	return line[:at] + text + line[min(len(line), at+bytes):]
}

// Everywhere returns lines that have one of every compound command and the like, with something put at every place that
// readers of bash get wrong in one place and not in another: a comment, a joined line, empty quotes.
func Everywhere() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, insert := range grammar["everywhere"] {
			for _, form := range grammar["construct"] {
				for i := range len(form) + 1 {
					if !yield(form[:i] + insert + form[i:]) {
						return
					}
				}
			}
		}
	}
}
