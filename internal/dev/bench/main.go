// Command bench measures the documented sizes and speeds and prints them as a table. make bench runs it.
//
// Tests only bound hangs; goals are measured here, and read by users.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/tool"
)

func main() {
	helper := proc.Main() // the helpers of commands are this binary too
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case echoServer:
			exitWith(serveEcho())
		case memoryOf:
			exitWith(startAndPrint(os.Args[2:]))
		}
	}
	binary := flag.String("adze", "bin/adze", "the program to measure")
	flag.Parse()
	exitWith(run(os.Stdout, bench{binary: *binary, helper: helper}, flag.Args()))
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// bench has the binaries that are measured.
type bench struct {
	binary string // the program
	helper proc.Helper
}

// section is a group of rows. It can be run alone by its name: go run ./internal/dev/bench trials
type section struct {
	name  string
	print func(io.Writer, bench) error
}

func sections() []section {
	ofBinary := func(f func(io.Writer, string) error) func(io.Writer, bench) error {
		return func(w io.Writer, b bench) error { return f(w, b.binary) }
	}
	ofHelper := func(f func(io.Writer, proc.Helper) error) func(io.Writer, bench) error {
		return func(w io.Writer, b bench) error { return f(w, b.helper) }
	}
	return []section{
		{"program", ofBinary(printProgram)},
		{"terminal", ofBinary(printTerminal)},
		{"turns", ofBinary(printTurns)},
		{"sessions", ofBinary(printSessions)},
		{"editor", ofBinary(printEditor)},
		{"undo", func(w io.Writer, _ bench) error { return printUndo(w) }},
		{"partial", ofBinary(printPartial)},
		{"long", ofBinary(printLong)},
		{"core", ofBinary(printCore)},
		{"hooks", ofHelper(printHooks)},
		{"sandbox", ofHelper(boxes)},
		{"trials", ofHelper(trials)},
		{"reads", ofHelper(limitedReads)},
		{"searches", ofHelper(printSearches)},
		{"servers", ofBinary(printServers)},
		{"classification", func(w io.Writer, _ bench) error { return printClassification(w) }},
	}
}

// run prints the rows of the named sections, or of all.
func run(w io.Writer, b bench, names []string) error {
	if _, err := os.Stat(b.binary); err != nil {
		return fmt.Errorf("%w; make build makes it", err)
	}
	all := sections()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s section) bool { return s.name == name }) {
			return fmt.Errorf("no section %q", name)
		}
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "what\tmeasured\tgoal")
	for _, s := range all {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		if err := s.print(t, b); err != nil {
			fmt.Fprintf(t, "%s\t%v\t\n", s.name, err)
		}
	}
	return t.Flush()
}

// printProgram measures the program itself.
func printProgram(w io.Writer, binary string) error {
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	cpu, wall, rss, err := startUp(binary, "version")
	if err != nil {
		return err
	}
	_, word, _, err := startUp(binary, "__complete", "zsh", "--", "session", "export", "--fo")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "binary\t%.1f MB\tunder 24 MB\n", float64(info.Size())/1e6)
	fmt.Fprintf(w, "adze version, CPU\t%v\tunder 5 ms\n", cpu.Round(10*time.Microsecond))
	fmt.Fprintf(w, "adze version, wall\t%v\tunder 10 ms\n", wall.Round(10*time.Microsecond))
	fmt.Fprintf(w, "adze version, memory\t%.1f MB\tunder 30 MB\n", float64(rss)/1e6)
	fmt.Fprintf(w, "completion of a word, wall\t%v\tunder 15 ms\n", word.Round(10*time.Microsecond))
	return nil
}

// printCore measures the cost of a call.
func printCore(w io.Writer, binary string) error {
	fmt.Fprintf(w, "slowest package init\t%s\tunder 1 ms\n", slowestInit(binary))
	fmt.Fprintf(w, "a call through the core\t%v\tunder 50 µs\n", callOverhead())
	fmt.Fprintf(w, "heap after 1,000 results of 1 MB\t%.1f MB\tunder 64 MB\n", float64(heapAfterLongResults())/1e6)
	return nil
}

// startUp returns the minimum of many runs, without noise of the machine.
func startUp(binary string, args ...string) (cpu, wall time.Duration, rss int64, err error) {
	cpu, wall = time.Hour, time.Hour
	for range 30 {
		cmd := exec.Command(binary, args...)
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return 0, 0, 0, err
		}
		wall = min(wall, time.Since(began))
		cpu = min(cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	rss, err = memory(exec.Command(binary, args...))
	return cpu, wall, rss, err
}

func slowestInit(binary string) string {
	abs, err := filepath.Abs(binary)
	if err != nil {
		return err.Error()
	}
	cmd := exec.Command(abs, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err.Error()
	}
	slowest, where := 0.0, ""
	for line := range strings.Lines(string(out)) {
		var name string
		var at, took float64
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms", &name, &at, &took); n == 3 && took > slowest {
			slowest, where = took, name
		}
	}
	return fmt.Sprintf("%.2f ms (%s)", slowest, where)
}

type noArgs struct{}

func executor(text string) *tool.Executor {
	t := tool.Define(tool.Def[noArgs]{
		Name: "say", Description: "Says something.", Kind: tool.Think,
		Prepare: func(context.Context, noArgs) (*tool.Invocation, error) {
			return &tool.Invocation{
				Access: []tool.Access{tool.Nothing},
				Run: func(context.Context, *tool.Live) (tool.Result, error) {
					return tool.TextResult(strings.Clone(text)), nil
				},
			}, nil
		},
	})
	return &tool.Executor{
		Registry: tool.NewRegistry(t),
		Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		Spill:    func(tool.Call, string) (tool.Spilled, error) { return tool.Spilled{Path: "/dev/null"}, nil },
	}
}

func callOverhead() time.Duration {
	x := executor("hello")
	r := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			batch := x.Batch(context.Background())
			batch.Add(tool.Call{Name: "say", Args: json.RawMessage(`{}`)})
			batch.Wait()
		}
	})
	return time.Duration(r.NsPerOp())
}

func heapAfterLongResults() uint64 {
	x := executor(strings.Repeat("0123456789abcde\n", 1<<16))
	batch := x.Batch(context.Background())
	for range 1000 {
		batch.Add(tool.Call{Name: "say"})
	}
	outcomes := batch.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(outcomes)
	return m.HeapAlloc
}

// memoryOf is the argument that makes this program run another one and print its peak memory.
const memoryOf = "memory-of"

// startAndPrint runs a program and prints its peak memory, in bytes.
func startAndPrint(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	fmt.Println(maxRSS(cmd.ProcessState))
	return nil
}

// memory returns the peak memory of a command. Linux counts the memory of the parent at the start as the child's, so
// the parent is a small process.
func memory(cmd *exec.Cmd) (bytes int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	starter := exec.Command(self, append([]string{memoryOf, cmd.Path}, cmd.Args[1:]...)...)
	starter.Dir, starter.Env = cmd.Dir, cmd.Env
	out, err := starter.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return 0, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(out), &bytes)
	return bytes, err
}
