// Package permission decides what a call may do: it is allowed, it requires approval, or it is denied. The decision
// depends on what the call touches, the rules that users wrote, the approval mode, and what the user approved earlier
// in the session.
//
//	roots := []string{"/home/me/app"}
//	p := permission.New(permission.World{Roots: roots, Home: "/home/me", Disk: ondisk.New(roots)}, permission.Default)
//	rules, ignored, err := permission.ParseRules(allow, ask, deny)
//	if err != nil {
//		return err
//	}
//	p.SetRules(rules)
//	x := tool.Executor{Policy: p.Judge}
//
// # Order
//
// Deny rules come first, then the denials of plan mode, ask rules, allow rules, and last the [Mode]. So a deny rule
// holds in every mode, and an ask rule is stronger than an allow rule.
//
// # Rules
//
//	Read(~/.ssh/**)              everything that reads below ~/.ssh: tools, and commands that name it
//	Edit(/docs/**)               everything that writes below docs in the workspace
//	Shell(go test:*)             commands that start with these words
//	WebFetch(domain:go.dev)      a host with its subdomains
//	Network(*.example.com:443)   hosts that commands connect to
//	github__create_issue         an external tool
//
// [ParseRules] reads them. [Policy.Judge] puts rules that would allow a call into [tool.Decision].Offer, from narrow to
// wide, and [Policy.Remember] applies one for the session.
//
// # Commands
//
// A command is parsed, not matched as text: see package shell. It runs as it is if rules allow all its parts, and
// otherwise first in the [Place] of the session. A deny rule is also applied to commands inside other commands, such as
// sh -c, xargs and find -exec.
//
// # The disk
//
// The package reads no files. [World] has what it knows of the disk, and [Disk] answers questions about links and
// repositories; package ondisk implements it. It knows no tool by name: an access has everything that a decision needs.
package permission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/adze-dev/adze/tool"
)

// Policy judges calls. It is safe for concurrent use.
type Policy struct {
	mu sync.RWMutex
	engine
	version atomic.Uint64 // see RulesVersion
}

// New returns a policy for a world.
func New(w World, m Mode) *Policy { return &Policy{engine: engine{world: w.filled(), mode: m}} }

// Mode returns the current mode.
func (p *Policy) Mode() Mode {
	return cmp.Or(p.current().mode, Default)
}

// SetMode changes the mode. Open questions are judged again by [tool.Executor.Rejudge].
func (p *Policy) SetMode(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

// SetRules changes the rules; remembered rules stay. Open questions are judged again by [tool.Executor.Rejudge].
func (p *Policy) SetRules(r Rules) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = r.in(p.world)
	p.version.Add(1)
}

// current returns the engine as it is now.
func (p *Policy) current() engine {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.engine
}

// now returns the current engine, for one judgment.
func (p *Policy) now() engine { return p.current().begin() }

// Remember saves one of the offers that Judge made for r, for the lifetime of the policy, and reports whether it did:
// other rules are not saved. A remembered rule replaces approval, never a denial.
func (p *Policy) Remember(r tool.Request, offer string) bool {
	e := p.now()
	e.remembered = nil // an earlier offer stays valid even if it is covered now
	if !slices.Contains(e.offersFor(r), offer) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range SplitOffer(offer) {
		p.remember(r.Declaration.Origin, text)
	}
	return true
}

func (p *Policy) remember(origin, text string) {
	if u, err := parseRule(text, false); err == nil {
		u.list, u.source = allowList, thisSession
		p.remembered = append(slices.Clip(p.remembered), memory{origin, u.in(p.world)})
	}
	p.version.Add(1)
}

// Remembered returns the rules that were approved for the session, the oldest first.
func (p *Policy) Remembered() []string {
	var rules []string
	for _, m := range p.current().remembered {
		if text := visible(m.rule.text); !slices.Contains(rules, text) {
			rules = append(rules, text)
		}
	}
	return rules
}

// Inherit copies the mode of another policy and the rules that were approved for its session, interpreted for the
// directories of this one.
func (p *Policy) Inherit(from *Policy) {
	e := from.current()
	p.SetMode(e.mode)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range e.remembered {
		p.remember(m.origin, m.rule.text)
	}
}

// thisSession is the source of a rule that a user approved for the session.
const thisSession = "this session"

// Judge implements [tool.Policy].
func (p *Policy) Judge(r tool.Request) tool.Decision {
	e := p.now()
	d, found := e.judge(r)
	if d.Verdict == tool.Ask {
		d.Offer = e.offers(r, found)
	}
	return d
}

// offersFor returns the offers for r in the mode that asks most without denying.
func (e engine) offersFor(r tool.Request) []string {
	var all []string
	for _, m := range []Mode{e.mode, Default} {
		e.mode = m
		d, found := e.judge(r)
		if d.Verdict == tool.Ask {
			all = append(all, e.offers(r, found)...)
		}
	}
	return all
}

// maxNamed is the maximum number of accesses that a reason names before it counts the rest.
const maxNamed = 3

// cause returns what a verdict over these accesses is based on: rules first, then failures to judge, then the mode.
func (e engine) cause(found []judged) tool.Cause {
	c := tool.Cause{Kind: tool.ByMode, Mode: e.mode.String()}
	for _, j := range found {
		switch {
		case len(j.rules) == 0 && j.forced:
			c.Kind = tool.ByFailure
		case j.class == opening && e.mode == Yolo: // yolo mode asks about nothing else
			c.Kind = tool.BySandbox
		}
		for _, u := range j.rules {
			if !slices.Contains(c.Rules, u) {
				c.Rules = append(c.Rules, u)
			}
		}
	}
	if len(c.Rules) > 0 {
		c.Kind = tool.ByRule
	}
	if c.Kind != tool.ByMode && e.mode != Plan {
		c.Mode = ""
	}
	return c
}

// reason describes what the call does that led to a verdict or, if rules decided, their objects.
func (e engine) reason(r tool.Request, d tool.Decision, found []judged) string {
	var parts []string
	for _, j := range found {
		if d.Cause.Kind == tool.ByRule && len(j.rules) == 0 || d.Verdict != tool.Allow && writes(found, j) {
			continue
		}
		what := j.what()
		if j.class == unknown && r.Declaration.Origin != "" {
			what += " (from " + show(r.Declaration.Origin) + ")"
			if d.Verdict == tool.Ask && e.outdated(&r.Declaration) != "" {
				what += ", and the tool changed since you approved it"
			}
		}
		if !slices.Contains(parts, what) {
			parts = append(parts, what)
		}
	}
	if n := len(parts) - maxNamed; n > 0 {
		parts = append(parts[:maxNamed], fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, "; ")
}

// writes reports whether what is read is written too, which says more.
func writes(found []judged, read judged) bool {
	return read.access.Verb == tool.Reads && slices.ContainsFunc(found, func(j judged) bool {
		return j.access.Verb == tool.Writes && j.access.Target == read.access.Target
	})
}

// visible makes a rule's text visible without quoting it.
func visible(s string) string { return tool.Visible(strings.ReplaceAll(s, "\n", `\n`)) }
