package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/nearest"
)

// Registry contains tools by name. Its zero value is empty and ready to use. A call keeps the tool it was looked up
// with, so that tools can change while calls run.
type Registry struct {
	mu       sync.RWMutex
	origins  []string // in the order they were first set; "" is always searched first
	tools    map[string][]Tool
	hidden   func(Declaration) bool // nil: none is
	excluded func(Declaration) bool // nil: none is
	changed  chan struct{}          // see Changed; nil: no call waits
}

// NewRegistry returns a registry of built-in tools. It panics if two have the same name: a bug in the program.
func NewRegistry(builtin ...Tool) *Registry {
	r := &Registry{}
	if err := r.Set("", builtin); err != nil {
		panic(err)
	}
	return r
}

// Set replaces all tools of one origin, as when a server's list has changed. It skips tools whose name is used by a
// built-in tool or another origin, and external tools with a name that rules use for a built-in tool. The error names
// the skipped tools.
func (r *Registry) Set(origin string, ts []Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.announce()
	if r.tools == nil {
		r.tools = map[string][]Tool{}
	}
	delete(r.tools, origin)
	var errs []error
	kept := make([]Tool, 0, len(ts))
	taken, meant := r.names(origin), r.ruled()
	for _, t := range ts {
		d := t.Declaration()
		switch owner, ok := taken[d.Name]; {
		case d.Name == "":
			errs = append(errs, fmt.Errorf("register tool of %s: missing name", originName(origin)))
		case d.Origin != origin:
			errs = append(errs, fmt.Errorf("register tool %s of %s: it declares the origin %s", d.Name,
				originName(origin), originName(d.Origin)))
		case ok:
			errs = append(errs, fmt.Errorf("register tool %s of %s: the name is already used by %s", d.Name,
				originName(origin), originName(owner)))
		case origin != "" && meant[d.Name] != "":
			errs = append(errs, fmt.Errorf("register tool %s of %s: rules use this name for the built-in %s. "+
				"Rename the tool.", d.Name, originName(origin), meant[d.Name]))
		default:
			taken[d.Name] = origin
			kept = append(kept, t)
		}
	}
	if !slices.Contains(r.origins, origin) {
		r.origins = append(r.origins, origin)
		slices.SortStableFunc(r.origins, builtinFirst)
	}
	r.tools[origin] = kept
	if origin == "" {
		r.yield()
	}
	return errors.Join(errs...)
}

// Hide removes tools from everything the registry reports: lists, lookups and suggestions, now and after later calls of
// Set. The names of hidden tools stay taken, so that no other tool can pose as one. A nil function hides nothing.
func (r *Registry) Hide(hidden func(Declaration) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hidden = hidden
	r.announce()
}

// Exclude is Hide for tools that the user excludes: they are hidden too, and a call of one is denied, not unknown.
func (r *Registry) Exclude(excluded func(Declaration) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.excluded = excluded
	r.announce()
}

// Changed returns a channel that is closed when the tools change the next time.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// announce tells those who wait for a change. The caller has locked r.
func (r *Registry) announce() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *Registry) hides(d Declaration) bool {
	return r.hidden != nil && r.hidden(d) || r.excludes(d)
}

func (r *Registry) excludes(d Declaration) bool { return r.excluded != nil && r.excluded(d) }

func builtinFirst(a, b string) int {
	switch {
	case a == "" && b != "":
		return -1
	case b == "" && a != "":
		return 1
	}
	return 0
}

// yield removes external tools whose names built-in tools use now.
func (r *Registry) yield() {
	builtin, meant := r.names(""), r.ruled()
	for origin, ts := range r.tools {
		if origin != "" {
			r.tools[origin] = slices.DeleteFunc(slices.Clone(ts), func(t Tool) bool {
				name := t.Declaration().Name
				_, taken := builtin[name]
				return taken || meant[name] != ""
			})
		}
	}
}

