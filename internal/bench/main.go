// Command bench measures what Adze promises of size and speed and prints it as a table. make bench runs it.
//
// A test may bound a hang; a goal is measured here, and read by people.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/adze-dev/adze/internal/proc"
	"github.com/adze-dev/adze/tool"
)

func main() {
	helper := proc.Main() // the keepers of commands are this binary too
	binary := "bin/adze"
	if len(os.Args) > 1 {
		binary = os.Args[1]
	}
	if binary == echoServer {
		if err := serveEcho(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		return
	}
	if binary == terminalOnly && len(os.Args) > 2 {
		if err := printTerminal(os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if binary == editorOnly && len(os.Args) > 2 {
		if err := printEditor(os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if binary == memoryOf {
		if err := startAndPrint(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(os.Stdout, binary, helper); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// terminalOnly and editorOnly are the words for some rows alone: go run ./internal/bench terminal bin/adze.
const (
	terminalOnly = "terminal"
	editorOnly   = "editor"
)

func run(w io.Writer, binary string, helper proc.Helper) error {
	info, err := os.Stat(binary)
	if err != nil {
		return fmt.Errorf("%w; make build makes it", err)
	}
	cpu, wall, rss, err := startUp(binary, "version")
	if err != nil {
		return err
	}
	_, word, _, err := startUp(binary, "__complete", "zsh", "--", "session", "export", "--fo")
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "what\tmeasured\tgoal")
	fmt.Fprintf(t, "binary\t%.1f MB\tunder 24 MB\n", float64(info.Size())/1e6)
	fmt.Fprintf(t, "adze version, CPU\t%v\tunder 5 ms\n", cpu.Round(10*time.Microsecond))
	fmt.Fprintf(t, "adze version, wall\t%v\tunder 10 ms\n", wall.Round(10*time.Microsecond))
	fmt.Fprintf(t, "adze version, memory\t%.1f MB\tunder 30 MB\n", float64(rss)/1e6)
	fmt.Fprintf(t, "completion of a word, wall\t%v\tunder 15 ms\n", word.Round(10*time.Microsecond))
	if err := printTerminal(t, binary); err != nil {
		return err
	}
	if err := printTurns(t, binary); err != nil {
		return err
	}
	if err := printSessions(t, binary); err != nil {
		return err
	}
	if err := printEditor(t, binary); err != nil {
		return err
	}
	if err := printUndo(t); err != nil {
		return err
	}
	if err := printPartial(t, binary); err != nil {
		return err
	}
	if err := printLong(t, binary); err != nil {
		return err
	}
	fmt.Fprintf(t, "slowest package init\t%s\tunder 1 ms\n", slowestInit(binary))
	fmt.Fprintf(t, "a call through the core\t%v\tunder 50 µs\n", callOverhead())
	fmt.Fprintf(t, "heap after 1,000 results of 1 MB\t%.1f MB\tunder 64 MB\n", float64(heapAfterLongResults())/1e6)
	if err := printHooks(t, helper); err != nil {
		return err
	}
	if err := boxes(t, helper, 60); err != nil {
		fmt.Fprintf(t, "boxes\t%v\t\n", err)
	}
	if err := trials(t, helper); err != nil {
		fmt.Fprintf(t, "trials\t%v\t\n", err)
	}
	if err := limitedReads(t, helper); err != nil {
		fmt.Fprintf(t, "limited reads\t%v\t\n", err)
	}
	if err := printServers(t, binary); err != nil {
		return err
	}
	shapes := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if err := printClassification(t, shapes); err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return shapes.Flush()
}

// startUp is the smallest of many: what the program costs, not what else the machine did.
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
