package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/redact"
)

// Options configure a Runner. The zero value works, without a helper.
type Options struct {
	Helper Helper // the result of Main
	State  string // directory for the ledger, created if missing; empty means none
	Shell  string // path of the shell; empty means bash, or another one without it
	// Avoid are directories whose programs are never the shell: the workspace.
	Avoid []string
	// Mask returns the secrets to mask in the output of a command that starts now; nil: none.
	Mask func() *redact.Mask

	// Grace is the time between TERM and KILL; 0 means 100 ms.
	Grace time.Duration
	// Drain is how long output is read after the command has exited if another process keeps it open; 0 means 50 ms.
	// Output before the exit is always read.
	Drain time.Duration
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("run command: the runner is closed")

// Runner starts commands and knows all that are running.
type Runner struct {
	opt    Options
	ledger *ledger
	keeper *keepers
	shell  func() (Shell, error) // the same for all commands

	mu     sync.Mutex
	live   map[*Process]bool // not gone yet, including those with leftover processes
	closed bool
}

// Open returns a Runner. Nothing is started before the first command.
func Open(opt Options) *Runner {
	opt.Grace = orElse(opt.Grace, 100*time.Millisecond)
	opt.Drain = orElse(opt.Drain, 50*time.Millisecond)
	shell := sync.OnceValues(func() (Shell, error) {
		if opt.Shell != "" {
			return Shell{Path: opt.Shell, Bash: strings.HasPrefix(Shell{Path: opt.Shell}.Name(), "bash")}, nil
		}
		return findShell(opt.Avoid)
	})
	return &Runner{
		opt: opt, ledger: openLedger(opt.State), keeper: newKeepers(opt.Helper), shell: shell,
		live: map[*Process]bool{},
	}
}

// Health describes which protections work here, for users.
type Health struct {
	Shell  string   // path of the shell
	Helper bool     // commands have a keeper
	Notes  []string // what is missing, and the consequences
	// Sandbox is the support for sandboxes: what the kernel seems to support, without what failed when it was tried.
	Sandbox sandbox.Support
}

// probeTime bounds the commands that only test a sandbox, for a system on which they hang. A busy machine needs
// seconds.
const probeTime = 2 * time.Minute

// Health determines what a command would get; it starts keepers to find out.
func (r *Runner) Health() Health {
	r.keeper.probe()
	h := Health{Sandbox: sandbox.Probe()}
	if r.keeper.missing() == nil {
		// A sandbox without write access, tried with all layers.
		_, err := r.Run(context.Background(), Command{
			Line: "true", Dir: "/", Timeout: probeTime, probe: true, Sandbox: &sandbox.Spec{
				Mode: sandbox.Workspace, BestEffort: true,
			},
		})
		if err != nil {
			h.Notes = append(h.Notes, "Testing the sandbox failed: "+err.Error()+".")
		}
	}
	if lost, why := r.keeper.losses(); lost != 0 {
		h.Sandbox = h.Sandbox.Lose(lost, why.Error())
	}
	missing := r.keeper.missing()
	if h.Helper = missing == nil; !h.Helper {
		h.Sandbox = h.Sandbox.Lose(sandbox.Landlock|sandbox.Seccomp|sandbox.Namespaces|sandbox.PIDs, missing.Error())
	}
	shell, err := r.shell()
	h.Shell = shell.Path
	note := shell.note()
	if err != nil {
		note = err.Error()
	}
	h.Notes = append(h.Notes, sentences(note, r.keeper.note(), r.ledger.note())...)
	return h
}

// Warm makes the first command start sooner. It does not wait.
func (r *Runner) Warm() {
	if r.keeper.missing() == nil {
		r.keeper.refill(plain)
	}
}

// Run runs a command to its end. An error means that it didn't start.
func (r *Runner) Run(ctx context.Context, c Command) (Outcome, error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	return p.Wait(), nil
}

// Start starts a command. It is stopped when the context ends, unless Detach was called before.
func (r *Runner) Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run command: not started: %w", err)
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s, note, err := r.spec(c)
	if err != nil {
		return nil, err
	}
	if err := s.plans(c.Sandbox); err != nil {
		return nil, err
	}
	p := newProcess(r, c)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.live[p] = true
	r.mu.Unlock()
	if err := p.start(ctx, s, note); err != nil {
		r.forget(p)
		close(p.gone) // Close may be waiting
		return nil, err
	}
	return p, nil
}

