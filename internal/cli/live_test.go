package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/tool"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// runs is a command that has printed some lines.
func runs(id, command string, ago time.Duration, output ...string) func(*live) {
	return func(l *live) {
		r := tool.Request{
			Call: tool.Call{ID: id}, Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell"},
			Invocation: tool.Invocation{Description: "run " + command},
		}
		l.begin(r, began.Add(-ago))
		l.show(r.Call, tool.Literal(strings.Join(output, "\n")))
	}
}

func TestLiveLines(t *testing.T) {
	thinks := func(ago time.Duration) func(*live) { return func(l *live) { l.thinking = began.Add(-ago) } }
	var many []func(*live)
	for i := range 20 {
		many = append(many, runs(fmt.Sprint(i), fmt.Sprint("job ", i), 0, "a", "b", "c"))
	}
	for name, c := range map[string]struct {
		state         []func(*live)
		columns, rows int
		want          string
	}{
		"nothing":                 {nil, 80, 24, ""},
		"the model thinks":        {[]func(*live){thinks(4 * time.Second)}, 80, 24, "◐ 4 s"},
		"the mark turns":          {[]func(*live){thinks(4250 * time.Millisecond)}, 80, 24, "◓ 4 s"},
		"minutes":                 {[]func(*live){thinks(125 * time.Second)}, 80, 24, "◐ 2 min 5 s"},
		"a call, not the model":   {[]func(*live){thinks(time.Second), runs("1", "make", 18*time.Second)}, 80, 24, "◐ Shell: run make  18 s"},
		"the last three lines":    {[]func(*live){runs("1", "make", 0, "1", "2", "3", "4\tx", "")}, 80, 24, "◐ Shell: run make  0 s\n    2\n    3\n    4    x"},
		"nothing acts":            {[]func(*live){runs("1", "make", 0, "a\x1b[2Jb\rc")}, 80, 24, "◐ Shell: run make  0 s\n    a\\x1b[2Jb\\rc"},
		"narrow":                  {[]func(*live){runs("1", "make everything", 0, "a line that is too long")}, 21, 24, "◐ Shell: run m…  0 s\n    a line that is …"},
		"wide characters":         {[]func(*live){runs("1", "世界世界", 0)}, 21, 24, "◐ Shell: run …  0 s"},
		"low":                     {[]func(*live){runs("1", "make", 0, "a", "b", "c")}, 80, 3, "◐ Shell: run make  0 s\n    c"},
		"several share the space": {[]func(*live){runs("1", "x", 0, "a", "b"), runs("2", "y", 0, "c", "d")}, 80, 5, "◐ Shell: run x  0 s\n    b\n◐ Shell: run y  0 s\n    d"},
		"too many":                {many, 80, 4, "◐ Shell: run job 0  0 s\n◐ Shell: run job 1  0 s\n  … 18 more"},
	} {
		t.Run(name, func(t *testing.T) {
			var l live
			for _, change := range c.state {
				change(&l)
			}
			var got []string
			for _, line := range l.lines(began, c.columns, c.rows) {
				got = append(got, line.text)
				if n := cells(line.text); n >= c.columns {
					t.Errorf("%q has %d cells and would wrap", line.text, n)
				}
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
		})
	}
}

func TestLiveEnd(t *testing.T) {
	var l live
	runs("1", "make", 0, "a")(&l)
	runs("2", "test", 0)(&l)
	if _, ok := l.end(tool.Call{ID: "1", By: "explore"}); ok {
		t.Error("another agent's call ended it")
	}
	if c, ok := l.end(tool.Call{ID: "1"}); !ok || c.title != "Shell: run make" || len(c.output) != 1 || len(l.calls) != 1 {
		t.Errorf("%+v, %v, %+v", c, ok, l)
	}
}
