package shell

import "strings"

const sedFlags = "-nErsuz -e: --quiet --silent --regexp-extended --separate --unbuffered --null-data --expression: --line-length: --posix --version"

// checkSed lets scripts pass that are made of commands that only print: p d q = l n N D P h H g G x y { } : b t a i c and
// s without the flags that write or run.
func checkSed(a *args) string {
	var scripts []Word
	for _, f := range a.flags {
		if f.name == "-e" || f.name == "--expression" {
			scripts = append(scripts, f.value)
		}
	}
	if len(scripts) == 0 {
		if len(a.operands) == 0 {
			return when(!a.has("--version"), "the sed script can't be checked")
		}
		scripts = a.operands[:1]
	}
	for _, s := range scripts {
		if s.Kind != Literal {
			return "the sed script can't be checked"
		}
		if why := sedScript(s.Text); why != "" {
			return why
		}
	}
	return ""
}

// sedReader reads a script from its front.
type sedReader struct{ rest string }

const sedBad = "the sed script is not on the read-only list"

func sedScript(script string) string {
	s := &sedReader{script}
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\n;}")
		if s.rest == "" {
			return ""
		}
		if !s.addresses() || s.rest == "" {
			return sedBad
		}
		c := s.rest[0]
		s.rest = s.rest[1:]
		ok := true
		switch {
		case strings.IndexByte("pd=nNDPhHgGxF", c) >= 0:
			ok = s.ends()
		case c == '{':
		case c == 'q' || c == 'Q' || c == 'l':
			s.rest = strings.TrimLeft(s.rest, " 0123456789")
			ok = s.ends()
		case c == 's' || c == 'y':
			ok = s.substitute(c)
		case c == ':' || c == 'b' || c == 't' || c == 'T':
			ok = s.label()
		case c == 'a' || c == 'i' || c == 'c':
			ok = s.text()
		default:
			ok = false
		}
		if !ok {
			return sedBad
		}
	}
}

// label skips the name of a place in the script. To some seds it goes on to the end of the line: then the rest of the
// line is no command, which is as well.
func (s *sedReader) label() bool {
	s.rest = strings.TrimLeft(strings.TrimLeft(s.rest, " \t"), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
	return s.ends()
}

// text skips a line that is put out, as GNU writes it: behind the command. One that goes on in the next is not read.
func (s *sedReader) text() bool {
	line, rest, _ := strings.Cut(s.rest, "\n")
	s.rest = rest
	return strings.Trim(line, " \t") != "" && strings.IndexByte(line, '\\') < 0
}

// ends reports whether a command ends here.
func (s *sedReader) ends() bool {
	s.rest = strings.TrimLeft(s.rest, " \t")
	return s.rest == "" || strings.IndexByte(";}\n", s.rest[0]) >= 0
}

// addresses skips what says which lines are meant.
func (s *sedReader) addresses() bool {
	for range 2 {
		if !s.address() {
			return false
		}
		s.rest = strings.TrimLeft(s.rest, " \t")
		if !strings.HasPrefix(s.rest, ",") {
			break
		}
		s.rest = strings.TrimLeft(s.rest[1:], " \t+~")
	}
	s.rest = strings.TrimLeft(s.rest, " \t!")
	return true
}

func (s *sedReader) address() bool {
	switch {
	case s.rest == "":
		return true
	case s.rest[0] == '/':
		s.rest = s.rest[1:]
		if !s.delimited('/', true) {
			return false
		}
		s.rest = strings.TrimLeft(s.rest, "IM")
	case s.rest[0] == '\\':
		return false
	default:
		s.rest = strings.TrimLeft(s.rest, "0123456789$~")
	}
	return true
}

// substitute skips s/a/b/flags and y/abc/def/.
func (s *sedReader) substitute(c byte) bool {
	if s.rest == "" || strings.IndexByte("/|,:#@!%_+", s.rest[0]) < 0 {
		return false
	}
	delimiter := s.rest[0]
	s.rest = s.rest[1:]
	for _, brackets := range []bool{c == 's', false} { // the pattern, and what replaces it
		if !s.delimited(delimiter, brackets) {
			return false
		}
	}
	if c == 's' {
		s.rest = strings.TrimLeft(s.rest, "gpiImM0123456789")
	}
	return s.ends()
}

// delimited skips up to and with the delimiter. In a pattern, a bracket that holds the delimiter is read differently
// by different seds, and so is one whose end they do not agree on.
func (s *sedReader) delimited(delimiter byte, brackets bool) bool {
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '\n':
			return false
		case c == '\\':
			i++
			if i < len(s.rest) && s.rest[i] == '\n' {
				return false
			}
		case c == delimiter:
			s.rest = s.rest[i+1:]
			return true
		case c == '[' && brackets:
			n := sedBracket(s.rest[i:])
			if n == 0 || strings.IndexByte(s.rest[i:i+n], delimiter) >= 0 {
				return false
			}
			i += n - 1
		}
	}
	return false
}

// sedBracket is the length of the set that s begins with; 0 where seds may not agree on it: only [abc], [^abc] and
// classes such as [[:alpha:]] in it are read.
func sedBracket(s string) int {
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	for first := i; i < len(s); i++ {
		switch s[i] {
		case ']':
			if i == first {
				return 0
			}
			return i + 1
		case '[':
			end := strings.Index(s[i:], ":]")
			if !strings.HasPrefix(s[i:], "[:") || end < 0 || strings.Trim(s[i+2:i+end], "abcdefghijklmnopqrstuvwxyz") != "" {
				return 0
			}
			i += end + 1
		case '\\': // itself, or with the next one a character
			if i++; i == len(s) || !isLetter(s[i]) && strings.IndexByte(".-+*?$(){}", s[i]) < 0 {
				return 0
			}
		case '\n':
			return 0
		}
	}
	return 0
}

// sedFiles are what may be files in a script of sed: what stands behind an r, R, w or W to the end of the line. known is
// false if there are too many of these letters to look at.
func sedFiles(script string) (files []string, known bool) {
	const most = 64
	for i := 0; i < len(script); i++ {
		if strings.IndexByte("rRwW", script[i]) < 0 {
			continue
		}
		if len(files) == most {
			return files, false
		}
		file, _, _ := strings.Cut(script[i+1:], "\n")
		if file = strings.TrimLeft(file, " \t"); len(file) <= maxPath {
			files = append(files, file)
		}
	}
	return files, true
}
