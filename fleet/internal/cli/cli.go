// Package cli is the command line of adze-fleet.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/fleet/internal/child"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/task"
	"github.com/adze-dev/adze/internal/homedir"
)

// Env is the environment of a run.
type Env struct {
	Args     []string
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Environ  []string
	Helper   builtin.Helper
	Program  string // path of this program
	Version  string
	Terminal bool // stderr is a terminal
}

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInput       = 42
	exitBudget      = 55
	exitInterrupted = 130
)

// exit ends the program with a code. An empty text prints nothing.
type exit struct {
	code int
	text string
}

func (e *exit) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &exit{exitUsage, fmt.Sprintf(format, args...) + "\nSee 'adze fleet help'."}
}

const help = `Usage: adze fleet COMMAND [FLAGS]

Runs many tasks, each in its own clone of a repository, on this machine or on many.

Commands:
  run FILE           run the tasks of a file (JSON Lines or YAML); the same command continues an interrupted run
  worker             run tasks of a queue on this machine
  server             run a queue on loopback, for workers on this machine
  status [RUN]       show runs, or the tasks of a run
  logs RUN/TASK      print what happened in a task
  cancel RUN         stop a run
  retry RUN          run tasks again that didn't pass
  collect RUN        write the results of a run

Flags of run and worker:
  --server URL         queue on another machine (tls://HOST:4222); without it, run uses one of its own
  --creds FILE         credentials for the queue
  --ca FILE            certificates to trust, if the queue's isn't from a public authority
  --slots N            tasks at a time (run with --server: 0)
  --max-cost USD       run: start nothing more at this cost (exit code 55)
  --rpm N, --tpm N     model requests and tokens per minute, over all workers
  --approval-mode M    plan, default, auto-edit or yolo
  --sandbox S          off, read-only, workspace or workspace+network
  --secrets A,B        variables of the worker that tasks may ask for as secret:A
  --container CMD      docker, podman, or a command with {name} {image} {dir} {program}
  --until-done         worker: exit when the queue is empty
  --name NAME          worker: name in results (the host name)
  --metrics ADDRESS    worker: serve /metrics on this address
  --json               run, status, logs: print JSON

Other flags:
  --dir DIR            data of this machine's fleets (~/.adze/fleet)
  --watch              status: repeat every second
  -f                   logs: continue to print
  --failed             retry: tasks that failed, are broken, or never started (the default: all that didn't pass)
  -o PATH              collect: where to write (default: standard output; --format dir needs it)
  --format F           collect: jsonl, swebench or dir
  --branch             collect: make a branch adze/RUN/TASK in each task's local repository

Exit codes: 0 all tasks passed, 1 not all passed, 2 wrong usage, 42 invalid file, 55 cost limit, 130 interrupted.

Examples:
  adze fleet run tasks.jsonl
  adze fleet run tasks.jsonl --server tls://queue:4222 --max-cost 40
  adze fleet worker --server tls://queue:4222 --creds worker.creds --slots 4
  adze fleet collect tasks-1f2e3d4c5b -o out --format dir
`

// options are all flags.
type options struct {
	server, creds, ca, dir   string
	lease                    time.Duration
	slots                    int
	maxCost                  float64
	rpm, tpm                 int64
	mode, sandbox, secrets   string
	container, name, metrics string
	untilDone, json, watch   bool
	follow, failed, branch   bool
	output, format           string
	home                     string
	listen                   string
	work                     string // directory of mirrors and clones
}

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, env Env) int {
	err := run(ctx, env)
	var own *exit
	var input *task.Error
	code := exitOK
	switch {
	case err == nil:
	case errors.As(err, &own):
		code = own.code
	case errors.As(err, &input):
		code = exitInput
	case ctx.Err() != nil:
		code, err = exitInterrupted, errors.New("interrupted")
	default:
		code = exitFailed
	}
	if err != nil && err.Error() != "" {
		fmt.Fprintf(env.Stderr, "adze: %v\n", err)
	}
	return code
}

func run(ctx context.Context, env Env) error {
	if len(env.Args) == 0 || env.Args[0] == "--help" || env.Args[0] == "-h" || env.Args[0] == "help" {
		_, err := io.WriteString(env.Stdout, help)
		return err
	}
	if env.Args[0] == "--version" || env.Args[0] == "version" {
		_, err := fmt.Fprintf(env.Stdout, "adze-fleet %s\n", env.Version)
		return err
	}
	name := env.Args[0]
	if name == "child" { // for workers
		return child.Run(ctx, child.Env{In: env.Stdin, Out: env.Stdout, Err: env.Stderr, Helper: env.Helper, Version: env.Version})
	}
	commands := map[string]struct {
		words int
		run   func(context.Context, Env, *options, []string) error
	}{
		"run": {1, runFile}, "worker": {0, runWorker}, "server": {0, runServer}, "status": {-1, status}, "logs": {1, logs},
		"cancel": {1, cancel}, "retry": {1, retry}, "collect": {1, collect},
	}
	c, ok := commands[name]
	if !ok {
		return usagef("unknown command %q", "fleet "+name)
	}
	o, words, err := parse(env.Args[1:])
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, err = io.WriteString(env.Stdout, help)
			return err
		}
		return usagef("%v", err)
	}
	if c.words >= 0 && len(words) != c.words || c.words < 0 && len(words) > 1 {
		return usagef("adze fleet %s: expected %d arguments, got %d", name, max(c.words, 0), len(words))
	}
	if err := o.complete(); err != nil {
		return err
	}
	return c.run(ctx, env, o, words)
}

