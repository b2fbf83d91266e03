package search

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/soak"
)

// numbers lists the lines shown, matches with a colon and context with a dash.
func numbers(res *GrepResult) string {
	var b strings.Builder
	for _, f := range res.Files {
		for _, l := range f.Lines {
			fmt.Fprintf(&b, "%d%s ", l.Number, map[bool]string{true: ":", false: "-"}[l.Match])
		}
	}
	return fmt.Sprint(res.Matches, " ", b.String())
}

// TestSmallBuffers compares a search through a buffer that holds few lines with one that holds the whole file.
func TestSmallBuffers(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	words := []string{"foo", "bar", "x", "é", " ", "foo bar", "\t", "9", "kk", "\r"}
	for round := range soak.Count(60, 5000) {
		long := round%3 == 0
		var b strings.Builder
		for range 20 + r.Intn(200) {
			n := r.Intn(4)
			if long && r.Intn(30) == 0 {
				n = 100 + r.Intn(600) // longer than the buffer
			}
			for range n {
				b.WriteString(words[r.Intn(len(words))])
			}
			b.WriteString("\n")
		}
		text := b.String()
		if r.Intn(2) == 0 {
			text = strings.TrimSuffix(text, "\n")
		}
		top := tree(t, map[string]string{"f": text})
		for _, pattern := range []string{`foo`, `bar$`, `^x`, `[0-9]\s+f`, `é`, `^$`, `k{2}\b`, `o\sb`, `nothing`, `foo\n.`, `\n\nx`, `^(x|é)*\nfoo`, `\bk+\n\b`, `[^f]\n\n+[^b]`} {
			q := Query{Pattern: pattern, Multiline: strings.Contains(pattern, `\n`)}
			if q.Multiline && long {
				continue // a match may be longer than the window
			}
			req := GrepRequest{Scope: Scope{Paths: []string{top}, Workers: 1}, Pattern: mustCompile(t, q), MaxLine: 20}
			if !long {
				req.Before, req.After = r.Intn(3), r.Intn(3)
			}
			if r.Intn(3) == 0 {
				req.Limit = 1 + r.Intn(9)
			}
			want, err := Grep(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			req.buffer = 256
			got, err := Grep(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if numbers(got) != numbers(want) {
				t.Fatalf("round %d, %q, context %d %d, limit %d, on %q:\n got %s\nwant %s", round, pattern, req.Before, req.After, req.Limit, text, numbers(got), numbers(want))
			}
		}
	}
}
