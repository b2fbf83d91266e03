package shell

import "encoding/binary"

// First is the first command of the script that is equal to c in all that is judged: what was found out about one
// holds for the other. It is c itself where there is none.
func (c *Command) First() *Command {
	if c.first == nil {
		return c
	}
	return c.first
}

// sameness finds equal commands.
type sameness struct {
	seen    map[string]*Command
	key     []byte
	folders []byte   // how the folders are written down in a key that
	last    []string // were the last ones: nearly all commands run where the one before did
}

// first is the first command equal to c, which stands in a place of its own by now. All of a command takes part, and
// all of those that run it, but for how it is written: Source says no more than the words do.
func (s *sameness) first(c *Command) *Command {
	s.key = s.key[:0]
	if c.By != nil {
		if c.By.first == nil {
			return c
		}
		s.number(c.By.first.number)
	}
	s.flags(c.By != nil, c.AddsArgs, c.MayRun, c.keyword, c.doubtful)
	s.text(c.mark)
	s.number(int(c.Place))
	s.dirs(c.Dirs)
	s.number(len(c.Words))
	for _, w := range c.Words {
		s.word(w)
	}
	s.number(len(c.Prefix))
	for _, a := range c.Prefix {
		s.text(a.Name)
		s.word(a.Value)
		s.flags(a.Odd, a.Told)
	}
	for _, d := range c.Redirs {
		s.text(d.Op)
		s.text(d.Number)
		s.word(d.Target)
		s.flags(d.File, d.Write)
		s.dirs(d.Dirs)
		s.number(len(d.cases))
		for _, w := range d.cases {
			s.word(w)
		}
	}
	if c.fed != nil {
		s.number(c.fed.number)
	} else {
		s.number(0)
	}
	s.number(len(c.globs))
	for _, w := range c.globs {
		s.word(w)
	}
	for _, words := range c.cases {
		s.number(len(words) + 1)
		for _, w := range words {
			s.word(w)
		}
	}
	if first, ok := s.seen[string(s.key)]; ok {
		return first
	}
	if s.seen == nil {
		s.seen = map[string]*Command{}
	}
	s.seen[string(s.key)] = c
	c.number = len(s.seen)
	return c
}

func (s *sameness) number(n int) { s.key = binary.AppendUvarint(s.key, uint64(n)) }

func (s *sameness) text(t string) {
	s.number(len(t))
	s.key = append(s.key, t...)
}

func (s *sameness) word(w Word) {
	s.number(int(w.Kind))
	s.text(w.Text)
}

func (s *sameness) flags(bits ...bool) {
	n := 0
	for _, b := range bits {
		n <<= 1
		if b {
			n |= 1
		}
	}
	s.number(n)
}

// dirs tells folders that are not known from none.
func (s *sameness) dirs(dirs []string) {
	if len(dirs) > 0 && len(dirs) == len(s.last) && &dirs[0] == &s.last[0] {
		s.key = append(s.key, s.folders...)
		return
	}
	from := len(s.key)
	s.flags(dirs == nil)
	s.number(len(dirs))
	for _, d := range dirs {
		s.text(d)
	}
	s.last, s.folders = dirs, append(s.folders[:0], s.key[from:]...)
}