// parse reads flags before, between and after words.
func parse(args []string) (*options, []string, error) {
	o := &options{}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.server, "server", "", "")
	fs.StringVar(&o.creds, "creds", "", "")
	fs.StringVar(&o.ca, "ca", "", "")
	fs.StringVar(&o.dir, "dir", "", "")
	fs.DurationVar(&o.lease, "lease", 0, "")
	fs.IntVar(&o.slots, "slots", 0, "")
	fs.Float64Var(&o.maxCost, "max-cost", 0, "")
	fs.Int64Var(&o.rpm, "rpm", 0, "")
	fs.Int64Var(&o.tpm, "tpm", 0, "")
	fs.StringVar(&o.mode, "approval-mode", "", "")
	fs.BoolFunc("yolo", "", func(string) error {
		o.mode = "yolo"
		return nil
	})
	fs.StringVar(&o.sandbox, "sandbox", "", "")
	fs.StringVar(&o.secrets, "secrets", "", "")
	fs.StringVar(&o.container, "container", "", "")
	fs.StringVar(&o.name, "name", "", "")
	fs.StringVar(&o.metrics, "metrics", "", "")
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "")
	fs.BoolVar(&o.untilDone, "until-done", false, "")
	fs.BoolVar(&o.json, "json", false, "")
	fs.BoolVar(&o.watch, "watch", false, "")
	fs.BoolVar(&o.follow, "f", false, "")
	fs.BoolVar(&o.failed, "failed", false, "")
	fs.BoolVar(&o.branch, "branch", false, "")
	fs.StringVar(&o.output, "o", "", "")
	fs.StringVar(&o.format, "format", "", "")
	var words []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, nil, err
		}
		if fs.NArg() == 0 {
			return o, words, nil
		}
		words = append(words, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// complete checks the flags and fills in defaults.
func (o *options) complete() error {
	switch {
	case o.maxCost < 0:
		return usagef("--max-cost must be above 0")
	case o.slots < 0:
		return usagef("--slots must be above 0")
	case o.rpm < 0 || o.tpm < 0:
		return usagef("--rpm and --tpm must be above 0")
	}
	home, err := homedir.Dir()
	if err != nil && (o.dir == "" || os.Getenv("ADZE_HOME") == "") {
		return err
	}
	o.home = home
	if o.dir != "" {
		o.work = filepath.Join(o.dir, "worker")
	} else {
		base := os.Getenv("ADZE_HOME")
		if base == "" {
			base = filepath.Join(home, ".adze")
		}
		o.dir = filepath.Join(base, "fleet")
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.work = filepath.Join(cache, "adze-fleet") // not in Adze's own directory, which sandboxes protect
	}
	if o.work, err = filepath.Abs(o.work); err != nil {
		return err
	}
	o.dir, err = filepath.Abs(o.dir)
	return err
}

func (o *options) list() []string {
	return strings.FieldsFunc(o.secrets, func(r rune) bool { return r == ',' })
}

// openQueue is the queue that a command uses.
type openQueue struct {
	*queue.Queue
	embedded *queue.Embedded
}

func (p openQueue) Close() {
	p.Queue.Close()
	if p.embedded != nil {
		_ = p.embedded.Close()
	}
}

// queueDir is where the embedded server has its data.
func (o *options) queueDir() string { return filepath.Join(o.dir, "queue") }

// connect connects to the server of the flags, or to one of its own. Without alone, that of another process is used too. tell gets
// notes about the connection; nil: none.
func connect(ctx context.Context, o *options, alone bool, tell func(string)) (openQueue, error) {
	if o.server != "" {
		token := os.Getenv("ADZE_FLEET_TOKEN")
		if token == "" && o.creds == "" {
			token = queue.TokenOf(o.queueDir(), o.server)
		}
		q, err := queue.Connect(ctx, queue.Options{URL: o.server, Creds: o.creds, CA: o.ca, Token: token, Name: "adze-fleet", Lease: o.lease, Tell: tell})
		return openQueue{Queue: q}, err
	}
	e, err := queue.Serve(o.queueDir(), "127.0.0.1:0")
	var used *queue.UsedError
	if errors.As(err, &used) && !alone {
		opts := used.Options()
		opts.Tell = tell
		q, err := queue.Connect(ctx, opts)
		return openQueue{Queue: q}, err
	}
	if used != nil {
		return openQueue{}, fmt.Errorf("%w\nWait for it, use another --dir, or share a queue: 'adze fleet server' and --server.", err)
	}
	if err != nil {
		return openQueue{}, err
	}
	opts := e.Options()
	opts.Lease = o.lease
	q, err := queue.Connect(ctx, opts)
	if err != nil {
		return openQueue{}, errors.Join(err, e.Close())
	}
	return openQueue{q, e}, nil
}
