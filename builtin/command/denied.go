package command

import (
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/tool"
)

// DeniedPath is a deny rule on paths.
type DeniedPath struct {
	Rule       string
	Read, Edit bool // what it denies
	// From is the longest path without wildcards: the rule applies to nothing that isn't there or below.
	From string
	// Matches reports whether the rule applies to a path, because of the path itself or a directory above it.
	Matches func(path string) bool
}

// denials enforces the deny rules on paths in every command, where the kernel can. Elsewhere, and for rules that can't
// be enforced for files, only the text of a command counts, which the policy has judged.
type denials struct {
	rules       func() ([]DeniedPath, uint64) // nil: none
	roots, keep []string
	movable     []string // directories in which commands may move others

	mu      sync.Mutex
	known   bool
	version uint64
	finder  *places.Denials // nil: there are no rules
}

// now returns what finds the denied paths; nil: there are no rules.
func (d *denials) now() *places.Denials {
	if d.rules == nil {
		return nil
	}
	rules, version := d.rules()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known || d.version != version {
		d.known, d.version, d.finder = true, version, nil
		var list []places.DenyRule
		for _, r := range rules {
			list = append(list, places.DenyRule(r))
		}
		if list != nil {
			d.finder = places.NewDenials(list, d.roots, d.keep)
		}
	}
	return d.finder
}

// found returns the covers of denied paths, and sentences about rules that can't be enforced for files.
func (d *denials) found() (covers []sandbox.Cover, text []string) {
	if finder := d.now(); finder != nil {
		return finder.Find()
	}
	return nil, nil
}

// spec returns a sandbox that enforces only the rules; nil if there is nothing to enforce.
func (d *denials) spec() *sandbox.Spec {
	covers, _ := d.found()
	if len(covers) == 0 {
		return nil
	}
	return &sandbox.Spec{Mode: sandbox.DenyRules, Roots: d.movable, Covers: covers, BestEffort: true}
}

// add adds the rules to another sandbox.
func (d *denials) add(s *sandbox.Spec) {
	covers, _ := d.found()
	s.Covers = append(s.Covers, covers...)
}

// maxAppeared is how many paths a note names.
const maxAppeared = 5

// after returns a sentence about files that a command created although deny rules apply to them: what doesn't exist
// can't be protected by a mount.
func (d *denials) after(s *sandbox.Spec) string {
	finder := d.now()
	if finder == nil || s == nil || s.Mode == sandbox.ReadOnly || s.Mode == sandbox.Trial {
		return ""
	}
	paths := finder.Appeared(s.Covers)
	if len(paths) == 0 {
		return ""
	}
	list := tool.Visible(humanize.List(paths, maxAppeared))
	return "The command created files that deny rules on editing apply to: " + list +
		". Remove them, and tell the user about them."
}

// DeniedByText describes, in sentences, the deny rules on paths that the kernel can't enforce, so that only paths in
// the text of commands count.
func (s *Shell) DeniedByText() []string {
	_, text := s.sandboxes.denials.found()
	return text
}
