package proc

import (
	"bytes"
	"strings"
	"testing"
)

// A command that reads an input and prints to two streams.
func TestInputAndStderr(t *testing.T) {
	large := strings.Repeat("0123456789abcde\n", 64<<10) // 1 MB: more than a pipe holds
	for _, c := range []struct {
		name, line, input, stdout, stderr string
		apart                             bool
	}{
		{"input", "cat", "one\ntwo\n", "one\ntwo\n", "", false},
		{"apart", "cat; echo careful >&2", "x\n", "x\n", "careful\n", true},
		{"together", "cat; echo careful >&2", "x\n", "x\ncareful\n", "", false},
		{"input that isn't read", "echo done", large, "done\n", "", true},
		{"much on stderr", "cat >&2", large, "", large, true},
		{"a leftover has both open", "sleep 1000 & echo out; echo err >&2", "", "out\n", "err\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, func(t *testing.T, r *Runner) {
				var stderr bytes.Buffer
				cmd := Command{Line: c.line, Input: []byte(c.input)}
				if c.apart {
					cmd.Stderr = &stderr
				}
				o := run(t, r, cmd)
				if got := o.Output.String(); got != c.stdout || stderr.String() != c.stderr {
					t.Errorf("got %q and %.80q, want %q and %.80q", got, stderr.String(), c.stdout, c.stderr)
				}
			})
		})
	}
}
