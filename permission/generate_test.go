//go:build unix

package permission_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/permission/shell/program"
)

// lineGen makes up commands: from the words of harmless ones, with quotes, redirections, substitutions and the tricks
// of the attacks put in at random.
type lineGen struct {
	*rand.Rand
	harmless, attacks []string
	commands          []string // of the tables
	words             []string
}

func newSpeaker(t testing.TB, seed uint64) *lineGen {
	s := &lineGen{Rand: rand.New(rand.NewPCG(seed, seed))}
	for _, l := range harmlessCommands(t) {
		s.harmless = append(s.harmless, l)
	}
	lines, proof := attacks(t)
	for n, l := range lines {
		if proof[n] {
			s.attacks = append(s.attacks, l)
		}
	}
	for name := range flagsByCommand() {
		s.commands = append(s.commands, name)
	}
	slices.Sort(s.commands)
	slices.Sort(s.harmless)
	slices.Sort(s.attacks)
	for _, l := range append(append([]string{}, s.harmless...), s.attacks...) {
		s.words = append(s.words, strings.Fields(l)...)
	}
	return s
}

func pick[T any](s *lineGen, from []T) T { return from[s.IntN(len(from))] }

var glue = []string{" ", " ", " ", "; ", " && ", " || ", " | ", " & ", "\n", " #\n", " # x\\\n", "\\\n", " \\\n", ";", "|", "\t", "", "''", `""`, "\\", "'", `"`, " <<EOF\n", "\nEOF\n", " 2>&1 ", " > ", " < ", " >& ", " {", "} ", "(", ")", "$(", "`", "$'", "${", "~", "=", "-", "--", "!", "[", "]", "*", "?", ","}

var inserts = []string{
	"x", "-o", "--output=x", "-delete", "-exec touch x ;", "-i", "w x", "$(touch x)", "`touch x`", "> x", ">> x", "2> x", "&> x", "<> x", "| tee x", "; touch x", "& touch x", "\ntouch x",
	"-e", "-f", "evil.sh", "./evil.sh", "-c", "--pre=./evil.sh", "{a,-o,x}", "-{o,x}", "$'-o'", "--", "/dev/tcp/127.0.0.1/9", "<(touch x)", "<<<x", "<<EOF\n$(touch x)\nEOF\n", "touch x", "PATH=.", "-C src",
	"'w x'", "s/a/b/w x", "s/h/touch x/e", "print > \"x\"", "system(\"touch x\")", "-n", "-p", "HEAD:x", "\\", "#", "'", "\"",
}

// say makes up one command.
func (s *lineGen) say() string {
	line := pick(s, s.harmless)
	switch s.IntN(12) {
	case 0:
		line = pick(s, s.attacks)
	case 1:
		line += pick(s, glue) + pick(s, s.harmless)
	case 2:
		line += pick(s, glue) + pick(s, s.attacks)
	case 3, 4, 5, 6, 7, 8:
		line = s.compose()
		if s.IntN(3) > 0 {
			return line
		}
	}
	for range s.IntN(4) {
		line = s.mutate(line)
	}
	return line
}

// mutate changes a line in one place.
func (s *lineGen) mutate(line string) string {
	at := 0
	if len(line) > 0 {
		at = s.IntN(len(line) + 1)
	}
	switch s.IntN(9) {
	case 0:
		return line[:at] + pick(s, glue) + line[at:]
	case 1:
		return line + " " + pick(s, inserts)
	case 2:
		return line[:at] + pick(s, inserts) + line[at:]
	case 3: // a word more
		fields := strings.SplitAfter(line, " ")
		i := s.IntN(len(fields))
		fields[i] += pick(s, s.words) + " "
		return strings.Join(fields, "")
	case 4: // a word of its own in quotes
		fields := strings.Split(line, " ")
		i := s.IntN(len(fields))
		fields[i] = pick(s, []string{"'", `"`, "$'", "\\", "''", `""`}) + fields[i] + pick(s, []string{"'", `"`, "", "''"})
		return strings.Join(fields, " ")
	case 5: // a piece less
		end := min(len(line), at+1+s.IntN(3))
		return line[:at] + line[end:]
	case 6: // a piece of another line
		other := pick(s, s.attacks)
		from := s.IntN(len(other))
		return line[:at] + other[from:min(len(other), from+1+s.IntN(20))] + line[at:]
	case 7:
		return pick(s, []string{"( ", "{ ", "if true; then ", "for f in a; do ", "! ", "time ", "cd src && ", "LC_ALL=C "}) + line +
			pick(s, []string{" )", "; }", "; fi", "; done", "", "", "", ""})
	}
	fields := strings.Split(line, " ")
	i, k := s.IntN(len(fields)), s.IntN(len(fields))
	fields[i], fields[k] = fields[k], fields[i]
	return strings.Join(fields, " ")
}

// flagsByCommand is every command that can be read-only with the flags that leave it so: "sort" and "git log" by name, flags
// as -a, -n VALUE, --color[=VALUE].
var flagsByCommand = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{"git": {}}
	for name, p := range program.ReadOnly().Plain {
		flags := []string{}
		for f, kind := range p.Flags {
			switch {
			case f == "-#":
				f = "-5"
			case kind == ':', kind == '@', kind == '%':
				f += " VALUE"
			case kind == '?' && len(f) > 2:
				f += "[=VALUE]"
			case kind == '?':
				f += "[VALUE]"
			}
			flags = append(flags, f)
		}
		slices.Sort(flags)
		all[name] = flags
	}
	return all
})
