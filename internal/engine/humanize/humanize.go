// Package humanize writes numbers, sizes, durations and lists for users and models. It needs only the standard library.
package humanize

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Number writes n with separators: 1,234,567.
func Number[T ~int | ~int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number of things: "1 file", "1,200 files", "2 files or directories".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	words := strings.Split(noun, " or ")
	for i, w := range words {
		if stem, ok := strings.CutSuffix(w, "ory"); ok {
			w = stem + "orie"
		}
		words[i] = w + "s"
	}
	return Number(n) + " " + strings.Join(words, " or ")
}

// Bytes writes a number of bytes: "1 byte", "512 bytes", "1.5 KB", "10 MB".
func Bytes(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}} {
		if n >= unit.bytes-unit.bytes/2048 { // 1,023.95 KB is 1 MB
			text := strconv.FormatFloat(float64(n)/float64(unit.bytes), 'f', 1, 64)
			return strings.TrimSuffix(text, ".0") + " " + unit.name
		}
	}
	return Count(int(n), "byte")
}

// Seconds writes a duration in whole seconds: "8 s", "2 min 5 s". It fits a clock that runs.
func Seconds(d time.Duration) string {
	n := int(max(0, d).Round(time.Second) / time.Second)
	switch {
	case n < 60:
		return fmt.Sprintf("%d s", n)
	case n < 3600:
		return fmt.Sprintf("%d min %d s", n/60, n%60)
	}
	return fmt.Sprintf("%d h %d min", n/3600, n%3600/60)
}

// Duration writes how long something took: "12 ms", "2.1 s", "45 s", "2 min 5 s".
func Duration(d time.Duration) string {
	switch {
	case d < 50*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return Seconds(d)
}

// Wait writes a limit or a planned wait: "50 ms", "1.5 s", "30 s", "2 min".
func Wait(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	}
	return strings.TrimSuffix(Seconds(d), " 0 s")
}

// Age describes roughly how long ago something was.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// List joins about this many items, and counts the rest if there are several: "a, b, 3 more".
func List(items []string, limit int) string {
	if n := len(items) - limit; n > 1 {
		return strings.Join(items[:limit], ", ") + ", " + Number(n) + " more"
	}
	return strings.Join(items, ", ")
}

// Cut cuts a text to a number of bytes, and appends "…" if there were more.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Line returns a text as one line of at most a number of characters. A longer one ends with "…".
func Line(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > limit {
		return string([]rune(s)[:limit-1]) + "…"
	}
	return s
}

// LongestRun returns how often a byte is repeated at most: a fence of Markdown has one more.
func LongestRun(s string, c byte) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// Shorten cuts a text to a number of characters, and appends how many are missing.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + fmt.Sprintf("… (%d more characters)", utf8.RuneCountInString(s[i:]))
		}
		n++
	}
	return s
}
