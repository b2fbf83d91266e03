package shell

import (
	"slices"
)

// Vocabulary is every command that can be harmless with the flags that leave it so: "sort" and "git log" by name, flags
// as -a, -n VALUE, --color[=VALUE]. It is for documents and tests; judging needs more than flags.
func Vocabulary() map[string][]string {
	all := map[string][]string{}
	for name, set := range flagSets() {
		flags := []string{}
		for f, kind := range set {
			switch {
			case f == "-#":
				f = "-5"
			case kind == valued, kind == reading:
				f += " VALUE"
			case kind == optional && len(f) > 2:
				f += "[=VALUE]"
			case kind == optional:
				f += "[VALUE]"
			}
			flags = append(flags, f)
		}
		if name == "find" {
			for f, n := range findTests {
				if n == 1 {
					f += " VALUE"
				}
				flags = append(flags, f)
			}
		}
		slices.Sort(flags)
		all[name] = flags
	}
	return all
}
