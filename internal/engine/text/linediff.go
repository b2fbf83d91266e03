package text

import "slices"

// hunk means that lines oldFrom..oldTo became newFrom..newTo, followed by the same lines in both.
type hunk struct {
	oldFrom, oldTo int
	newFrom, newTo int
	same           int
}

// diffLines compares lines with patience diff: lines that occur once on both sides are anchors. It takes about n log n;
// without anchors, short ranges are compared thoroughly and long ones count as changed.
func diffLines(old, now []string) []hunk {
	ids := make(map[string]int, len(old))
	number := func(lines []string) []int {
		out := make([]int, len(lines))
		for i, l := range lines {
			n, ok := ids[l]
			if !ok {
				n = len(ids)
				ids[l] = n
			}
			out[i] = n
		}
		return out
	}
	var same []pair
	matchLines(number(old), number(now), 0, 0, &same)
	return hunks(same, len(old), len(now))
}

// pair is a line of the old text and the equal one in the new text.
type pair struct{ a, b int }

func hunks(same []pair, n, m int) []hunk {
	var out []hunk
	h := hunk{}
	for _, p := range same {
		if h.same > 0 && p.a == h.oldTo+h.same && p.b == h.newTo+h.same {
			h.same++
			continue
		}
		if h.same > 0 {
			out = append(out, h)
			h = hunk{oldFrom: h.oldTo + h.same, newFrom: h.newTo + h.same}
		}
		h.oldTo, h.newTo, h.same = p.a, p.b, 1
	}
	if h.same > 0 {
		out = append(out, h)
		h = hunk{oldFrom: h.oldTo + h.same, newFrom: h.newTo + h.same}
	}
	h.oldTo, h.newTo = n, m
	if h.oldTo > h.oldFrom || h.newTo > h.newFrom {
		out = append(out, h)
	}
	return out
}

// matchLines appends the pairs of a and b, which start at offsets i and j.
func matchLines(a, b []int, i, j int, same *[]pair) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		*same = append(*same, pair{i, j})
		a, b, i, j = a[1:], b[1:], i+1, j+1
	}
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	if len(a) > 0 && len(b) > 0 {
		if anchors := uniqueAnchors(a, b); len(anchors) > 0 {
			fromA, fromB := 0, 0
			for _, p := range anchors {
				if p.a < fromA || p.b < fromB {
					continue
				}
				matchLines(a[fromA:p.a], b[fromB:p.b], i+fromA, j+fromB, same)
				*same = append(*same, pair{i + p.a, j + p.b})
				fromA, fromB = p.a+1, p.b+1
			}
			matchLines(a[fromA:], b[fromB:], i+fromA, j+fromB, same)
		} else if len(a)*len(b) <= 1<<18 {
			longest(a, b, i, j, same)
		}
	}
	for k := range tail {
		*same = append(*same, pair{i + len(a) + k, j + len(b) + k})
	}
}

// uniqueAnchors returns the longest ascending run of lines that occur exactly once
// on each side.
func uniqueAnchors(a, b []int) []pair {
	type seen struct{ inA, inB, a, b int }
	at := map[int]*seen{}
	for i, x := range a {
		if at[x] == nil {
			at[x] = &seen{}
		}
		at[x].inA++
		at[x].a = i
	}
	for j, x := range b {
		if s := at[x]; s != nil {
			s.inB++
			s.b = j
		}
	}
	var once []pair
	for i, x := range a {
		if s := at[x]; s.inA == 1 && s.inB == 1 {
			once = append(once, pair{i, s.b})
		}
	}
	return ascending(once)
}

// ascending returns the longest subsequence with ascending b (patience sorting).
func ascending(ps []pair) []pair {
	var piles []int // index into ps of each pile's top
	prev := make([]int, len(ps))
	for i, p := range ps {
		k, _ := slices.BinarySearchFunc(piles, p.b, func(top, b int) int { return ps[top].b - b })
		prev[i] = -1
		if k > 0 {
			prev[i] = piles[k-1]
		}
		if k == len(piles) {
			piles = append(piles, i)
		} else {
			piles[k] = i
		}
	}
	var out []pair
	if len(piles) > 0 {
		for i := piles[len(piles)-1]; i >= 0; i = prev[i] {
			out = append(out, ps[i])
		}
	}
	slices.Reverse(out)
	return out
}

// longest is the plain longest common subsequence, for short ranges.
func longest(a, b []int, i, j int, same *[]pair) {
	w := len(b) + 1
	table := make([]int32, (len(a)+1)*w)
	for x := len(a) - 1; x >= 0; x-- {
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] == b[y] {
				table[x*w+y] = table[(x+1)*w+y+1] + 1
			} else {
				table[x*w+y] = max(table[(x+1)*w+y], table[x*w+y+1])
			}
		}
	}
	for x, y := 0, 0; x < len(a) && y < len(b); {
		switch {
		case a[x] == b[y]:
			*same = append(*same, pair{i + x, j + y})
			x, y = x+1, y+1
		case table[(x+1)*w+y] >= table[x*w+y+1]:
			x++
		default:
			y++
		}
	}
}
