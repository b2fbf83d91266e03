package term

// row is one line: bytes as long as it is all ASCII, as most lines are, and runes from the first other character on.
// Both give every cell in constant time, so no sequence of edits is worse than linear.
type row struct {
	ascii []byte
	runes []rune
	wide  bool
}

func (r *row) len() int {
	if r.wide {
		return len(r.runes)
	}
	return len(r.ascii)
}

func (r *row) clear() {
	r.ascii, r.runes, r.wide = r.ascii[:0], r.runes[:0], false
}

func (r *row) widen() {
	if r.wide {
		return
	}
	r.wide = true
	r.runes = r.runes[:0]
	for _, b := range r.ascii {
		r.runes = append(r.runes, rune(b))
	}
}

// pad fills with spaces up to cell x.
func (r *row) pad(x int) {
	for !r.wide && len(r.ascii) < x {
		r.ascii = append(r.ascii, ' ')
	}
	for r.wide && len(r.runes) < x {
		r.runes = append(r.runes, ' ')
	}
}

func (r *row) set(x int, c rune) {
	if c < 0x80 && !r.wide {
		r.setASCII(x, []byte{byte(c)})
		return
	}
	r.widen()
	r.pad(x)
	if x == len(r.runes) {
		r.runes = append(r.runes, c)
		return
	}
	r.runes[x] = c
}

func (r *row) setASCII(x int, p []byte) {
	r.pad(x)
	if !r.wide {
		n := copy(r.ascii[x:], p)
		r.ascii = append(r.ascii, p[n:]...)
		return
	}
	for i, b := range p {
		if x+i < len(r.runes) {
			r.runes[x+i] = rune(b)
		} else {
			r.runes = append(r.runes, rune(b))
		}
	}
}

// cut drops everything from cell x on.
func (r *row) cut(x int) {
	if x >= r.len() {
		return
	}
	if r.wide {
		r.runes = r.runes[:x]
	} else {
		r.ascii = r.ascii[:x]
	}
}

// blank replaces cells from..to by spaces, as far as the row has them.
func (r *row) blank(from, to int) {
	for x := from; x < min(to, r.len()); x++ {
		if r.wide {
			r.runes[x] = ' '
		} else {
			r.ascii[x] = ' '
		}
	}
}

// remove removes n cells at x; the rest moves left.
func (r *row) remove(x, n int) {
	if x >= r.len() {
		return
	}
	n = min(n, r.len()-x)
	if r.wide {
		r.runes = append(r.runes[:x], r.runes[x+n:]...)
	} else {
		r.ascii = append(r.ascii[:x], r.ascii[x+n:]...)
	}
}

// insert inserts n spaces at x; the rest moves right and is cut at Width.
func (r *row) insert(x, n int) {
	if x >= r.len() {
		return
	}
	old := r.len()
	n = min(n, Width-x)
	r.pad(min(old+n, Width))
	if r.wide {
		copy(r.runes[x+n:], r.runes[x:old])
	} else {
		copy(r.ascii[x+n:], r.ascii[x:old])
	}
	r.blank(x, x+n)
}
