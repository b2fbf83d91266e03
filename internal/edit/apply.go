package edit

// Result is what several edits make of a text.
type Result struct {
	Text    string
	Spans   []Span  // the whole change as spans of the text the edits were applied to
	Matches []Match // one for each edit, found in the result of the one before
}

// Apply makes the edits one after the other, each on the result of the one before, or none of them. An error of one
// of several edits comes in a *[BatchError]; edits that undo each other are a *[NoChangeError].
func Apply(text string, edits []Edit) (Result, error) {
	r := Result{Text: text}
	for i, e := range edits {
		m, err := Find(r.Text, e)
		if err != nil {
			if len(edits) > 1 {
				err = &BatchError{Index: i, Err: err}
			}
			return Result{}, err
		}
		r.Spans = compose(r.Spans, r.Text, m.Spans)
		r.Text = m.Apply(r.Text)
		r.Matches = append(r.Matches, m)
	}
	if r.Text == text {
		return Result{}, &NoChangeError{}
	}
	return r, nil
}

// compose returns the spans that do at once what first and then second do. Second are spans of between, the text that
// first leads to. Spans that touch become one.
func compose(first []Span, between string, second []Span) []Span {
	if len(first) == 0 {
		return second
	}
	var out []Span
	shift := 0 // how much further on between is than the original, after the spans of first seen so far
	for len(first) > 0 || len(second) > 0 {
		start := groupStart(first, shift, second)
		end, origStart := start, start-shift
		var inside []Span
		for {
			if len(first) > 0 && first[0].Start+shift <= end {
				s := first[0]
				end = max(end, s.Start+shift+len(s.New))
				shift += len(s.New) - (s.End - s.Start)
				first = first[1:]
			} else if len(second) > 0 && second[0].Start <= end {
				end = max(end, second[0].End)
				inside = append(inside, Span{second[0].Start - start, second[0].End - start, second[0].New})
				second = second[1:]
			} else {
				break
			}
		}
		out = append(out, Span{origStart, end - shift, replace(between[start:end], inside)})
	}
	return out
}

// groupStart is where in between the next group of touching spans begins.
func groupStart(first []Span, shift int, second []Span) int {
	switch {
	case len(first) == 0:
		return second[0].Start
	case len(second) == 0:
		return first[0].Start + shift
	}
	return min(first[0].Start+shift, second[0].Start)
}
