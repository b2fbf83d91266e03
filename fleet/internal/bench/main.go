// Command bench measures the documented sizes and speeds of fleets and prints them as a table. make bench runs it.
//
//	go -C fleet run ./internal/bench ../bin/adze-fleet
//	go -C fleet run ./internal/bench -scale ../bin/adze-fleet    # 1,000,000 entries too, which takes minutes
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	scale := flag.Bool("scale", false, "measure 100,000 sessions with 1,000,000 entries")
	only := flag.String("only", "", "measure the groups whose names have this text")
	flag.Parse()
	if err := run(context.Background(), *scale, *only, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench has the output and the data directory of measurements.
type bench struct {
	table *tabwriter.Writer
	dir   string
}

func run(ctx context.Context, scale bool, only, binary string) error {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{table: tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0), dir: dir}
	groups := []struct {
		name string
		run  func(context.Context) error
	}{
		{"program", func(ctx context.Context) error { return b.program(ctx, binary) }},
		{"start", b.start}, {"append", b.appends}, {"cluster", b.cluster}, {"queue", b.tasks}, {"files", b.files}, {"takeover", b.takeover},
		{"snapshots", b.snapshots}, {"submit", b.submit},
	}
	if scale {
		groups = append(groups, struct {
			name string
			run  func(context.Context) error
		}{"scale", func(ctx context.Context) error { return b.scale(ctx, binary) }})
	}
	fmt.Fprintln(b.table, "fleets\tmeasured\tgoal")
	for _, g := range groups {
		if !strings.Contains(g.name, only) || binary == "" && (g.name == "program" || g.name == "scale") {
			continue
		}
		if err := g.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return b.table.Flush()
}

// row prints one measurement.
func (b *bench) row(what, measured, goal string) {
	fmt.Fprintf(b.table, "%s\t%s\t%s\n", what, measured, goal)
}

// sub makes a directory for a measurement.
func (b *bench) sub(name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	return dir, os.MkdirAll(dir, 0o700)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// perSecond returns a rate as text.
func perSecond(n int, took time.Duration) string {
	return fmt.Sprintf("%.0f/s", float64(n)/took.Seconds())
}
