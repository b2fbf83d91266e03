package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// withResult keeps the Result that Run returned with an error. The error's text comes first, unless the content has it.
func withResult(o Outcome, r Result) Outcome {
	if r.Display != nil {
		o.Result.Display = r.Display
	}
	o.Result.Compare, o.Result.Output, o.Result.Missed, o.Result.Hosts = r.Compare, r.Output, r.Missed, r.Hosts
	if len(r.Content) == 0 {
		return o
	}
	content := r.Content
	if !strings.Contains(r.Text(), o.Error.ForModel()) {
		content = append([]Part{Text(o.Error.ForModel() + "\n")}, content...)
		if t, ok := content[1].(Text); ok && len(content) == 2 {
			content = []Part{Text(o.Error.ForModel()+"\n\n") + t}
		}
	}
	o.Result.Content = content
	return o
}

// fit ensures that the result has text (only a tool that limits its own text may return none) and that all texts
// together are within the budget. A longer text is saved in full, and the model gets its start and end. saved are the
// paths.
func (e *scheduledCall) fit(parts []Part) (fitting []Part, saved []string) {
	if len(parts) == 0 || len(parts) == 1 && e.decl.Budget >= 0 && isBlank(parts[0]) {
		return []Part{Text("(" + e.decl.Name + " returned no output)")}, nil
	}
	budget := e.x.Budget
	if e.decl.Budget != 0 {
		budget = e.decl.Budget
	}
	if budget == 0 {
		budget = defaultBudget
	}
	if budget < 0 {
		return parts, nil
	}
	sizes, total := measure(parts)
	if total > budget && budget < leastShare*len(parts) {
		parts = gather(parts)
		sizes, _ = measure(parts)
	}
	shares := share(parts, sizes, budget)
	out := make([]Part, len(parts))
	for i, p := range parts {
		out[i] = p
		if t, ok := p.(Text); ok && sizes[i] > shares[i] {
			short, path := e.shortened(string(t), sizes[i], shares[i])
			out[i] = Text(short)
			if path != "" {
				saved = append(saved, path)
			}
		}
	}
	return out, saved
}

// masked returns an outcome without secret values.
func (x *Executor) masked(o Outcome) Outcome {
	if x.Mask == nil || !x.hasSecret(o) {
		return o
	}
	parts := make([]Part, len(o.Result.Content))
	for i, p := range o.Result.Content {
		if t, ok := p.(Text); ok {
			p = Text(x.Mask(string(t)))
		}
		parts[i] = p
	}
	o.Result.Content = parts
	o.Result.Output = x.Mask(o.Result.Output)
	o.Result.Display = x.maskedDisplay(o.Result.Display)
	o.Changes = o.Changes.Masked(x.Mask)
	if f := o.Error; f != nil {
		o.Error = &Failure{Type: f.Type, Message: x.Mask(f.Message), Model: x.Mask(f.Model)}
	}
	return o
}

// hasSecret reports whether an outcome contains a secret value. Mask may look for new ones on disk, which takes longer
// than to search a short text, so these are searched at once.
func (x *Executor) hasSecret(o Outcome) bool {
	var all strings.Builder
	found := false
	add := func(texts ...string) {
		for _, s := range texts {
			if len(s) > 64<<10 {
				found = found || x.Mask(s) != s
				continue
			}
			all.WriteString(s)
			all.WriteByte(0)
		}
	}
	for _, p := range o.Result.Content {
		if t, ok := p.(Text); ok {
			add(string(t))
		}
	}
	switch d := o.Result.Display.(type) {
	case nil:
	case FileDiff: // its texts may be long, and JSON takes ten times as long
		add(d.Diff, d.New, d.File, d.Path)
		add(d.Warnings...)
		if d.Original != nil {
			add(*d.Original)
		}
	default:
		b, err := MarshalDisplay(d)
		add(string(b))
		found = found || err != nil
	}
	if f := o.Error; f != nil {
		add(f.Message, f.Model)
	}
	add(o.Result.Output, o.Changes.texts())
	return found || x.Mask(all.String()) != all.String()
}

// maskedDisplay returns a display without secret values.
func (x *Executor) maskedDisplay(d Display) Display {
	switch d := d.(type) {
	case nil:
		return nil
	case FileDiff:
		masked := d
		if d.Original != nil {
			original := x.Mask(*d.Original)
			masked.Original = &original
		}
		masked.Diff, masked.New = x.Mask(d.Diff), x.Mask(d.New)
		masked.File, masked.Path = x.Mask(d.File), x.Mask(d.Path)
		masked.Warnings = slices.Clone(d.Warnings)
		for i, w := range d.Warnings {
			masked.Warnings[i] = x.Mask(w)
		}
		return masked
	}
	b, err := MarshalDisplay(d)
	if err != nil {
		return nil // it can't be sent either
	}
	text := x.Mask(string(b))
	if text == string(b) {
		return d
	}
	d, _ = UnmarshalDisplay(json.RawMessage(text))
	return d
}

