// Command bench compares the search engine with ripgrep and fd on this machine.
//
//	go run ./internal/dev/searchbench -node /path/with/node_modules
//
// It uses two corpora (Go's own tree, and a generated one of many small files), runs every query with every program in
// turn, several times with a warm cache, and prints the minimum wall and CPU time of each with the ratios. Programs
// that aren't found are omitted with a note.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "-inner" {
		os.Exit(inner(os.Args[2]))
	}
	var o options
	flag.StringVar(&o.node, "node", os.Getenv("ADZE_NODE"), "directory whose node_modules holds @vscode/ripgrep "+
		"(env ADZE_NODE)")
	flag.StringVar(&o.rg, "rg", os.Getenv("ADZE_RG"), "ripgrep binary (env ADZE_RG); found in -node or PATH when empty")
	flag.StringVar(&o.fd, "fd", "", "fd binary; fdfind or fd in PATH when empty")
	flag.StringVar(&o.adze, "adze", "", "adze binary to measure as `adze tool call`; the engine in this "+
		"program when empty")
	flag.IntVar(&o.runs, "runs", 9, "runs of each program and query")
	flag.IntVar(&o.files, "files", 30000, "files of the generated corpus")
	flag.StringVar(&o.only, "only", "", "measure only queries whose name contains this")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	node, rg, fd, adze, only string
	runs, files              int
}

func (o *options) run() error {
	o.findPeers()
	fmt.Printf("%d processors, %s, %d runs each, smallest time; ratio = adze / peer, below 1 adze is faster\n",
		runtime.NumCPU(), runtime.Version(), o.runs)
	fmt.Printf("ripgrep: %s\nfd: %s\nadze: %s\n", version(o.rg), version(o.fd),
		orElse(o.adze, "the engine in a process of this program"))
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find Go's tree: %w", err)
	}
	small, remove, err := generate(o.files)
	if err != nil {
		return err
	}
	defer remove()
	for _, c := range []corpus{{"Go's tree", strings.TrimSpace(string(goroot))},
		{fmt.Sprintf("%d small files", o.files), small}} {
		if err := o.measure(c); err != nil {
			return err
		}
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
