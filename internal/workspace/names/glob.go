package names

import "strings"

// MaySecret reports whether a shell's pattern could name a secret, and which: an example. The pattern is taken as a
// shell reads it: * ? and [ ] stay within a component and do not match a leading dot, a backslash quotes.
func MaySecret(pattern string) (example string, ok bool) {
	comps := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	if len(comps) == 0 {
		return "", false
	}
	if !strings.ContainsAny(pattern, `*?[`) {
		_, ok := Secret(pattern)
		return comps[len(comps)-1], ok
	}
	last := comps[len(comps)-1]
	for _, name := range []string{".env", ".env.*"} {
		if overlap(last, name) {
			return strings.TrimSuffix(name, ".*"), true
		}
	}
	for _, r := range secretFiles {
		for _, name := range usual(r.chain) {
			if overlap(last, name) {
				return strings.ReplaceAll(name, "*", "x"), true
			}
		}
	}
	for _, table := range [][]rule{secretFolders, systemSecrets} {
		for _, r := range table {
			for i := 0; i+len(strings.Split(r.chain, "/")) <= len(comps); i++ {
				if overlaps(comps[i:], strings.Split(r.chain, "/")) {
					return strings.ReplaceAll(r.chain, "*", "x"), true
				}
			}
		}
	}
	return "", false
}

// MaySecretBelow is MaySecret for a pathspec of git, whose stars stand for slashes and leading dots too. A pattern of
// stars alone is a folder, and *.json is no reason to think of credentials.json: it is what is tracked.
func MaySecretBelow(pattern string) (example string, ok bool) {
	comps := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	if len(comps) == 0 || strings.Trim(comps[len(comps)-1], "*") == "" {
		return "", false
	}
	last := globTokens(comps[len(comps)-1])
	for _, r := range append([]rule{{".env", whyEnv}, {".env.local", whyEnv}}, secretFiles...) {
		named := r.chain[0] != '.' && r.chain[0] != '*' || strings.HasSuffix(r.chain, ".json")
		ending := r.chain[0] == '*'
		if !(named && last[0] == '*' || ending && last[len(last)-1] == '*') && common(last, []rune(r.chain)) {
			return strings.ReplaceAll(r.chain, "*", "x"), true
		}
	}
	for _, r := range secretFolders {
		chain := strings.Split(r.chain, "/")
		for i := 0; i+len(chain) <= len(comps); i++ {
			if overlaps(comps[i:], chain) {
				return strings.ReplaceAll(r.chain, "*", "x"), true
			}
		}
	}
	return "", false
}

// usual are the names that a rule means in practice: id_rsa* is no reason to take every *.go for a key.
func usual(chain string) []string {
	head, open := strings.CutSuffix(chain, "*")
	if !open {
		return []string{chain}
	}
	return []string{head, head + "1", head + ".bak", head + ".old", head + ".orig", head + ".pem", head + "_old"}
}

func overlaps(globs, chain []string) bool {
	for i, name := range chain {
		if !overlap(globs[i], name) {
			return false
		}
	}
	return true
}

// overlap reports whether a shell's pattern and a name with stars have a name in common.
func overlap(glob, name string) bool {
	if name != "" && name[0] == '.' && strings.IndexByte("*?[", (glob + " ")[0]) >= 0 {
		return false
	}
	return common(globTokens(glob), []rune(name))
}

// globTokens is a pattern as runes, folded, with '*' and, for one unknown character, '?'.
func globTokens(glob string) []rune {
	var out []rune
	rs := []rune(glob)
	for i := 0; i < len(rs); i++ {
		switch {
		case rs[i] == '\\' && i+1 < len(rs):
			if i++; rs[i] == '*' || rs[i] == '?' {
				out = append(out, '\x00') // itself, which no name we look for holds
				continue
			}
			out = append(out, []rune(fold(string(rs[i]) + "x"))[0])
		case rs[i] == '[':
			end := i + 1
			for end < len(rs) && (rs[end] != ']' || end == i+1) {
				end++
			}
			if end == len(rs) {
				out = append(out, '*') // not a bracket after all: be on the safe side
				continue
			}
			out = append(out, '?')
			i = end
		case rs[i] == '*' || rs[i] == '?':
			out = append(out, rs[i])
		default:
			if f := []rune(fold(string(rs[i]) + "x")); len(f) > 0 {
				out = append(out, f[0])
			}
		}
	}
	return out
}

// common reports whether two patterns with '*' (and in the first '?') match a name in common.
func common(a, b []rune) bool {
	seen := map[[2]int]bool{}
	var try func(i, j int) bool
	try = func(i, j int) bool {
		if i == len(a) && j == len(b) {
			return true
		}
		at := [2]int{i, j}
		if seen[at] {
			return false
		}
		seen[at] = true
		if i < len(a) && a[i] == '*' && (try(i+1, j) || j < len(b) && try(i, j+1)) {
			return true
		}
		if j < len(b) && b[j] == '*' && (try(i, j+1) || i < len(a) && try(i+1, j)) {
			return true
		}
		return i < len(a) && j < len(b) && a[i] != '*' && b[j] != '*' && (a[i] == '?' || a[i] == b[j]) && try(i+1, j+1)
	}
	return try(0, 0)
}
