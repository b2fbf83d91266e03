package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
)

// Notes of a worker look as messages of commands do: one line, with the task and the first line of the cause.
func TestLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := slog.New(&lines{w: &b})
	log.Info("not printed")
	log.With(runAttr, "r", taskAttr, "a b").Error("the attempt failed", errorAttr, errors.New("no model\nSet one of: …"))
	log.Warn("processes of killed workers")
	if want := "adze: r/a b: the attempt failed: no model\nadze: processes of killed workers\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
