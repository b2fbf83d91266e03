package approval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Keep is the approval of some of the effects of a tried call, by their paths.
func Keep(paths []string) tool.Decision {
	answer, _ := json.Marshal(struct { // strings
		Keep []string `json:"keep"`
	}{append([]string{}, paths...)})
	return tool.Decision{Verdict: tool.Allow, Answer: answer}
}

// RunAgain discards the effects of a tried call and runs the call, with network.
func RunAgain(f tool.Effects) tool.Decision {
	return tool.Decision{Verdict: tool.Allow, Direct: len(f.Changes) > 0} // without effects, that is what is asked
}

// IsDiscard reads a "d", and the reason that may follow it.
func IsDiscard(typed string) (reason string, ok bool) {
	word, reason, _ := strings.Cut(typed, " ")
	word = strings.ToLower(strings.TrimRight(word, ":,"))
	return strings.TrimSpace(reason), word == "d" || word == "discard"
}

// Numbers reads a choice of items: "1, 3-5". The error says what to type instead.
func Numbers(typed string, most int) ([]int, error) {
	wrong := fmt.Errorf("Enter numbers from 1 to %d, such as 1,3 or 2-4", most)
	var out []int
	for _, word := range strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ' ' }) {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 1 || to > most || from > to {
			return nil, wrong
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, wrong
	}
	return out, nil
}

// Picks are the effects as parts that can be taken or left alone, in the order of the changes.
func Picks(f tool.Effects) []Hunk {
	var out []Hunk
	for _, c := range f.Changes {
		out = append(out, Hunk{Diff: c.Diff})
	}
	return out
}
