package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// queries are the rows of the table.
var queries = []query{
	{Name: "rare literal", Tool: "grep_search", Pattern: "IdleConnTimeout", Case: "sensitive"},
	{Name: "common literal", Tool: "grep_search", Pattern: "return", Case: "sensitive"},
	{Name: "any-case literal", Tool: "grep_search", Pattern: "todo", Case: "insensitive"},
	{Name: "alternation", Tool: "grep_search", Pattern: `(TODO|FIXME|XXX)\b`, Case: "sensitive"},
	{Name: "literal prefix", Tool: "grep_search", Pattern: `func \w+Error\(`, Case: "sensitive"},
	{Name: "no literal 1", Tool: "grep_search", Pattern: `[a-z]{3}_[A-Z]+\d+`, Case: "sensitive"},
	{Name: "no literal 2", Tool: "grep_search", Pattern: `[a-z]+\s+[0-9]{4,}`, Case: "sensitive"},
	{Name: "multiline", Tool: "grep_search", Pattern: `\{\n\s+return nil`, Case: "sensitive", Multiline: true},
	{Name: "many, limit 50", Tool: "grep_search", Pattern: `err`, Case: "sensitive", Limit: 50},
	{Name: "files listing", Tool: "list"},
	{Name: "glob **/*.go", Tool: "glob", Pattern: "**/*.go", Limit: 100},
}

// cost is the smallest wall and processor time seen.
type cost struct{ wall, cpu time.Duration }

func (c *cost) note(wall, cpu time.Duration) {
	if c.wall == 0 || wall < c.wall {
		c.wall = wall
	}
	if c.cpu == 0 || cpu < c.cpu {
		c.cpu = cpu
	}
}

func (o *options) measure(c corpus) error {
	fmt.Printf("\n%s (%s)\n%-18s %22s %22s %22s %10s | %21s %15s\n", c.name, c.dir, "query", "adze wall/cpu ms",
		"ripgrep wall/cpu ms", "fd wall/cpu ms", "in-process", "wall ratio rg/fd/in", "cpu ratio rg/fd")
	for _, q := range queries {
		if !strings.Contains(q.Name, o.only) {
			continue
		}
		q.Path = c.dir
		var own, rg, fd, call cost
		for range o.runs + 1 { // the first run is a warm-up
			for _, p := range []struct {
				args []string
				to   *cost
			}{{o.ownArgs(q), &own}, {o.rgArgs(q), &rg}, {o.fdArgs(q), &fd}} {
				if err := run(p.args, p.to); err != nil {
					return err
				}
			}
			start := time.Now()
			if err := q.answer(io.Discard); err != nil {
				return err
			}
			call.note(time.Since(start), 0)
		}
		fmt.Printf("%-18s %22s %22s %22s %10.1f | %6s %6s %6s  %6s %6s\n", q.Name, own, rg, fd, ms(call.wall),
			ratio(own.wall, rg.wall), ratio(own.wall, fd.wall), ratio(call.wall, rg.wall), ratio(own.cpu, rg.cpu),
			ratio(own.cpu, fd.cpu))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (c cost) String() string {
	if c.wall == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f / %.1f", ms(c.wall), ms(c.cpu))
}

func ratio(a, b time.Duration) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

// run runs a program once and discards its output; a missing peer has no arguments.
func run(args []string, to *cost) error {
	if len(args) == 0 {
		return nil
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = null, os.Stderr
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if e, ok := err.(*exec.ExitError); ok && e.ExitCode() == 1 {
		err = nil // no match
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	to.note(wall, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return nil
}

func (o *options) ownArgs(q query) []string {
	if o.adze == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil
		}
		call, err := json.Marshal(map[string]any{"Tool": q.Tool, "Args": q})
		if err != nil {
			return nil
		}
		return []string{exe, "-inner", string(call)}
	}
	if q.Limit == 0 && q.Tool == "grep_search" {
		q.Limit = 10_000 // the maximum of the tool; it counts all matches
	}
	name := q.Tool
	if name == "list" {
		name, q.Pattern = "glob", "**"
	}
	if name == "glob" {
		q.Limit = 0 // it has its own limit, and counts all files
	}
	args, err := json.Marshal(q)
	if err != nil {
		return nil
	}
	return []string{o.adze, "tool", "call", "--yolo", name, string(args)}
}

func (o *options) rgArgs(q query) []string {
	if o.rg == "" {
		return nil
	}
	args := []string{o.rg, "--no-config", "--color=never", "--hidden", "--glob=!.git"}
	switch q.Tool {
	case "list":
		return append(args, "--files", q.Path)
	case "glob":
		return append(args, "--files", "--glob=*.go", q.Path)
	}
	args = append(args, "--heading", "-n")
	if q.Case == "insensitive" {
		args = append(args, "-i")
	}
	if q.Multiline {
		args = append(args, "-U")
	}
	return append(args, "-e", q.Pattern, q.Path)
}

func (o *options) fdArgs(q query) []string {
	if o.fd == "" || q.Tool == "grep_search" {
		return nil
	}
	args := []string{o.fd, "--color=never", "-H", "-E", ".git", "-t", "f"}
	if q.Tool == "glob" {
		args = append(args, "-g", "*.go")
	} else {
		args = append(args, ".")
	}
	return append(args, q.Path)
}
