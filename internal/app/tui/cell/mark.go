package cell

// Mark adds a style to the part of a line between two bytes of its text.
func (l Line) Mark(from, to int, style Style) Line {
	if from >= to {
		return l
	}
	out := append(Line{}, l.slice(0, from)...)
	for _, s := range l.slice(from, to) {
		s.Style = s.Style.With(style)
		out = append(out, s)
	}
	return append(out, l.slice(to, len(l.String()))...)
}
