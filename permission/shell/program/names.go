package program

import "github.com/adze-dev/adze/permission/shell/bash"

// ExecEnd returns the end of the command after an -exec at i.
func ExecEnd(words []bash.Word, i int) int {
	end := i + 1
	for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && end > 0 && words[end-1].Text == "{}") {
		end++
	}
	return end
}

// FindTakes reports whether find takes the next word for the value of a test.
func FindTakes(test string) bool {
	kind := ReadOnly().Plain["find"].Flags[test]
	return kind == valued || kind == Reading
}

// HeldVar reports whether a variable of the shell, which isn't exported, may have any value: its name means nothing to
// the shell or to a program.
func HeldVar(name string) bool {
	p := ReadOnly().Enforced["NAME"]
	return bash.IsScratchVar(name) || p.form.matches(name+"\n") && !p.ban.matches(name)
}

// IsLetter reports whether c can be part of a name in a program.
func IsLetter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}
