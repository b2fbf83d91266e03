package screentest

// Resize changes the size. With reflow, lines are wrapped again at the new width, as in most terminals; without, longer
// lines are cut, as in xterm.
func (s *Screen) Resize(columns, rows int, reflow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other != nil { // the normal screen changes too; the alternate one has no scrollback and isn't wrapped
		s.pending = false
		shown := s.rows
		x, y := s.x, s.y
		s.rows, s.x, s.y = s.other.rows, s.other.x, s.other.y
		s.resize(columns, rows, reflow)
		s.other.rows, s.other.x, s.other.y = s.rows, s.x, s.y
		s.rows = make([]row, rows)
		for i := range min(rows, len(shown)) {
			s.rows[i] = row{cells: shown[i].cells[:min(len(shown[i].cells), columns)]}
		}
		s.x, s.y = min(x, columns-1), min(y, rows-1)
		return
	}
	s.resize(columns, rows, reflow)
}

func (s *Screen) resize(columns, rows int, reflow bool) {
	all := append(append([]row{}, s.above...), s.rows...)
	y, x := len(s.above)+s.y, s.x
	if s.pending {
		x++
	}
	end := len(all) // rows below the cursor that are empty are not kept
	for end > y+1 && len(all[end-1].cells) == 0 {
		end--
	}
	all = all[:end]
	if columns != s.columns {
		if reflow {
			all, y, x = rewrap(all, y, x, columns)
		} else {
			for i := range all[len(s.above):] {
				r := &all[len(s.above)+i]
				r.cells = r.cells[:min(len(r.cells), columns)]
			}
		}
	}
	s.columns, s.height = columns, rows
	top := max(0, len(all)-rows)
	if !reflow {
		top = max(len(s.above), len(all)-rows)
	}
	top = min(top, y)
	s.above = all[:top:top]
	s.rows = append([]row{}, all[top:]...)
	s.rows = s.rows[:min(len(s.rows), rows)]
	for len(s.rows) < rows {
		s.rows = append(s.rows, row{})
	}
	s.y, s.x, s.pending = min(y-top, rows-1), min(x, columns-1), false
}

// rewrap breaks lines at a width, and returns where the cursor is then.
func rewrap(all []row, y, x, columns int) (out []row, newY, newX int) {
	for i := 0; i < len(all); i++ {
		var line []cell
		at := -1 // the cursor in line
		for {
			cells := all[i].cells
			if i == y {
				at = len(line) + x
			}
			line = append(line, cells...)
			if !all[i].wrapped || i+1 == len(all) {
				break
			}
			i++
		}
		for len(line) > 0 && line[len(line)-1].text == "" && !line[len(line)-1].half {
			line = line[:len(line)-1]
		}
		if at >= 0 {
			newY, newX = len(out)+at/columns, at%columns
		}
		for len(line) > columns {
			n := columns
			if line[n].half && n > 1 {
				n--
			}
			out = append(out, row{cells: line[:n:n], wrapped: true})
			line = line[n:]
		}
		out = append(out, row{cells: line})
		for len(out) <= newY {
			out = append(out, row{})
		}
	}
	return out, newY, newX
}
