package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/trial"
)

// trials measures commands that are tried first: how much longer they take than in the workspace sandbox, and how long
// it takes to find and keep their effects.
func trials(w io.Writer, helper proc.Helper) error {
	few, err := openTrials(helper, 1000)
	if err != nil {
		return err
	}
	defer few.close()
	if ok, why := few.layers.Supported(); !ok {
		fmt.Fprintf(w, "trials\tskipped: %s\t\n", why)
		return nil
	}
	plain, tried, err := few.compare("true", 60)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "more in a trial than in a workspace box, true\t%v\tunder 2 ms\n",
		(tried - plain).Round(10*time.Microsecond))
	if err := few.effects(w); err != nil {
		return err
	}
	const name, goal = "rg over 40000 files in a trial", "within 2 times the workspace box"
	if _, err := exec.LookPath("rg"); err != nil {
		fmt.Fprintf(w, "%s\tskipped: rg is not installed\t%s\n", name, goal)
		return nil
	}
	many, err := openTrials(helper, 40_000)
	if err != nil {
		return err
	}
	defer many.close()
	if plain, tried, err = many.compare("rg -c 'no such text'; true", 10); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\t%.2f times %v\t%s\n", name, float64(tried)/float64(plain), plain.Round(100*time.Microsecond),
		goal)
	return nil
}

// trialBench is a workspace with trials.
type trialBench struct {
	root, state string
	layers      *trial.Layers
	runner      *proc.Runner
	base        *places.Base
}

func openTrials(helper proc.Helper, files int) (*trialBench, error) {
	root, err := manyFiles(files)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	b := &trialBench{root: root, state: root + ".state", runner: proc.Open(proc.Options{Helper: helper})}
	env := os.Environ()
	b.base = places.NewBase([]string{root}, nil, env, nil)
	b.layers, err = trial.Open(trial.Options{
		State: b.state, Roots: []string{root}, Home: b.base.Home(), Temp: places.TempDirs(env),
		CacheDirs: b.base.CacheDirs(), Caches: b.base.Lasting(),
	})
	return b, err
}

func (b *trialBench) close() {
	b.runner.Close()
	b.layers.Close()
	os.RemoveAll(b.root)
	os.RemoveAll(b.state)
}

// try runs a command in a trial. The time includes finding its effects.
func (b *trialBench) try(line string) (*trial.Trial, time.Duration, error) {
	began := time.Now()
	t, err := b.layers.New(context.Background())
	if err != nil {
		return nil, 0, err
	}
	out, err := b.runner.Run(context.Background(), proc.Command{Line: line, Dir: b.root, Sandbox: t.Spec(nil)})
	if err == nil && out.Exit != 0 {
		err = errors.New(out.Output.String())
	}
	if err == nil {
		_, err = t.Effects(context.Background())
	}
	return t, time.Since(began), err
}

// compare returns the shortest time of a command in the workspace sandbox, and in a trial, alternately.
func (b *trialBench) compare(line string, rounds int) (plain, tried time.Duration, err error) {
	var took [2][]time.Duration
	for i := range rounds + 1 { // the first is a warm-up
		time.Sleep(60 * time.Millisecond)
		began := time.Now()
		if _, err := b.runner.Run(context.Background(),
			proc.Command{Line: line, Dir: b.root, Sandbox: b.base.Spec(sandbox.Workspace)}); err != nil {
			return 0, 0, err
		}
		without := time.Since(began)
		time.Sleep(60 * time.Millisecond)
		t, with, err := b.try(line)
		if err != nil {
			return 0, 0, err
		}
		if err := t.Drop(); err != nil {
			return 0, 0, err
		}
		if i > 0 {
			took[0], took[1] = append(took[0], without), append(took[1], with)
		}
	}
	return slices.Min(took[0]), slices.Min(took[1]), nil
}

// effects measures finding and keeping.
func (b *trialBench) effects(w io.Writer) error {
	for _, c := range []struct {
		name, line string
		find, keep string // goals
	}{
		{"1000 changed files", "find . -name '*.txt' -type f | head -1000 | xargs sed -i 's/$/ x/'", "under 20 ms",
			"under 20 ms"},
		{"a new directory of 50000 files", "mkdir new && cd new && seq 50000 | xargs touch", "", "under 5 ms"},
	} {
		var found, kept []time.Duration
		for range 5 {
			t, _, err := b.try(c.line)
			if err != nil {
				return err
			}
			began := time.Now()
			e, err := t.Effects(context.Background()) // again: the first time was in try
			if err != nil {
				return err
			}
			found = append(found, time.Since(began))
			began = time.Now()
			if _, err := t.Keep(context.Background(), nil); err != nil {
				return err
			}
			kept = append(kept, time.Since(began))
			if e.None() {
				return fmt.Errorf("%s: no effects", c.name)
			}
			if err := errors.Join(t.Drop(), os.RemoveAll(filepath.Join(b.root, "new"))); err != nil {
				return err
			}
		}
		if c.find != "" {
			fmt.Fprintf(w, "effects of %s found\t%v\t%s\n", c.name, slices.Min(found).Round(100*time.Microsecond),
				c.find)
		}
		fmt.Fprintf(w, "%s kept\t%v\t%s\n", c.name, slices.Min(kept).Round(100*time.Microsecond), c.keep)
	}
	return nil
}
