package bashlab

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// zero always chooses the first.
type zero struct{}

func (zero) IntN(int) int { return 0 }

func testGenerator(s Source) *Generator {
	return NewGenerator(s, Corpus{[]Line{{Text: "ls a"}}, []Line{{Text: "touch x", Harmful: true}}})
}

// Every part that a form names is in the grammar, is used, and ends.
func TestGrammar(t *testing.T) {
	g := testGenerator(zero{})
	used := []string{"syntax", "frame", "flow", "nest", "sign", "insert", "open quote", "close quote", "delimiter", "document start", "after delimiter", "document lines", "document end", "operand", "construct", "everywhere"}
	for name, forms := range grammar {
		g.line(name, 0)
		for _, form := range forms {
			g.fill(form) // panics if it names an unknown part
			for rest := form; ; {
				_, after, found := strings.Cut(rest, "«")
				if !found {
					break
				}
				part, more, _ := strings.Cut(after, "»")
				used, rest = append(used, part), more
			}
		}
	}
	for name := range grammar {
		if !slices.ContainsFunc(used, func(part string) bool { return part == name || strings.HasSuffix(part, " "+name) }) {
			t.Errorf("nothing uses %q", name)
		}
	}
}

// The same seed makes the same lines, and different choices make different ones.
func TestGeneratorRepeats(t *testing.T) {
	lines := func(seed uint64) (all []string) {
		g := testGenerator(rand.New(rand.NewPCG(seed, seed)))
		for range 50 {
			all = append(all, g.Syntax(), g.Command(), g.Flow(), g.Spell("a b"), g.Nest("ls"))
		}
		return all
	}
	if !slices.Equal(lines(1), lines(1)) || slices.Equal(lines(1), lines(2)) {
		t.Error("lines don't depend on the seed alone")
	}
}