func (r *Runner) spec(c Command) (s spec, note string, err error) {
	s = spec{
		argv: c.Argv, dir: c.Dir, marker: newMarker(), input: string(c.Input), split: c.Stderr != nil, probe: c.probe,
		proxied: c.Proxy != nil, serve: c.Proxy, talk: c.Talk,
	}
	// If Adze runs inside Adze, the inner one's marker counts.
	s.env = append(slices.DeleteFunc(c.Env, func(kv string) bool { return name(kv) == markerVar }),
		markerVar+"="+s.marker)
	if c.Line == "" {
		s.argv = slices.Clone(c.Argv)
		if s.argv[0], err = exec.LookPath(c.Argv[0]); err != nil {
			err = fmt.Errorf("run command: %w; is it installed?", err)
		}
		return s, "", err
	}
	shell, err := r.shell()
	if err == nil {
		s.argv, s.raw, err = shell.argv(c.Line)
	}
	if err != nil {
		return s, "", fmt.Errorf("run command: %w", err)
	}
	// Without SHELL, bash asks the system for it at its start, over a socket that the sandbox has to judge.
	if shell.Bash && !slices.ContainsFunc(s.env, func(kv string) bool { return name(kv) == "SHELL" }) {
		s.env = append(s.env, "SHELL="+shell.Path)
	}
	if len(c.Line) >= maxArg {
		s.argv, s.script = s.argv[:1], c.Line
	}
	return s, shell.note(), nil
}

// Shell returns the shell that runs the lines of all commands. Without a shell, commands fail with an error.
func (r *Runner) Shell() Shell {
	shell, _ := r.shell() // Start reports the error
	return shell
}

func (r *Runner) forget(p *Process) {
	r.mu.Lock()
	delete(r.live, p)
	r.mu.Unlock()
}

// Live counts the commands in sandboxes of one of the modes that run, or left processes running.
func (r *Runner) Live(modes ...sandbox.Mode) int {
	n := 0
	for _, p := range r.processes() {
		if s := p.cmd.Sandbox; s == nil || !slices.Contains(modes, s.Mode) {
			continue
		}
		select {
		case <-p.done:
			if p.outcome.Leftover == 0 {
				continue
			}
		default:
		}
		n++
	}
	return n
}

func (r *Runner) processes() []*Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Process, 0, len(r.live))
	for p := range r.live {
		all = append(all, p)
	}
	return all
}

// Close stops all commands and leftover processes, and returns when they are gone. Start fails afterwards.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	all := r.processes()
	for _, p := range all {
		p.Stop()
	}
	left := 0
	for _, p := range all {
		<-p.gone
		if p.tree != nil {
			left += p.tree.remaining()
		}
	}
	r.keeper.close()
	if left > 0 {
		return fmt.Errorf("stop all commands: %d processes could not be killed. If a ledger is configured, the next "+
			"start tries again", left)
	}
	return nil
}

