package tui

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/tool"
)

// All of a command is viewed, once, even if its title has it.
func TestViewOfACommand(t *testing.T) {
	for line, want := range map[string]string{
		"make test":                        "    make test|  Model's note: run it",
		"make test\nmake all":              "    make test|    make all|  Model's note: run it",
		"if a; then\n  b\nfi":              "    if a; then|      b|    fi|  Model's note: run it",
		"echo ok\x1b[8m; rm -r docs\r":     `    echo ok\x1b[8m; rm -r docs\r|  Model's note: run it`,
		strings.Repeat("echo 1234; ", 200): "    " + strings.Repeat("echo 1234; ", 200) + "|  Model's note: run it",
	} {
		c := tool.Command{Line: line, Purpose: "run it"}
		for _, shown := range []tool.Display{c, tool.Effects{Command: c}} { // as it is, and after a trial
			var got []string
			for _, l := range whole(approval.Rules{}.Question(tool.Request{Invocation: tool.Invocation{Confirm: shown}}, tool.Decision{}), 80) {
				got = append(got, l.String())
			}
			if text := strings.Join(got, "|"); text != want {
				t.Errorf("%q: %q", line, text)
			}
		}
	}
}

func TestClipboardThroughTmux(t *testing.T) {
	if got, want := clipboard("a", true), "\x1b]52;c;YQ==\a\x1bPtmux;\x1b\x1b]52;c;YQ==\a\x1b\\"; got != want {
		t.Errorf("%q", got)
	}
	if got := clipboard("a", false); strings.Contains(got, "tmux") {
		t.Errorf("%q", got)
	}
}
