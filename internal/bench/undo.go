package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/undo"
	"github.com/adze-dev/adze/tool"
)

// printUndo measures what undo adds to commands in a workspace of 30,000 files and 100 MB: the base before the first one,
// and the scans before and after each.
func printUndo(w io.Writer) error {
	dir, err := os.MkdirTemp("", "adze-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "project")
	for i := range 30_000 {
		path := filepath.Join(root, fmt.Sprintf("d%d/e%d/f%d", i/1000, i/50%20, i))
		if i%50 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, bytes.Repeat(fmt.Appendf(nil, "line %d\n", i), 300), 0o600); err != nil {
			return err
		}
	}
	ctx := context.Background()
	q := tool.Request{Invocation: tool.Invocation{Access: []tool.Access{{Verb: tool.Execs, Target: "true"}}}}
	base, scan := time.Duration(0), time.Duration(0)
	for i := range 5 {
		t := undo.New(undo.Options{
			Home: filepath.Join(dir, "home"), Session: fmt.Sprint(i), Roots: []string{root}, Limits: undo.Limits{FileBytes: 4 << 20, Bytes: 512 << 20, Files: 100_000},
		})
		began := time.Now()
		window := t.Before(ctx, q, tool.Decision{})
		base = least(base, time.Since(began))
		for range 5 {
			began = time.Now()
			window.After(ctx)
			scan = least(scan, time.Since(began))
		}
		if err := t.Close(func() (map[string]bool, error) { return nil, nil }); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "undo: base of 30,000 files, 100 MB\t%v\tunder 800 ms\n", base.Round(time.Millisecond))
	fmt.Fprintf(w, "undo: scan of 30,000 files\t%v\tunder 80 ms\n", scan.Round(100*time.Microsecond))
	return nil
}

// least is the smaller time; 0 is none yet.
func least(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}