// sentences removes empty texts.
func sentences(all ...string) []string {
	var out []string
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// CanLimit returns why the reads of commands can't be limited, or nil: see sandbox.Limits. The first call tries it with
// a command that does nothing.
func (r *Runner) CanLimit(bubblewrap bool) error {
	if err := r.keeper.missing(); err != nil {
		return err
	}
	all := []string{"/"}
	spec := &sandbox.Spec{
		Mode: sandbox.ReadOnly, Limits: &sandbox.Limits{Read: all, Execute: all}, Bubblewrap: bubblewrap,
	}
	o, err := r.Run(context.Background(), Command{Line: ":", Dir: "/", Timeout: probeTime, probe: true, Sandbox: spec})
	if err == nil && o.Exit != 0 {
		err = fmt.Errorf("try the sandbox: %s", o.Output.String())
	}
	return err
}

// CanObserve returns why refused writes can't be observed, or nil: see sandbox.Spec.Observe. It tries it with two
// commands.
func (r *Runner) CanObserve() error {
	if err := r.keeper.missing(); err != nil {
		return err
	}
	all := []string{"/"}
	for line, refused := range map[string]bool{
		`: > "$TMPDIR/x" && chmod 600 "$TMPDIR/x"`: false, ": > /adze-refused": true,
	} {
		spec := &sandbox.Spec{Mode: sandbox.ReadOnly, Observe: true, Limits: &sandbox.Limits{Read: all, Execute: all}}
		o, err := r.Run(context.Background(), Command{
			Line: line, Dir: "/", Timeout: probeTime, probe: true, Sandbox: spec,
		})
		if err != nil {
			return err
		}
		if got := len(o.Refused) > 0; got != refused || !refused && o.Exit != 0 {
			return fmt.Errorf("observe denied writes: a test failed: %s %q", o.Output.String(), o.Refused)
		}
	}
	return nil
}

// Command is a command to run.
type Command struct {
	Line string   // for the shell; any length
	Argv []string // or a program, searched in PATH, and its arguments, without a shell
	Dir  string   // working directory; empty means the current one
	Env  []string // its complete environment, see Environ; nil means Environ(os.Environ(), nil)

	// Sandbox, if not nil, is the sandbox that the command runs in. If it can't be made the command doesn't run, unless
	// BestEffort is set.
	Sandbox *sandbox.Spec

	// Proxy, if not nil, is called with a listener before the command starts, if that has its own network: it is
	// the command's HTTP proxy, and all that it reaches. The listener closes when no process is left.
	Proxy func(net.Listener)

	Timeout time.Duration // from when it has started; 0 means none
	// Held, if not nil, returns how much of the time so far doesn't count.
	Held  func() time.Duration
	probe bool // others like it aren't expected: no supervisor is started ahead

	Input []byte // what it reads on its standard input; nil means nothing
	// Talk, if set, are its standard input and its standard output, for a conversation. They are closed here when it
	// has started. Outcome.Output is then only the standard error.
	Talk *[2]*os.File

	// Stderr, if not nil, receives the unprocessed standard error; Outcome.Output is then only the standard output.
	// Sandboxed commands can't use it. Unlike Spill it isn't masked. It isn't called after the outcome is known.
	Stderr io.Writer

	// Head and Tail are how many bytes of the beginning and of the end the result has; 0 means 16 KB each.
	Head, Tail int

	// Spill, if not nil, receives the unprocessed output with secrets masked, up to SpillLimit bytes (0 means 64 MB).
	// If it fails, the command continues and Output.SpillErr is set.
	Spill      io.Writer
	SpillLimit int64

	// Live, if not nil, is called with the latest output while the command runs, at most once in LiveEvery (0 means 100
	// ms) and again at the end; never concurrently. It must return: the command doesn't wait for it, but the result
	// does.
	Live      func(Progress)
	LiveEvery time.Duration
}

// withDefaults checks the command and fills in defaults.
func (c Command) withDefaults() (Command, error) {
	switch {
	case c.Line == "" && len(c.Argv) == 0, c.Line != "" && strings.TrimSpace(c.Line) == "", len(c.Argv) > 0 &&
		c.Argv[0] == "":
		return c, errors.New("run command: empty command")
	case c.Line != "" && len(c.Argv) > 0:
		return c, errors.New("run command: both Line and Argv are set")
	case strings.ContainsRune(c.Line+strings.Join(c.Argv, ""), 0):
		return c, errors.New("run command: it contains a NUL byte. Write it as \\0 if the program supports that")
	case strings.ContainsRune(c.Dir, 0):
		return c, errors.New("run command: the directory contains a NUL byte")
	case c.Stderr != nil && c.Sandbox.Boxed():
		return c, errors.New("run command: a sandboxed command can't have a separate standard error")
	case c.Talk != nil && (c.Stderr != nil || c.Input != nil):
		return c, errors.New("run command: Talk is set, and so is Stderr or Input")
	case c.Timeout < 0:
		return c, fmt.Errorf("run command: negative timeout %v (0 means none)", c.Timeout)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("run command: find the current directory: %w", err)
	}
	switch st, err := os.Stat(dir); {
	case err != nil:
		return c, fmt.Errorf("run command in a directory: %w", err)
	case !st.IsDir():
		return c, fmt.Errorf("run command in %s: it is not a directory", dir)
	}
	c.Dir = dir
	if c.Env == nil {
		c.Env = Environ(os.Environ(), nil)
	}
	// A variable with a NUL would make the kernel reject all of them.
	env := make([]string, 0, len(c.Env)+1)
	for _, kv := range c.Env {
		if !strings.ContainsRune(kv, 0) {
			env = append(env, kv)
		}
	}
	c.Env = env
	c.Head, c.Tail = orElse(c.Head, 16<<10), orElse(c.Tail, 16<<10)
	c.SpillLimit = orElse(c.SpillLimit, 64<<20)
	c.LiveEvery = orElse(c.LiveEvery, 100*time.Millisecond)
	return c, nil
}

// orElse returns v, or the default if v is not positive.
func orElse[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// readSize is how much is read at once. The pipe is larger, so that the command can write meanwhile.
const readSize = 64 << 10

// stream is the read end of a pipe for a command's output.
type stream struct {
	file    *os.File
	take    func([]byte)
	wait    time.Duration // how long it is read after the command has exited
	settled chan struct{} // everything that counts was read
	closed  chan struct{} // all writers have closed it
}

func newStream(f *os.File, wait time.Duration, take func([]byte)) *stream {
	return &stream{f, take, wait, make(chan struct{}), make(chan struct{})}
}

// pump reads the output until all writers have closed it. It is captured while the command runs and for a short time
// after; later output of leftover processes is read and dropped, so that they neither block nor die.
func (s *stream) pump() {
	defer close(s.closed)
	buf := make([]byte, readSize)
	err := s.copyOut(buf, s.file)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = s.drain(buf)
	}
	close(s.settled)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.file.SetReadDeadline(time.Time{})
		io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{s.file}, buf[:4<<10])
	}
}