// names returns the owner of every name that a tool of this origin can't use: declared names, and the aliases of
// built-in tools. Built-in tools ignore external ones.
func (r *Registry) names(of string) map[string]string {
	taken := map[string]string{}
	for origin, ts := range r.tools {
		if of == "" && origin != "" {
			continue
		}
		for _, t := range ts {
			d := t.Declaration()
			taken[d.Name] = origin
			if origin == "" {
				for _, a := range d.Aliases {
					taken[a] = origin
				}
			}
		}
	}
	return taken
}

// ruled returns further names that rules use for built-in tools.
func (r *Registry) ruled() map[string]string {
	meant := map[string]string{}
	for _, t := range r.tools[""] {
		d := t.Declaration()
		for _, name := range d.ruleNames() {
			meant[name] = d.Name
		}
	}
	return meant
}

func originName(origin string) string {
	if origin == "" {
		return "the built-in tools"
	}
	return origin
}

// Lookup finds a tool by its name, by one of its aliases if no tool has that name, or by the display name and the rule
// names of a built-in tool in any letter case ("Bash", "grep"). It accepts the additions of some models:
// "functions.read_file", "functions.read_file:0". The error for an unknown name suggests a likely one. The error for an
// excluded tool is a denial.
func (r *Registry) Lookup(name string) (Tool, error) {
	if r == nil {
		return nil, unknownTool(name, nil)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, known := r.find(name, r.hides)
	plain := plainName(name)
	if t == nil && plain != name {
		t, known = r.find(plain, r.hides)
	}
	if t != nil {
		return t, nil
	}
	others := func(d Declaration) bool { return !r.excludes(d) }
	if out, _ := r.find(plain, others); out != nil {
		return nil, denial(humanize.Shorten(name, 100), Decision{Reason: "the tool is excluded in this session"})
	}
	return nil, unknownTool(name, known)
}

// Found is a call with the tool that it was looked up with.
type Found struct {
	Call
	Tool Tool  // nil without one
	Err  error // why there is none
	// The name is another tool's: see [Rerouter].
	Rerouted bool
}

// Find looks up the tool of a call. A call that [Rerouter] reroutes keeps its name.
func (r *Registry) Find(c Call) Found {
	t, err := r.Lookup(c.Name)
	rerouted := false
	for at := t; at != nil; {
		if from, ok := at.(Rerouter); ok {
			if other, args := from.Reroute(c.Args); other != nil && r.has(other) {
				t, c.Args, rerouted = other, args, true
			}
		}
		wrapper, ok := at.(interface{ Unwrap() Tool })
		if !ok {
			break
		}
		at = wrapper.Unwrap()
	}
	return Found{c, t, err, rerouted}
}

// has reports whether a tool of the same name can be called.
func (r *Registry) has(t Tool) bool {
	known, err := r.Lookup(t.Declaration().Name)
	return err == nil && known.Declaration().Name == t.Declaration().Name
}

// A Rerouter is a tool some of whose calls mean another tool. Hooks, rules and the executor treat them as calls of that
// tool, if it is in the registry.
type Rerouter interface {
	Tool
	// Reroute returns the other tool and its arguments; nil: the call is this tool's own.
	Reroute(args json.RawMessage) (Tool, json.RawMessage)
}

// Declaration returns the declaration of the tool. ok is false if there is no tool.
func (f Found) Declaration() (d Declaration, ok bool) {
	if f.Err != nil {
		return Declaration{Name: f.Name}, false
	}
	return f.Tool.Declaration(), true
}

// Named reports whether a name is exactly the tool's own or one of its aliases.
func (d Declaration) Named(name string) bool {
	return name == d.Name || slices.Contains(d.Aliases, name)
}

// plainName returns a tool's name without the namespace that OpenAI's format shows to models, and without the number
// that Kimi's adds.
func plainName(name string) string {
	plain := strings.TrimPrefix(strings.TrimSpace(name), "functions.")
	if before, after, ok := strings.Cut(plain, ":"); ok && after != "" && strings.Trim(after, "0123456789") == "" {
		plain = before
	}
	return plain
}

// find returns the tool of a name, without those that skip reports, else nil and the declarations of all others.
func (r *Registry) find(name string, skip func(Declaration) bool) (Tool, []Declaration) {
	var known []Declaration
	var aliased, foreign Tool
	for _, origin := range r.origins {
		for _, t := range r.tools[origin] {
			d := t.Declaration()
			if skip(d) {
				continue
			}
			if d.Name == name {
				return t, nil
			}
			if aliased == nil && slices.Contains(d.Aliases, name) {
				aliased = t
			}
			if foreign == nil && origin == "" &&
				slices.ContainsFunc(d.ruleNames(), func(n string) bool { return strings.EqualFold(n, name) }) {
				foreign = t
			}
			known = append(known, d)
		}
	}
	if aliased == nil {
		aliased = foreign
	}
	return aliased, known
}

// ruleNames returns the names of a built-in tool in rules, besides its own name and aliases.
func (d Declaration) ruleNames() []string {
	return append([]string{d.Title(), d.Title() + "Tool"}, d.RuleNames...)
}

func unknownTool(name string, known []Declaration) error {
	hint := "No tools are registered."
	if near := likely(name, known); len(near) > 0 {
		hint = "Did you mean " + quoteList(near, " or ") + "?"
	} else if len(known) > 0 {
		names := make([]string, len(known))
		for i, d := range known {
			names[i] = d.Name
		}
		slices.Sort(names)
		hint = "Available tools: " + strings.Join(names[:min(len(names), 40)], ", ")
	}
	return Errorf(NotRegistered, "unknown tool %q\n%s", humanize.Shorten(name, 100), hint)
}

// likely returns the tools that an unknown name may mean: tools whose name is a typo away, else tools whose name
// contains it. Calling a different kind of tool would do something other than the model meant, so tools of different
// kinds are only suggested for a typo, and none for a very short name.
func likely(name string, known []Declaration) []string {
	if len(name) < 4 {
		return nil
	}
	tools := map[string]string{} // all names of the tools
	var names, parts []string
	kinds := map[Kind]bool{}
	for _, d := range known {
		own := []string{d.Name}
		if d.Origin == "" && !d.Deferred { // a deferred one has the names of the tool that is declared
			own = slices.Concat(own, d.Aliases, d.ruleNames())
		}
		for _, n := range own {
			tools[n] = d.Name
		}
		names = append(names, own...)
		if slices.ContainsFunc(own, func(n string) bool { return nearest.Part(name, n) }) {
			parts = append(parts, d.Name)
			kinds[d.kind()] = true
		}
	}
	var found []string
	for _, n := range nearest.Names(name, names) {
		found = append(found, tools[n])
	}
	if found == nil && len(kinds) == 1 && len(parts) <= 3 {
		found = parts
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func quoteList(names []string, or string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + or + quoted[len(quoted)-1]
}

// Declarations returns the tools that a model sees, sorted by name so that the same tools give the same bytes. Deferred
// tools are omitted unless revealed reports true; a nil revealed reveals none. Hidden tools are always omitted.
func (r *Registry) Declarations(revealed func(name string) bool) []Declaration {
	return r.list(func(d Declaration) bool {
		return !d.Deferred || revealed != nil && revealed(d.Name)
	})
}

// All returns the declarations of all tools but hidden ones, including deferred ones, sorted by name.
func (r *Registry) All() []Declaration {
	return r.list(func(Declaration) bool { return true })
}

func (r *Registry) list(want func(Declaration) bool) []Declaration {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := []Declaration{}
	for _, ts := range r.tools {
		for _, t := range ts {
			if d := t.Declaration(); !r.hides(d) && want(d) {
				out = append(out, d)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
