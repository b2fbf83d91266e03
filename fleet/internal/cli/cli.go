// Package cli is the command line of adze-fleet.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/fleet/internal/child"
	"github.com/adze-dev/adze/fleet/internal/queue"
	"github.com/adze-dev/adze/fleet/internal/task"
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

// usagef returns an error in the command line. A second line is advice.
func usagef(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	separator := "\n"
	if strings.Contains(text, "\n") {
		separator = " "
	}
	return &exit{exitUsage, text + separator + "See 'adze fleet help'."}
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
  --monitor URL,...    monitoring ports of the queue's servers (http://HOST:8222): check that they sync every write
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
  --listen ADDRESS     server: address on loopback (a free port, the same after a restart)
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
	commands := map[string]command{
		"run": {"FILE", runFile}, "worker": {"", runWorker}, "server": {"", runServer}, "status": {"[RUN]", status}, "logs": {"RUN/TASK", logs},
		"cancel": {"RUN", cancel}, "retry": {"RUN", retry}, "collect": {"RUN", collect},
	}
	c, ok := commands[name]
	if !ok {
		return usagef("unknown command %q%s", "fleet "+name, meant("adze fleet ", name, slices.Sorted(maps.Keys(commands))))
	}
	o, words, err := parse(env.Args[1:])
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, err = io.WriteString(env.Stdout, help)
			return err
		}
		return usagef("%v", err)
	}
	switch optional := strings.HasPrefix(c.word, "["); {
	case len(words) == 0 && c.word != "" && !optional:
		return usagef("adze fleet %s needs an argument: adze fleet %s %s", name, name, c.word)
	case len(words) > 1 || len(words) == 1 && c.word == "":
		return usagef("adze fleet %s: unexpected argument %q", name, words[len(words)-1])
	}
	if err := o.complete(); err != nil {
		return err
	}
	return c.run(ctx, env, o, words)
}

// command is a command, and the name of its argument in help; "": none.
type command struct {
	word string
	run  func(context.Context, Env, *options, []string) error
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

// noteSync prints a warning about servers that may acknowledge entries before they are on disk.
func noteSync(env Env, o *options, q *queue.Queue) {
	switch {
	case len(q.Unchecked) == 0:
	case o.monitors == "":
		fmt.Fprintf(env.Stderr, "adze: can't check that the queue at %s syncs every write; if not, a crash of it can lose tasks\n"+
			"It needs jetstream { sync_interval: always }. Check it with --monitor http://HOST:8222.\n", o.server)
	default:
		fmt.Fprintf(env.Stderr, "adze: can't check that %s syncs every write; if not, a crash of it can lose tasks\n"+
			"Name the monitoring ports of all servers with --monitor.\n", strings.Join(q.Unchecked, ", "))
	}
}

// queueDir returns where the embedded server has its data.
func (o *options) queueDir() string { return filepath.Join(o.dir, "queue") }

// connect connects to the server of the flags, or to an embedded one. Unless alone is set, it also uses the embedded server
// of another process. tell gets notes about the connection; nil: none.
func connect(ctx context.Context, o *options, alone bool, tell func(string)) (openQueue, error) {
	if o.server != "" {
		token := os.Getenv("ADZE_FLEET_TOKEN")
		if token == "" && o.creds == "" {
			token = queue.TokenOf(o.queueDir(), o.server)
		}
		q, err := queue.Connect(ctx, queue.Options{URL: o.server, Creds: o.creds, CA: o.ca, Monitors: o.monitors, Token: token, Name: "adze-fleet", Lease: o.lease, Tell: tell})
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
	opts.Lease, opts.Tell = o.lease, tell
	q, err := queue.Connect(ctx, opts)
	if err != nil {
		return openQueue{}, errors.Join(err, e.Close())
	}
	return openQueue{q, e}, nil
}