// drain reads everything that was in the pipe when the command exited, and what arrives within the drain time.
func (s *stream) drain(buf []byte) error {
	s.file.SetReadDeadline(time.Time{})
	if err := s.copyOut(buf, io.LimitReader(s.file, waiting(s.file))); err != io.EOF {
		return err
	}
	s.file.SetReadDeadline(time.Now().Add(s.wait))
	return s.copyOut(buf, s.file)
}

// copyOut reads until an error, which it returns: io.EOF at the end.
func (s *stream) copyOut(buf []byte, from io.Reader) error {
	for {
		n, err := from.Read(buf)
		if n > 0 {
			s.take(buf[:n])
		}
		if err != nil {
			return err
		}
	}
}

// readToEnd waits until all output of an exited command is captured.
func (s *stream) readToEnd() {
	if err := s.file.SetReadDeadline(time.Now()); err == nil {
		<-s.settled
		return
	}
	// Pipes have no deadlines here (Windows): a process that keeps the pipe open is cut off after the drain time.
	select {
	case <-s.settled:
	case <-time.After(s.wait):
		s.file.Close()
		<-s.settled
	}
}

// close stops reading.
func (s *stream) close() {
	s.file.Close()
	<-s.closed
}

// onlyReader and onlyWriter hide the methods that io.Copy would use instead.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
