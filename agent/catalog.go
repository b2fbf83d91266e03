package agent

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/tool"
)

// Catalog defers the declarations of external tools that would fill the model's context. The model sees their names; a
// tool is declared once it was found, or called by its name.
//
//	catalog := &agent.Catalog{Most: 12_800, Finder: builtin.ToolSearch}
//	a := agent.New(agent.Options{Model: m, Executor: x, Catalog: catalog})
//	catalog.Reveal("", "github__create_issue") // what a tool that searches does
//
// An agent and its subagents share one, and each has its own view of it. Declarations keep their place and new ones
// come after them, so that the beginning of a request stays the same and can be cached. A deferred tool is a tool like
// any other: its calls are checked and judged as always.
type Catalog struct {
	Most   int    // tokens that all external tools together can take; above it they are deferred. 0: no limit
	Finder string // the tool that finds deferred ones; declared only if there are some. Without it nothing is deferred

	mu    sync.Mutex
	views map[string]*view // by the path of the agent
}

// view is the catalog as one agent sees it.
type view struct {
	catalog  *Catalog
	registry *tool.Registry
	full     bool                        // tools are deferred from now on
	begun    bool                        // a turn was taken
	order    []tool.Declaration          // as they were first declared
	declared map[string]tool.Declaration // as they were last seen
	revealed map[string]bool
	told     map[string]bool // names of deferred tools that the model knows
	listed   map[string]bool // those of them that are in listing
	listing  string          // of those deferred at the first turn
}

