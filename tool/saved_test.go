package tool_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// The outcome of a truncated result has the path of the full text, so that no reader looks for it in the text.
func TestOutcomeHasSavedPaths(t *testing.T) {
	long := strings.Repeat("0123456789\n", 1000)
	for name, tt := range map[string]struct {
		text string
		err  error
		want []string
	}{
		"short":     {"x", nil, nil},
		"long":      {long, nil, []string{"/state/1"}},
		"not saved": {long, errors.New("disk full"), nil},
	} {
		x := budgeted(saying(tool.Text(tt.text)), 500)
		x.Spill = func(tool.Call, string) (tool.Spilled, error) { return tool.Spilled{Path: "/state/1"}, tt.err }
		batch := x.Batch(t.Context())
		batch.Add(tool.Call{Name: "say"})
		wantSame(t, name, tt.want, batch.Wait()[0].Saved)
	}
}
