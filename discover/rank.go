package discover

import (
	"slices"
	"strings"
	"unicode"

	"github.com/adze-dev/adze/tool"
)

// Rank finds the tools that fit a query best, best first: what a tool search needs. "select:a,b" names tools; else each
// word counts where it stands, in a name more than in a description, and +word must be in the name. A word of one or two
// letters counts only where a name has it as a word of its own: "a" is in nearly all of them.
func Rank(query string, all []tool.Declaration, most int) []tool.Declaration {
	if names, ok := strings.CutPrefix(query, "select:"); ok {
		var out []tool.Declaration
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			i := slices.IndexFunc(all, func(d tool.Declaration) bool {
				return strings.EqualFold(d.Name, name) || slices.Contains(d.Aliases, name)
			})
			if i >= 0 && len(out) < most {
				out = append(out, all[i])
			}
		}
		return out
	}
	type scored struct {
		tool.Declaration
		score int
	}
	var found []scored
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;:"'`, r) })
	for _, d := range all {
		if n := score(words, d); n > 0 {
			found = append(found, scored{d, n})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int {
		if a.score != b.score {
			return b.score - a.score
		}
		return strings.Compare(a.Name, b.Name)
	})
	var out []tool.Declaration
	for _, s := range found[:min(len(found), most)] {
		out = append(out, s.Declaration)
	}
	return out
}

func score(words []string, d tool.Declaration) int {
	name, text := strings.ToLower(d.Name), strings.ToLower(d.DisplayName+" "+d.Description)
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' })
	total := 0
	for _, w := range words {
		w, must := strings.CutPrefix(w, "+")
		switch {
		case w == "":
		case name == w:
			total += 20
		case slices.Contains(parts, w):
			total += 10
		case len(w) > 2 && (strings.Contains(name, w) || strings.Contains(name, strings.TrimSuffix(w, "s"))):
			total += 5
		case must && !strings.Contains(name, w):
			return 0
		case len(w) > 2 && strings.Contains(text, w):
			total += 2
		}
	}
	return total
}