// at returns an agent's view. A nil catalog defers nothing.
func (s *Catalog) at(path string, r *tool.Registry) *view {
	if s == nil {
		s = &Catalog{}
	}
	p := &view{
		catalog: s, registry: r, declared: map[string]tool.Declaration{}, revealed: map[string]bool{},
		told: map[string]bool{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views == nil {
		s.views = map[string]*view{}
	}
	s.views[path] = p
	return p
}

// restore begins with what an earlier part of the conversation declared.
func (p *view) restore(d Declared) {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	p.begun, p.listing, p.order = true, d.Listing, slices.Clone(d.Tools)
	for _, t := range d.Tools {
		p.declared[t.Name] = t
		p.revealed[t.Name] = true
	}
	for _, name := range strings.FieldsFunc(d.Listing, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		p.told[name] = true
	}
	p.listed = maps.Clone(p.told)
}

// leave removes the view of an agent that has ended.
func (s *Catalog) leave(path string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, path)
}

// Limit changes Most, such as for a model with another context window. Deferred and declared tools stay as they are.
func (s *Catalog) Limit(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Most = limit
}

// Tools returns an agent's external tools, deferred or not, sorted by name. by is the path of the agent, as in
// [tool.Call].
func (s *Catalog) Tools(by string) []tool.Declaration {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.views[by]
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(p.registry.All(), func(d tool.Declaration) bool { return d.Origin == "" })
}

// Reveal declares deferred tools to an agent's model from its next turn on.
func (s *Catalog) Reveal(by string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.views[by]; p != nil {
		for _, name := range names {
			p.revealed[name] = true
		}
	}
}

func (p *view) holds(d tool.Declaration) bool {
	return p.full && d.Origin != "" && !p.revealed[d.Name]
}

// next returns the declarations of the next turn, and messages about tools that changed or were added since the last
// one. Declarations only grow: a tool that disappeared stays declared, and one that changed stays as it was declared
// first. Otherwise the start of the request would change, and neither a cache nor a signature would match it.
//
// Of the tools that edit files, only those of the model's dialect are declared, if there are any.
func (p *view) next(dialect tool.Dialect) (declarations []tool.Declaration, news []string) {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	all := p.registry.All()
	p.fill(all)
	spoken := slices.ContainsFunc(all, func(d tool.Declaration) bool { return d.Dialect != "" && d.Dialect == dialect })
	var held []tool.Declaration
	for _, d := range all {
		switch {
		case p.holds(d):
			if !p.told[d.Name] {
				held = append(held, d)
				p.told[d.Name] = true
			}
			continue
		case spoken && d.Dialect == dialect:
		case spoken && d.Dialect != "" && p.declared[d.Name].Name == "":
			continue
		case d.Deferred && !p.revealed[d.Name] && !(p.full && d.Name == p.catalog.Finder):
			continue
		}
		known, ok := p.declared[d.Name]
		switch {
		case !ok:
			p.order = append(p.order, d)
		case changed(known, d):
			news = append(news, changeOf(d))
		}
		p.declared[d.Name] = d
	}
	text := listHeld(p.catalog.Finder, held)
	if !p.begun {
		p.begun, p.listing, p.listed = true, text, maps.Clone(p.told)
	} else if text != "" {
		news = append(news, text)
	}
	return slices.Clone(p.order), news
}

// forget is called after a summary replaced the messages about tools, so that they are sent again.
func (p *view) forget() {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	for _, d := range p.order {
		p.declared[d.Name] = d
	}
	p.told = maps.Clone(p.listed)
	if p.told == nil {
		p.told = map[string]bool{}
	}
}

func changed(old, now tool.Declaration) bool {
	return old.Description != now.Description || !bytes.Equal(old.Parameters, now.Parameters)
}

// changeOf returns the message about a tool that is no longer as it was declared.
func changeOf(d tool.Declaration) string {
	parameters := string(d.Parameters)
	if parameters == "" {
		parameters = "{}"
	}
	return fmt.Sprintf("The tool %s changed. Its declaration above no longer applies.\nDescription: %s\nParameters: %s",
		d.Name, d.Description, parameters)
}

// gone returns why calls of a declared tool fail after it disappeared; "" if it wasn't declared.
func (p *view) gone(name string) string {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	d, ok := p.declared[name]
	if !ok {
		return ""
	}
	reason := "it was removed from this session"
	if server, ok := strings.CutPrefix(d.Origin, "mcp:"); ok {
		reason = "the MCP server " + server + " doesn't offer it anymore"
	} else if d.Origin != "" {
		reason = d.Origin + " doesn't offer it anymore"
	}
	return name + " is no longer available: " + reason + ". Use another tool."
}

// fill starts deferring tools if there are too many. Declared tools stay declared.
func (p *view) fill(all []tool.Declaration) {
	if p.full || p.catalog.Most <= 0 {
		return
	}
	finder, tokens := false, 0
	for _, d := range all {
		finder = finder || d.Name == p.catalog.Finder
		if d.Origin != "" {
			tokens += Tokens(d)
		}
	}
	if finder && tokens > p.catalog.Most {
		p.full = true
		for _, d := range p.order {
			p.revealed[d.Name] = true
		}
	}
}

// called reveals a deferred tool that was called by its name, and reports whether it was deferred.
func (p *view) called(d tool.Declaration) bool {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	if !p.holds(d) {
		return false
	}
	p.revealed[d.Name] = true
	return true
}

// system returns the system prompt with the names of tools that were deferred at the first turn.
func (p *view) system(text string) string {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	if p.listing == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n\n" + p.listing + "\n"
}

// maxListing is the maximum length of a list of names, in characters.
const maxListing = 16_000

// listHeld lists the names of deferred tools. If there are too many, each server gets an equal share.
func listHeld(finder string, held []tool.Declaration) string {
	if len(held) == 0 {
		return ""
	}
	length := 0
	byOrigin := map[string][]string{}
	var origins []string
	for _, d := range held {
		length += len(d.Name) + 2
		if byOrigin[d.Origin] == nil {
			origins = append(origins, d.Origin)
		}
		byOrigin[d.Origin] = append(byOrigin[d.Origin], d.Name)
	}
	slices.Sort(origins)
	var b strings.Builder
	fmt.Fprintf(&b, "%d more tools are available. Load them with %s before calling them:", len(held), finder)
	for _, origin := range origins {
		names := byOrigin[origin]
		kept := len(names)
		if length > maxListing {
			kept = fitting(names, maxListing/len(origins))
		}
		b.WriteString("\n- " + strings.Join(names[:kept], ", "))
		if rest := len(names) - kept; rest > 0 {
			fmt.Fprintf(&b, " and %d more from %s", rest, origin)
		}
	}
	return b.String()
}

// fitting returns how many names fit into most characters, at least one.
func fitting(names []string, limit int) int {
	for i, name := range names {
		if limit -= len(name) + 2; limit < 0 && i > 0 {
			return i
		}
	}
	return len(names)
}

// Tokens estimates how many tokens a declaration takes. Schemas are denser than prose: it counts 3.5 bytes of ASCII as
// a token and every other character as one, which is slightly too much.
func Tokens(d tool.Declaration) int {
	const around = `{"type":"function","function":{"name":"","description":"","parameters":}}`
	return TextTokens(around, d.Name, d.Description, string(d.Parameters))
}
