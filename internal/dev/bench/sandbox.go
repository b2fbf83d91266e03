package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
)

// boxRow is a way to run a command.
type boxRow struct {
	name, goal string
	spec       func(dir string) *sandbox.Spec
	took       []time.Duration
}

// boxRows returns the ways, the first without a sandbox: the others are reported relative to it.
func boxRows() []*boxRow {
	everyday := func(mode sandbox.Mode, without sandbox.Layers) func(string) *sandbox.Spec {
		return func(dir string) *sandbox.Spec {
			s := places.For(mode, []string{dir}, nil, os.Environ(), nil)
			s.Without = without
			return s
		}
	}
	rows := []*boxRow{
		{name: "a command, without a box", goal: "—", spec: func(string) *sandbox.Spec { return nil }},
		{name: "more in a read-only box (Landlock + seccomp)", goal: "under 2 ms", spec: everyday(sandbox.ReadOnly, 0)},
		{
			name: "more in a workspace box, Landlock + seccomp", goal: "under 2 ms",
			spec: everyday(sandbox.Workspace, sandbox.Namespaces),
		},
		{name: "more in a workspace box, with namespaces", goal: "—", spec: everyday(sandbox.Workspace, 0)},
		{name: "more in a workspace+network box", goal: "—", spec: everyday(sandbox.WorkspaceNetwork, 0)},
	}
	if p, err := (&sandbox.Spec{Mode: sandbox.ReadOnly, Bubblewrap: true}).Plan(); err == nil &&
		p.Layers.Has(sandbox.Bubblewrap) {
		rows = append(rows, &boxRow{name: "more in a workspace box by bubblewrap", goal: "—",
			spec: func(dir string) *sandbox.Spec {
				s := everyday(sandbox.Workspace, 0)(dir)
				s.Bubblewrap = true
				return s
			}})
	}
	return rows
}

// boxes measures the rows alternately, so that noise of the machine affects all, with a pause before each as between
// the calls of an agent, when the next helper is started.
func boxes(w io.Writer, helper proc.Helper) error {
	const rounds = 60
	dir, err := os.MkdirTemp("", "bench-box-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := proc.Open(proc.Options{Helper: helper})
	defer r.Close()
	rows := boxRows()
	for i := range rounds + 1 { // the first round is a warm-up
		for _, row := range rows {
			time.Sleep(60 * time.Millisecond)
			began := time.Now()
			o, err := r.Run(context.Background(), proc.Command{Line: "true", Dir: dir, Sandbox: row.spec(dir)})
			if err != nil || o.Exit != 0 {
				return fmt.Errorf("%s: %w, %+v", row.name, err, o)
			}
			if i > 0 {
				row.took = append(row.took, time.Since(began))
			}
		}
	}
	plain := slices.Min(rows[0].took)
	for i, row := range rows {
		took := slices.Min(row.took) // without noise of the machine
		if i > 0 {
			took -= plain
		}
		fmt.Fprintf(w, "%s\t%v\t%s\n", row.name, took.Round(10*time.Microsecond), row.goal)
	}
	return nil
}
