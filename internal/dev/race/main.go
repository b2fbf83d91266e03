// Command race runs coding agents with the same scripted model and measures what a user waits for: make bench-peers.
//
//	race -node DIR                    the agents of DIR/node_modules beside bin/adze
//	race -adze old=PATH -adze PATH    two builds of Adze beside each other
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.Func("adze", "a build of Adze, or NAME=PATH; may be repeated (default bin/adze)", func(v string) error {
		name, path, ok := strings.Cut(v, "=")
		if !ok {
			name, path = "adze", v
		}
		path, err := filepath.Abs(path)
		o.builds = append(o.builds, build{name, path})
		return err
	})
	flag.StringVar(&o.node, "node", "", "directory whose node_modules has the other agents; empty: only Adze")
	flag.IntVar(&o.rounds, "rounds", 4, "rounds; every agent runs once in each")
	flag.StringVar(&o.only, "only", "", "only the agents with these names, separated by commas")
	flag.StringVar(&o.page, "page", "", "page whose part <!-- race --> … <!-- /race --> is replaced; race.svg "+
		"is beside it")
	flag.StringVar(&o.keep, "keep", "", "directory for the requests that were received, to look at")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "race:", err)
		os.Exit(1)
	}
}

type options struct {
	builds []build
	node   string
	rounds int
	only   string
	page   string
	keep   string
}

// build is a build of Adze.
type build struct{ name, path string }

func run(o options) error {
	if len(o.builds) == 0 {
		path, err := filepath.Abs("bin/adze")
		if err != nil {
			return err
		}
		o.builds = []build{{"adze", path}}
	}
	agents := adzes(o.builds)
	if o.node != "" {
		dir, err := filepath.Abs(filepath.Join(o.node, "node_modules", ".bin"))
		if err != nil {
			return err
		}
		agents = append(agents, peers(dir)...)
	}
	if o.only != "" {
		names := strings.Split(o.only, ",")
		agents = slices.DeleteFunc(agents, func(a agent) bool { return !slices.Contains(names, a.name) })
	}
	if len(agents) == 0 {
		return errors.New("no agent to run")
	}
	all := make([]results, len(agents))
	var shell []time.Duration
	for range o.rounds {
		for i, a := range agents {
			for _, memory := range []bool{false, true} {
				r, err := a.race(memory, o.keep)
				if err != nil {
					return fmt.Errorf("%s: %w", a.name, err)
				}
				all[i].add(r)
			}
		}
		took, err := plainShell()
		if err != nil {
			return err
		}
		shell = append(shell, took...)
	}
	table := report(agents, all, shell)
	fmt.Print(table)
	if o.page == "" {
		return nil
	}
	return errors.Join(
		replace(o.page, table),
		os.WriteFile(filepath.Join(filepath.Dir(o.page), "race.svg"), chart(agents, all), 0o644),
	)
}
