package permission

// DeniedPath is a deny rule on paths, for a sandbox that enforces it whatever a command calls the path.
type DeniedPath struct {
	Rule       string
	Read, Edit bool // what it denies
	// From is the longest path without wildcards: the rule applies to nothing that isn't there or below.
	From string
	// Matches reports whether the rule applies to a path, because of the path itself or a directory above it.
	Matches func(path string) bool
}

// DeniedPaths returns the deny rules on paths that apply to every tool: Read and Edit with a specifier.
func (p *Policy) DeniedPaths() []DeniedPath {
	p.mu.RLock()
	rules := p.rules.deny
	p.mu.RUnlock()
	var out []DeniedPath
	for _, u := range rules {
		if u.verb != reading && u.verb != writing || u.whole || !u.isPath || !u.path.known {
			continue
		}
		out = append(out, DeniedPath{
			Rule: u.text, Read: u.verb == reading, Edit: u.verb == writing, From: u.path.prefix(),
			Matches: func(path string) bool {
				r := u.path.reaches(components(path))
				return r == exact || r == abovePath
			},
		})
	}
	return out
}