// leastShare is the minimum size of a truncated text, since its header takes part of it.
const leastShare = 500

// measure counts the characters of each text, and of all.
func measure(parts []Part) (sizes []int, total int) {
	sizes = make([]int, len(parts))
	for i, p := range parts {
		if t, ok := p.(Text); ok {
			sizes[i] = utf8.RuneCountInString(string(t))
			total += sizes[i]
		}
	}
	return sizes, total
}

// gather joins all texts into one, at the position of the first.
func gather(parts []Part) []Part {
	var texts []string
	var out []Part
	at := -1
	for _, p := range parts {
		t, ok := p.(Text)
		if !ok {
			out = append(out, p)
			continue
		}
		if at < 0 {
			at = len(out)
			out = append(out, t)
		}
		texts = append(texts, string(t))
	}
	if at >= 0 {
		out[at] = Text(strings.Join(texts, "\n"))
	}
	return out
}

func isBlank(p Part) bool {
	t, ok := p.(Text)
	return ok && strings.TrimSpace(string(t)) == ""
}

// share splits the budget: short texts get what they need, the others equal parts of the rest.
func share(parts []Part, sizes []int, budget int) []int {
	shares := make([]int, len(parts))
	var open []int
	for i, p := range parts {
		if _, ok := p.(Text); ok {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		equal := budget / len(open)
		var rest []int
		for _, i := range open {
			if sizes[i] <= equal {
				shares[i] = sizes[i]
				budget -= sizes[i]
			} else {
				rest = append(rest, i)
			}
		}
		if len(rest) == len(open) {
			for _, i := range rest {
				shares[i] = equal
			}
			break
		}
		open = rest
	}
	return shares
}

// shortened returns the start and the end of a text, and the path of the full text; "": it isn't saved.
func (e *scheduledCall) shortened(s string, chars, budget int) (short, path string) {
	if e.x.Mask != nil {
		s = e.x.Mask(s)
	}
	size := fmt.Sprintf("%s characters, %s lines", humanize.Number(chars), humanize.Number(lines(s)))
	where := "The full output was not saved."
	if e.x.Spill != nil {
		kept, err := e.x.Spill(e.call, s)
		if err == nil {
			path = kept.Path
		}
		switch {
		case err != nil:
			where = fmt.Sprintf("Saving the full output failed: %v.", err)
		case kept.Dropped > 0:
			where = fmt.Sprintf("Full output, without the last %s bytes (over the size limit): %s.",
				humanize.Number(int(kept.Dropped)), kept.Path)
		default:
			where = fmt.Sprintf("Full output: %s.", kept.Path)
		}
	}
	header := fmt.Sprintf("Output truncated (%s). %s Showing the start and the end:\n\n", size, where)
	return header + Cut(s, budget-utf8.RuneCountInString(header)), path
}

// headShare is the part of a truncated text that its start gets: errors are usually at the end.
const headShare = 0.4

// Cut shortens s to about budget characters: its head and its tail, cut at line endings where lines are not too long,
// else between characters, with a line between them that says how much is omitted. A budget too small for that gives
// only that line.
func Cut(s string, budget int) string {
	total := utf8.RuneCountInString(s)
	if total <= budget {
		return s
	}
	room := budget - len(gap(total))
	if room <= 0 {
		return strings.TrimPrefix(gap(total), "\n")
	}
	head := cutEnd(s, int(float64(room)*headShare))
	tail := cutStart(s[len(head):], room-utf8.RuneCountInString(head))
	missing := utf8.RuneCountInString(s[len(head) : len(s)-len(tail)])
	return head + strings.TrimPrefix(gap(missing), newlineAfter(head)) + tail
}

func newlineAfter(head string) string {
	if head == "" || strings.HasSuffix(head, "\n") {
		return "\n"
	}
	return ""
}

func gap(missing int) string {
	return "\n… [" + humanize.Number(missing) + " characters omitted] …\n"
}

// cutEnd returns the first n characters of s, or fewer if a line ends in the second half of them.
func cutEnd(s string, n int) string {
	head := s[:offset(s, n)]
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)/2 {
		return head[:i+1]
	}
	return head
}

// cutStart returns the last n characters of s, or fewer if a line begins in the first half of them.
func cutStart(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	tail := s[i:]
	if j := strings.IndexByte(tail, '\n'); j >= 0 && j+1 <= len(tail)/2 {
		return tail[j+1:]
	}
	return tail
}

// offset returns the byte offset of the n-th character.
func offset(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

func lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
