package tool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// saying returns a tool with a given result.
func saying(parts ...tool.Part) *fakeTool {
	return fake("say", tool.Think, tool.Invocation{
		Access: []tool.Access{tool.Nothing},
		Run:    func(context.Context, *tool.Live) (tool.Result, error) { return tool.Result{Content: parts}, nil },
	})
}

func budgeted(f *fakeTool, budget int) *tool.Executor {
	return &tool.Executor{
		Registry: tool.NewRegistry(f), Budget: budget,
		Policy: func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
	}
}

func textOf(t *testing.T, x *tool.Executor) string {
	t.Helper()
	return begin(t.Context(), x, "say").Wait()[0].Result.Text()
}

func TestBudgetAndJSON(t *testing.T) {
	long := strings.Repeat("0123456789\n", 1000)
	var kept []string
	x := budgeted(saying(tool.Text(long)), 500)
	x.Spill = func(c tool.Call, s string) (tool.Spilled, error) {
		kept = append(kept, c.Name+" "+fmt.Sprint(s == long))
		return tool.Spilled{Path: "/state/1"}, nil
	}
	got := textOf(t, x)
	wantSame(t, "kept", []string{"say true"}, kept)
	if n := utf8.RuneCountInString(got); n > 500 || n < 400 {
		t.Errorf("%d characters for a budget of 500", n)
	}
	wantSame(t, "text", "Output truncated (11,000 characters, 1,000 lines). Full output: /state/1. Showing the start and the end:\n\n"+
		strings.Repeat("0123456789\n", 12)+"… [10,648 characters omitted] …\n"+strings.Repeat("0123456789\n", 20), got)

	for name, tt := range map[string]struct {
		spill func(tool.Call, string) (tool.Spilled, error)
		want  string
	}{
		"nowhere":     {nil, "The full output was not saved."},
		"a full disk": {func(tool.Call, string) (tool.Spilled, error) { return tool.Spilled{}, errors.New("disk full") }, "Saving the full output failed: disk full."},
		"in part": {func(tool.Call, string) (tool.Spilled, error) { return tool.Spilled{Path: "/p", Dropped: 1234}, nil },
			"Full output, without the last 1,234 bytes (over the size limit): /p."},
	} {
		x := budgeted(saying(tool.Text(long)), 500)
		x.Spill = tt.spill
		if got := textOf(t, x); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestBudgetOfTools(t *testing.T) {
	long := strings.Repeat("x", 30_000)
	for _, tt := range []struct{ executor, tool, low, high int }{
		{0, 0, 24_000, 25_000}, {1000, 0, 900, 1000}, {0, 2000, 1900, 2000}, {1000, 2000, 1900, 2000}, {1000, -1, 30_000, 30_000}, {-1, 0, 30_000, 30_000},
	} {
		f := saying(tool.Text(long))
		f.decl.Budget = tt.tool
		if n := len(textOf(t, budgeted(f, tt.executor))); n < tt.low || n > tt.high {
			t.Errorf("budgets %d and %d gave %d characters", tt.executor, tt.tool, n)
		}
	}
	if got := textOf(t, budgeted(saying(tool.Text(strings.Repeat("日", 1000))), 1000)); utf8.RuneCountInString(got) != 1000 {
		t.Error("a budget of 1000 characters is not one of bytes")
	}
}

// Several texts share the budget: short ones stay complete, and not each of many gets a header.
func TestBudgetIsShared(t *testing.T) {
	image := tool.Media{MIMEType: "image/png", Data: []byte{1}}
	long := tool.Text(strings.Repeat("x", 5000))
	out := begin(t.Context(), budgeted(saying(tool.Text("short"), image, long, long), 2000), "say").Wait()[0].Result.Content
	wantSame(t, "parts", 4, len(out))
	wantSame(t, "short and image", []tool.Part{tool.Text("short"), image}, out[:2])
	total := 0
	for _, p := range out {
		if s, ok := p.(tool.Text); ok {
			total += len(s)
		}
	}
	if total > 2100 || total < 1800 {
		t.Errorf("%d characters for a budget of 2000", total)
	}

	var many []tool.Part
	for i := range 500 {
		many = append(many, tool.Text(fmt.Sprintf("part %d %s", i, strings.Repeat("y", 1000))))
	}
	spills := 0
	x := budgeted(saying(append(many, image)...), 25_000)
	x.Spill = func(tool.Call, string) (tool.Spilled, error) {
		spills++
		return tool.Spilled{Path: "/p"}, nil
	}
	result := begin(t.Context(), x, "say").Wait()[0].Result
	if n := len(result.Text()); n > 26_000 {
		t.Errorf("500 parts gave %d characters for a budget of 25,000", n)
	}
	wantSame(t, "spills", 1, spills)
	wantSame(t, "the image is still there", true, result.Content[len(result.Content)-1] != nil && strings.Contains(result.Text(), "[image/png, 1 bytes]"))
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in     string
		budget int
		want   string
	}{
		{"short", 5, "short"},
		{"", 0, ""},
		{strings.Repeat("x", 100), 60, strings.Repeat("x", 10) + "\n… [74 characters omitted] …\n" + strings.Repeat("x", 16)},
		{"one\ntwo\nthree\nfour\n" + strings.Repeat("z", 50) + "\nfive\nsix\nseven\n", 60, "one\ntwo\n… [62 characters omitted] …\nfive\nsix\nseven\n"},
		{strings.Repeat("日", 100), 10, "… [100 characters omitted] …\n"},
		{"abc", -1, "… [3 characters omitted] …\n"},
	} {
		wantSame(t, fmt.Sprint(tt.in, tt.budget), tt.want, tool.Cut(tt.in, tt.budget))
	}
}

func FuzzCut(f *testing.F) {
	f.Add("one\ntwo\nthree\n", 5)
	f.Add(strings.Repeat("line of text\n", 100), 300)
	f.Add(strings.Repeat("日本\n", 300), 200)
	f.Add(strings.Repeat("\xff\n", 300), 250)
	f.Add(strings.Repeat("x", 1000)+"\n\n\n", 201)
	f.Fuzz(func(t *testing.T, s string, budget int) {
		total := utf8.RuneCountInString(s)
		out := tool.Cut(s, budget)
		if total <= budget {
			if out != s {
				t.Fatalf("Cut(%q, %d) = %q", s, budget, out)
			}
			return
		}
		if n := utf8.RuneCountInString(out); budget >= 200 && n > budget {
			t.Errorf("%d characters for a budget of %d", n, budget)
		}
		if utf8.ValidString(s) && !utf8.ValidString(out) {
			t.Errorf("Cut(%q, %d) cuts a character", s, budget)
		}
		if !honest(s, out) {
			t.Errorf("Cut(%q, %d) = %q", s, budget, out)
		}
	})
}

// honest reports whether out is a head of s, a line with the omitted length, and a tail of s.
func honest(s, out string) bool {
	const open, shut = "… [", " characters omitted] …\n"
	for i := 0; ; {
		j := strings.Index(out[i:], open)
		if j < 0 {
			return false
		}
		i += j
		head, rest := out[:i], out[i+len(open):]
		i += len(open)
		number, tail, ok := strings.Cut(rest, shut)
		if !ok {
			return false
		}
		var missing int
		if _, err := fmt.Sscan(strings.ReplaceAll(number, ",", ""), &missing); err != nil {
			continue
		}
		for _, h := range []string{head, strings.TrimSuffix(head, "\n")} {
			if strings.HasPrefix(s, h) && strings.HasSuffix(s, tail) && len(h)+len(tail) <= len(s) &&
				utf8.RuneCountInString(s[len(h):len(s)-len(tail)]) == missing {
				return true
			}
		}
	}
}

// Results of a megabyte each, in turns of ten: only what the model gets stays in memory.
func TestHeapStaysSmall(t *testing.T) {
	serial.Test(t)
	if highest := megabytes(t, int(20+80*soak.Share())); highest > 64 {
		t.Errorf("the heap grew to %d MB", highest)
	}
}

// BenchmarkMegabyteResults runs a thousand of them, and reports the highest heap.
func BenchmarkMegabyteResults(b *testing.B) {
	var highest uint64
	for b.Loop() {
		highest = max(highest, megabytes(b, 100))
	}
	b.ReportMetric(float64(highest), "heap-MB")
}

// megabytes runs turns of ten calls, and returns the highest heap after a turn.
func megabytes(t testing.TB, turns int) (highest uint64) {
	f := fake("say", tool.Think, tool.Invocation{
		Access: []tool.Access{tool.Nothing},
		Run: func(context.Context, *tool.Live) (tool.Result, error) {
			return tool.TextResult(strings.Repeat("0123456789abcde\n", 1<<16)), nil
		},
	})
	x := budgeted(f, 0)
	x.Spill = func(tool.Call, string) (tool.Spilled, error) { return tool.Spilled{Path: "/p"}, nil }
	x.Observe = func(tool.Event) {}
	var outcomes []tool.Outcome // a conversation keeps them
	for range turns {
		b := x.Batch(t.Context())
		for range 10 {
			b.Add(tool.Call{Name: "say"})
		}
		outcomes = append(outcomes, b.Wait()...)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		highest = max(highest, m.HeapAlloc>>20)
	}
	runtime.KeepAlive(outcomes)
	return highest
}
