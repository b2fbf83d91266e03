package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/tool"
)

// printSearches measures the searches of one turn in a workspace of 40,000 files, whose content is in the cache.
func printSearches(w io.Writer, helper proc.Helper) error {
	dir, err := sourceTree(40_000)
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	eight := []string{
		`grep_search {"pattern": "IdleConnTimeout"}`,
		`grep_search {"pattern": "todo_4711"}`,
		`grep_search {"pattern": "handler_\\d+ := parse"}`,
		`grep_search {"pattern": "fixme_12.*response", "output_mode": "files_with_matches"}`,
		`grep_search {"pattern": "(server|client)_99\\d\\d", "glob": "*.ts"}`,
		`grep_search {"pattern": "^\\s*const count_", "output_mode": "count"}`,
		`grep_search {"pattern": "no such text", "fixed_strings": true}`,
		`grep_search {"pattern": "Error_1 ", "context": 2}`,
	}
	globs := []string{`glob {"pattern": "**/*.ts"}`}
	for _, row := range []struct {
		name  string
		calls []string
		goal  string
	}{
		{"a search over 40,000 files", eight[:1], ""},
		{"eight searches in one turn over 40,000 files", eight, "under 450 ms"},
		{"glob **/*.ts over 40,000 files, again", globs, "under 25 ms"},
		{"eight searches and a glob in one turn", append(eight, globs...), ""},
	} {
		took, cpu, err := timeSearches(dir, helper, row.calls)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		fmt.Fprintf(w, "%s\t%v (CPU %v)\t%s\n", row.name, took.Round(100*time.Microsecond),
			cpu.Round(100*time.Microsecond), row.goal)
	}
	return nil
}

// timeSearches returns the shortest time of a turn with these calls, and the processor time of that turn. The first
// turn of the session doesn't count.
func timeSearches(dir string, helper proc.Helper, calls []string) (took, cpu time.Duration, err error) {
	set, err := builtin.New(builtin.Options{Dir: dir, Helper: builtin.Helper(helper)})
	if err != nil {
		return 0, 0, err
	}
	defer set.Close()
	x := &tool.Executor{
		Registry: tool.NewRegistry(set.All()...),
		Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
	}
	took = time.Hour
	for round := range 8 {
		began, used := time.Now(), cpuTime()
		batch := x.Batch(context.Background())
		for _, call := range calls {
			name, args, _ := strings.Cut(call, " ")
			batch.Add(tool.Call{Name: name, Args: json.RawMessage(args)})
		}
		for _, o := range batch.Wait() {
			if o.Error != nil {
				return 0, 0, fmt.Errorf("%s", o.Error.Message)
			}
		}
		if d := time.Since(began); round > 0 && d < took {
			took, cpu = d, cpuTime()-used
		}
	}
	return took, cpu, nil
}

// sourceTree creates a repository with that many files of 2 KB, 25 per directory.
func sourceTree(files int) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "bench-source-"); err != nil {
		return "", err
	}
	r := rand.New(rand.NewSource(1))
	words := strings.Fields("return func const value Error index result count string buffer config server client " +
		"handler request response todo Fixme parse token node tree path file read write open close")
	ignored := "node_modules/\n*.log\n/dist\nbuild/\n*.tmp\n.cache\n**/coverage/*.html\n"
	for n := range files {
		sub := filepath.Join(dir, fmt.Sprintf("pkg%02d", n/1000), fmt.Sprintf("mod%02d", n/25%40))
		if n%25 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return dir, err
			}
		}
		var text []byte
		for len(text) < 2048 {
			text = fmt.Appendf(text, "\t%s %s_%d := %s(%s)\n", words[r.Intn(len(words))], words[r.Intn(len(words))],
				r.Intn(9999), words[r.Intn(len(words))], words[r.Intn(len(words))])
		}
		if n%5000 == 77 {
			text = append(text, "IdleConnTimeout here\n"...)
		}
		name := fmt.Sprintf("file%05d%s", n, []string{".go", ".ts", ".py", ".md", ".json"}[n%5])
		if err := os.WriteFile(filepath.Join(sub, name), text, 0o644); err != nil {
			return dir, err
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		return dir, err
	}
	return dir, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignored), 0o644)
}
