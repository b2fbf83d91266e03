// Package permission judges what a call may do: from what it touches, the approval mode and what a person said
// before, to allow, ask or deny.
//
//	p := permission.New(permission.World{Roots: []string{"/home/me/app"}, Home: "/home/me"}, permission.Default)
//	x := tool.Executor{Policy: p.Judge}
//
// It reads no file and asks nobody: what it must know of the disk is in [World], and asking is the executor's. It
// knows no tool by name: an access says all there is to judge.
package permission

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/tool"
)

// Policy judges calls. It is safe for concurrent use.
type Policy struct {
	world World

	mu         sync.RWMutex
	mode       Mode
	remembered map[memory]bool
}

// memory is a rule a person said "always" to. It holds for tools of one origin: a discovered tool that takes the name
// of another gains nothing.
type memory struct{ origin, rule string }

// New makes a policy for a world.
func New(w World, m Mode) *Policy {
	if w.System == nil {
		w.System = systemFolders()
	}
	return &Policy{world: w, mode: m, remembered: map[memory]bool{}}
}

// Mode is the mode at present.
func (p *Policy) Mode() Mode {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.mode == "" {
		return Default
	}
	return p.mode
}

// SetMode changes the mode. Open questions are judged anew by [tool.Executor.Rejudge].
func (p *Policy) SetMode(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

// Remember keeps one of the rules that Judge offered for r, for as long as the policy lives, and reports whether it
// did: a rule that covers nothing of r is not kept. It answers what would be asked, never what is denied.
func (p *Policy) Remember(r tool.Request, rule string) bool {
	covers := slices.ContainsFunc(accesses(r), func(a tool.Access) bool {
		return slices.ContainsFunc(p.world.candidates(r, a, p.world.look(a)), func(c candidate) bool {
			return c.offered && c.rule == rule
		})
	})
	if covers {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.remembered[memory{r.Declaration.Origin, rule}] = true
	}
	return covers
}

// Judge is the [tool.Policy].
func (p *Policy) Judge(r tool.Request) tool.Decision {
	p.mu.RLock()
	defer p.mu.RUnlock()
	d, found := p.judge(r, p.mode, p.remembered)
	if d.Verdict == tool.Ask {
		d.Offer = p.offers(r, found)
	}
	return d
}

// judged is an access with what was found out about it.
type judged struct {
	access tool.Access
	finding
	verdict tool.Verdict
}

// judge gives the strictest verdict over all accesses, and those that brought it about.
func (p *Policy) judge(r tool.Request, m Mode, remembered map[memory]bool) (tool.Decision, []judged) {
	var strictest []judged
	verdict := tool.Allow
	for _, a := range accesses(r) {
		j := judged{access: a, finding: p.world.look(a)}
		j.verdict = j.class.verdict(m)
		// Plan's denials stand before what a person allowed, and that before the rest of the table.
		if j.verdict == tool.Ask && p.covered(r, j, remembered) {
			j.verdict = tool.Allow
			j.what += ", as was allowed before"
		}
		if j.verdict < verdict {
			verdict, strictest = j.verdict, nil
		}
		if j.verdict == verdict {
			strictest = append(strictest, j)
		}
	}
	return tool.Decision{Verdict: verdict, Reason: reason(r, m, verdict, strictest)}, strictest
}

// accesses is what r touches. Only the word of a built-in tool is taken for it.
func accesses(r tool.Request) []tool.Access {
	if len(r.Access) == 0 || r.Declaration.Origin != "" {
		return []tool.Access{tool.Anything}
	}
	return r.Access
}

func (p *Policy) covered(r tool.Request, j judged, remembered map[memory]bool) bool {
	if len(remembered) == 0 {
		return false
	}
	return slices.ContainsFunc(p.world.candidates(r, j.access, j.finding), func(c candidate) bool {
		return remembered[memory{r.Declaration.Origin, c.rule}]
	})
}

// offers are the rules each of which alone would allow all that is asked about, smallest first.
func (p *Policy) offers(r tool.Request, asked []judged) []string {
	var rules []string
	for i, j := range asked {
		cs := p.world.candidates(r, j.access, j.finding)
		if i == 0 {
			for _, c := range cs {
				if c.offered {
					rules = append(rules, c.rule)
				}
			}
			continue
		}
		rules = slices.DeleteFunc(rules, func(rule string) bool {
			return !slices.ContainsFunc(cs, func(c candidate) bool { return c.rule == rule })
		})
	}
	if len(rules) == 0 {
		return nil
	}
	return rules
}

// mostNamed is how many accesses a reason names before it counts.
const mostNamed = 3

func reason(r tool.Request, m Mode, v tool.Verdict, found []judged) string {
	var parts []string
	bare := false // the mode is the only reason
	for _, j := range found {
		what := j.what
		if j.class == unknown && r.Declaration.Origin != "" {
			what += " (it comes from " + show(r.Declaration.Origin) + ")"
		}
		bare = bare || j.class == insideWrite || j.class == unknown || j.class == host
		if !slices.Contains(parts, what) {
			parts = append(parts, what)
		}
	}
	if n := len(parts) - mostNamed; n > 0 {
		parts = append(parts[:mostNamed], fmt.Sprintf("%d more", n))
	}
	s := strings.Join(parts, "; ")
	switch {
	case v == tool.Deny:
		return s + ": plan mode changes nothing"
	case v == tool.Ask && bare:
		return s + ", in " + m.String() + " mode"
	}
	return s
}
