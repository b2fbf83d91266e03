package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/tool"
)

// Shelf holds the declarations of tools from outside back from a model whose context they would fill. The model is told
// their names; the parameters of one are declared once it was found, or called by its name.
//
//	shelf := &agent.Shelf{Most: 12_800, Finder: builtin.ToolSearch}
//	a := agent.New(agent.Options{Model: m, Executor: x, Shelf: shelf})
//	shelf.Reveal("", "github__create_issue") // what a tool that searches does
//
// An agent and its sub-agents share one, and each has a place of its own on it. What was declared once stays where it
// stands, and more comes after it, so that the beginning of a request stays the same and can be cached. A held tool is
// a tool like any other: its calls are checked, judged and asked about as always.
type Shelf struct {
	Most   int    // tokens that all tools from outside together may take; above it they are held back. 0: no limit
	Finder string // the tool that finds held ones; it is declared only where there are some. An agent without it is told all

	mu     sync.Mutex
	places map[string]*place // by the path of the agent
}

// place is the shelf of one agent.
type place struct {
	shelf    *Shelf
	registry *tool.Registry
	full     bool     // tools are held back from now on
	begun    bool     // a turn was taken
	order    []string // names in the order they were first declared
	declared map[string]bool
	revealed map[string]bool
	told     map[string]bool // names of held tools that the model knows
	listing  string          // of those held at the first turn
}

// at gives an agent its place. A nil shelf holds nothing back.
func (s *Shelf) at(path string, r *tool.Registry) *place {
	if s == nil {
		s = &Shelf{}
	}
	p := &place{shelf: s, registry: r, declared: map[string]bool{}, revealed: map[string]bool{}, told: map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places == nil {
		s.places = map[string]*place{}
	}
	s.places[path] = p
	return p
}

// leave forgets an agent that has ended.
func (s *Shelf) leave(path string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.places, path)
}

// Tools are an agent's tools from outside, held or not, sorted by name: what there is to be found. by is the path of the
// agent, as in [tool.Call].
func (s *Shelf) Tools(by string) []tool.Declaration {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[by]
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(p.registry.All(), func(d tool.Declaration) bool { return d.Origin == "" })
}

// Reveal declares held tools to an agent's model from its next turn on.
func (s *Shelf) Reveal(by string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.places[by]; p != nil {
		for _, name := range names {
			p.revealed[name] = true
		}
	}
}

func (p *place) holds(d tool.Declaration) bool {
	return p.full && d.Origin != "" && !p.revealed[d.Name]
}

// next are the declarations of the next turn, and what the model has to be told of tools that came since the last one.
func (p *place) next() (declarations []tool.Declaration, news string) {
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	all := p.registry.All()
	p.fill(all)
	var held []tool.Declaration
	byName := map[string]tool.Declaration{}
	for _, d := range all {
		switch {
		case p.holds(d):
			if !p.told[d.Name] {
				held = append(held, d)
				p.told[d.Name] = true
			}
			continue
		case d.Deferred && !p.revealed[d.Name] && !(p.full && d.Name == p.shelf.Finder):
			continue
		}
		byName[d.Name] = d
		if !p.declared[d.Name] {
			p.declared[d.Name] = true
			p.order = append(p.order, d.Name)
		}
	}
	for _, name := range p.order {
		if d, ok := byName[name]; ok {
			declarations = append(declarations, d)
		}
	}
	text := listHeld(p.shelf.Finder, held)
	if !p.begun {
		p.begun, p.listing = true, text
		return declarations, ""
	}
	return declarations, text
}

// fill looks whether there is too much to declare. What was declared before stays.
func (p *place) fill(all []tool.Declaration) {
	if p.full || p.shelf.Most <= 0 {
		return
	}
	finder, tokens := false, 0
	for _, d := range all {
		finder = finder || d.Name == p.shelf.Finder
		if d.Origin != "" {
			tokens += Tokens(d)
		}
	}
	if finder && tokens > p.shelf.Most {
		p.full = true
		for _, name := range p.order {
			p.revealed[name] = true
		}
	}
}

// called reveals a held tool that was called by its name, and reports whether it was held.
func (p *place) called(d tool.Declaration) bool {
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	if !p.holds(d) {
		return false
	}
	p.revealed[d.Name] = true
	return true
}

// system is what the model is told of itself, with the names that were held at the first turn.
func (p *place) system(text string) string {
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	if p.listing == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n\n" + p.listing + "\n"
}

// maxListing is how many characters of names a model is told at once.
const maxListing = 16_000

// listHeld tells the names of held tools. Where they are too many, each server has a fair share.
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
	fmt.Fprintf(&b, "%d more tools are there, by these names; their parameters are declared when %s has found them:", len(held), finder)
	for _, origin := range origins {
		names := byOrigin[origin]
		kept := len(names)
		if length > maxListing {
			kept = fitting(names, maxListing/len(origins))
		}
		b.WriteString("\n- " + strings.Join(names[:kept], ", "))
		if rest := len(names) - kept; rest > 0 {
			fmt.Fprintf(&b, " and %d more of %s", rest, origin)
		}
	}
	return b.String()
}

// fitting is how many names fit into so many characters, one at least.
func fitting(names []string, most int) int {
	for i, name := range names {
		if most -= len(name) + 2; most < 0 && i > 0 {
			return i
		}
	}
	return len(names)
}

// Tokens is about how many tokens a declaration takes of a model's context. No tokenizer is asked: schemas are denser
// than prose, with some 3.5 bytes of ASCII to a token, and a character of another script is taken for one. So it is
// rather more than less.
func Tokens(d tool.Declaration) int {
	const around = len(`{"type":"function","function":{"name":"","description":"","parameters":}}`)
	plain, others := around, 0
	for _, text := range [...]string{d.Name, d.Description, string(d.Parameters)} {
		for _, r := range text {
			if r < 0x80 {
				plain++
			} else {
				others++
			}
		}
	}
	return (plain*2+6)/7 + others
}
