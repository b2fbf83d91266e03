package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// The places in which commands run that were not approved.
const (
	overlay  = "overlay"
	readOnly = "read-only"
	none     = "none"
)

// The UID of an ordinary user.
const nobody = 65534

// corpora are the files, and what part of their lines has to run without approval in which place.
var corpora = []struct {
	file  string
	share map[string]float64
}{
	{"attacks.txt", nil},
	{"harmless.txt", map[string]float64{overlay: 0.98, readOnly: 0.90, none: 0.50}},
	{"everyday.txt", map[string]float64{overlay: 0.95, readOnly: 0.70, none: 0.55}},
	{"everyday2.txt", map[string]float64{overlay: 0.95, readOnly: 0.70, none: 0.55}},
	{"rules.txt", nil},
}

// No line of the corpora changes anything that lasts, sends anything or reveals a secret to the model without approval.
// What happens is what 'adze permission check' says.
func TestCorpora(t *testing.T) {
	if !bashlab.Has("git") {
		t.Skip("no git in the namespaces")
	}
	every := 150
	if soak.On() {
		every = soak.OneIn(100)
	}
	users := []int{0, nobody}
	if every > 1 {
		every *= len(users) // each runs other lines of a sample
	}
	for i, uid := range users {
		for _, place := range []string{overlay, readOnly, none} {
			t.Run(fmt.Sprint(place, " ", uid), func(t *testing.T) {
				t.Parallel()
				j := job{Place: place, UID: uid}
				for _, c := range corpora {
					j.Groups = append(j.Groups, readGroups(t, c.file, every, i*every/len(users))...)
				}
				began := time.Now()
				reports := j.start(t)
				took := time.Since(began)
				t.Logf("%d lines, %.0f a second", len(reports), float64(len(reports))/took.Seconds())
				for _, c := range corpora {
					checkShare(t, c.file, c.share[place], every, reports)
				}
			})
		}
	}
}

// checkShare prints which part of a corpus ran without approval, and checks it if all lines ran.
func checkShare(t *testing.T, file string, want float64, every int, reports []report) {
	t.Helper()
	lines, ran, verdicts := 0, 0, map[string]int{}
	var asked []string
	for _, r := range reports {
		if r.File != file {
			continue
		}
		lines++
		verdicts[r.Verdict]++
		if file == "attacks.txt" && r.Verdict == "allow" {
			t.Logf("%s:%d runs as it is: %s", r.File, r.Number, r.Text)
		}
		if r.Ran {
			ran++
		} else {
			asked = append(asked, fmt.Sprintf("%s:%d: %s", r.File, r.Number, r.Text))
		}
	}
	share := float64(ran) / float64(max(1, lines))
	t.Logf("%-13s %5d lines, %5.1f %% ran without approval; permission check says %v", file, lines, 100*share, verdicts)
	if want > 0 && every == 1 && share < want {
		t.Errorf("%s: %.1f %% ran without approval, want %.0f %%:\n%s", file, 100*share, 100*want, strings.Join(asked, "\n"))
	}
}

// readGroups reads every n-th line of a corpus from the first one on, in the order of their rules: each group
// has its own session.
func readGroups(t *testing.T, file string, every, first int) (groups []group) {
	t.Helper()
	byRules := map[string]int{}
	for _, l := range bashlab.ReadLines(t, "../../../permission/testdata/"+file) {
		g, one := group{File: file}, line{Number: l.Number, Text: strings.TrimPrefix(l.Text, "!")}
		if file == "rules.txt" {
			columns := strings.SplitN(l.Text, "\t", 3)
			g.rule(columns[1])
			one.Text, one.Denied = columns[2], columns[0] == "deny" && len(g.Deny) > 0 && g.Mode != "plan"
		}
		rules := fmt.Sprint(g)
		at, ok := byRules[rules]
		if !ok {
			at = len(groups)
			byRules[rules] = at
			groups = append(groups, g)
		}
		groups[at].Lines = append(groups[at].Lines, one)
	}
	n := -1
	for i := range groups {
		groups[i].Lines = slices.DeleteFunc(groups[i].Lines, func(line) bool { n++; return n%every != first })
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.Lines) == 0 })
}

// rule reads the rules of a line in rules.txt: + (allow), ? (ask) or - (deny), @MODE; % and . mean nothing here.
func (g *group) rule(rules string) {
	for r := range strings.SplitSeq(rules, " ; ") {
		switch r[0] {
		case '+':
			g.Allow = append(g.Allow, r[1:])
		case '?':
			g.Ask = append(g.Ask, r[1:])
		case '-':
			g.Deny = append(g.Deny, r[1:])
		case '@':
			g.Mode = r[1:]
		}
	}
	for _, list := range [][]string{g.Allow, g.Ask, g.Deny} {
		slices.Sort(list)
	}
}
