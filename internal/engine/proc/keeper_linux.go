package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// This file is the program's side of keepers.

// keepers has one keeper for each command. Executing a large binary again takes milliseconds, so the next one is
// started ahead, as soon as one is taken; an idle keeper takes a few megabytes.
type keepers struct {
	helper  Helper
	mu      sync.Mutex
	broken  error // why keepers can't be started
	spare   map[kind]*idle
	lost    sandbox.Layers // namespaces, or pids, that turned out not to work
	lostWhy error
	alone   error         // why keepers can't be in a session
	proven  map[kind]bool // keepers of these kinds have worked: a later failure isn't a lack of support
	closed  bool
	filling sync.WaitGroup
	session sessions
	last    []int // descriptors that a keeper closes, see closeLast
}

// kind is the kind of a keeper, by its namespaces.
type kind int

const (
	namespaced kind = 1 << iota // user, mount and IPC
	ownNetwork
	ownPIDs
	ofTrial         // with the capabilities for overlays
	launched        // by bubblewrap, which creates the user, PID and mount namespaces
	inSession       // in the network namespace of a session process, which starts them
	onlyMounts      // a user and a mount namespace
	onHost          // without the user namespace
	plain      kind = 0
)

func kindOf(p sandbox.Plan) kind {
	if !p.InProcess() || !p.Layers.Has(sandbox.Namespaces) {
		return plain
	}
	k, a := namespaced, p.Apart()
	if a.Network {
		k |= ownNetwork
	}
	if a.PIDs {
		k |= ownPIDs
	}
	if a.Trial {
		k |= ofTrial
	}
	if p.Launched {
		k |= launched
	}
	if a.Mounts {
		k |= onlyMounts
	}
	if a.Host {
		k |= onHost
	}
	return k
}

func (k kind) apart() sandbox.Apart {
	return sandbox.Apart{
		Network: k&ownNetwork != 0, PIDs: k&ownPIDs != 0, Trial: k&ofTrial != 0, Mounts: k&onlyMounts != 0,
		Host: k&onHost != 0,
	}
}

// idle is a keeper without a command.
type idle struct {
	kind kind
	kept *kept
	out  *os.File // read end of its command's output
	errs *os.File // read end of its standard error
}

// release releases an idle keeper: it exits when its control socket closes.
func (i *idle) release() {
	if i != nil {
		i.out.Close()
		i.errs.Close()
		i.kept.ctl.Close()
		if i.kind&launched != 0 {
			i.kept.releaseLaunched()
			return
		}
		i.kept.keeper.Kill() // in case it is stopped and doesn't notice
		i.kept.keeper.Wait()
	}
}

// releaseLaunched waits for bubblewrap, whose child is the keeper. If bubblewrap were killed while it starts the
// keeper, the child would wait for it.
func (t *kept) releaseLaunched() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		t.keeper.Wait()
	}()
	select {
	case <-over:
	case <-time.After(patience):
		endAll(func() []target { return descendants(t.id.pid) }, nil, 0)
		t.keeper.Kill()
		<-over
	}
}

// give passes the standard error to a command with its own.
func (i *idle) give(s *spec) {
	if s.split {
		s.errs = i.errs
		return
	}
	i.errs.Close()
}

func newKeepers(h Helper) *keepers {
	return &keepers{helper: h, spare: map[kind]*idle{}, proven: map[kind]bool{}}
}

// missing returns why commands get no keeper, or nil.
func (k *keepers) missing() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.helper.path == "":
		return k.helper.missing()
	case k.broken != nil:
		return cantStart(k.broken)
	}
	return nil
}

func (k *keepers) note() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.helper.path == "":
		return "This program does not call adze.Main first, so commands run without a supervisor process: a child " +
			"process that leaves its process group and clears its environment may keep running."
	case k.broken != nil:
		return fmt.Sprintf("The supervisor process could not be started (%v): a child process that leaves its "+
			"process group and clears its environment may keep running.", k.broken)
	}
	return ""
}

// start starts a command, under a keeper if possible. If the context ends before it is known to have started, it counts
// as started, but its kind of keeper isn't known to work. A sandbox that can't be made is tried again; then the command
// doesn't run. It never runs with less protection than earlier commands of its kind.
func (k *keepers) start(ctx context.Context, s *spec, l *ledger) (tree, *os.File, *ledgerEntry, error) {
	failed := map[kind]bool{} // before their command was known
	for tries := 1; k.missing() == nil; tries++ {
		want, err := k.kindFor(s)
		if err != nil {
			return nil, nil, nil, err
		}
		i, spare, err := k.take(want)
		if err == nil {
			e := l.add(i.kept.id, s.marker)
			var reported bool
			if reported, err = i.kept.run(ctx, s); err == nil {
				i.give(s)
				if reported {
					k.proves(want)
					if !s.probe {
						time.AfterFunc(refillAfter, func() { k.refill(want) })
					}
				}
				return i.kept, i.out, e, nil
			}
			i.out.Close()
			i.errs.Close()
			<-i.kept.gone()
			e.remove()
			unmade := (*boxError)(nil)
			switch {
			case errors.As(err, &unmade) && unmade.early && !failed[want]:
				failed[want] = true // possibly a temporary lack of memory or processes
				continue
			case errors.As(err, &unmade) && unmade.early && k.breaks(want, err):
				continue // with what works without it
			case errors.As(err, &unmade) && tries == 1:
				continue
			case !errors.Is(err, errUnused):
				return nil, nil, nil, err
			}
		}
		// A spare may have died long ago; a new one must work.
		if !spare && !k.breaks(want, err) && tries > 1 {
			return nil, nil, nil, err
		}
	}
	if err := s.unbox(k.missing()); err != nil {
		return nil, nil, nil, err
	}
	return startBare(s, l)
}

// kindFor returns the kind of keeper that a command needs. If namespaces turned out not to work, although they seemed
// to, the sandbox is planned again without them.
func (k *keepers) kindFor(s *spec) (kind, error) {
	want := kindOf(s.plan)
	lost, why := k.losses()
	if want == plain || s.plan.Needs()&lost == 0 {
		return k.joins(want, s), nil
	}
	if want&launched != 0 && lost.Has(sandbox.Launcher) {
		return plain, &boxError{why: fmt.Sprintf("it doesn't work in namespaces of bubblewrap (%s)", failedIn(why))}
	}
	box := *s.box
	box.Without |= lost
	if err := s.plans(&box); err != nil {
		return plain, &boxError{why: fmt.Sprintf("namespaces don't work: %v; without them: %v", why, err)}
	}
	if lost.Has(sandbox.Namespaces) {
		s.notes = append(s.notes, fmt.Sprintf("Namespaces don't work on this system, although a test succeeded: %v.",
			why))
	}
	return k.joins(kindOf(s.plan), s), nil
}

// failedIn returns why there is no sandbox in namespaces of bubblewrap.
func failedIn(err error) string {
	if unmade := (*boxError)(nil); errors.As(err, &unmade) {
		return unmade.why + ": the system may deny capabilities to what bubblewrap starts"
	}
	return err.Error()
}

// joins returns the kind of keeper for a command with a separate network: that of its session. Without a PID namespace
// commands would see each other, so each has its own network then. Bubblewrap creates that namespace itself.
func (k *keepers) joins(want kind, s *spec) kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case want&ofTrial != 0: // effects of other commands aren't part of the trial
		return want
	case want&(ownNetwork|ownPIDs) != ownNetwork|ownPIDs && !(s.plan.Layers.Has(sandbox.Bubblewrap) && s.plan.Loopback):
		return want
	case k.alone != nil:
		if note := fmt.Sprintf("Commands can't reach servers of other commands: %v.",
			k.alone); !slices.Contains(s.notes, note) {
			s.notes = append(s.notes, note)
		}
		return want
	}
	return want&^ownNetwork | inSession
}

// losses returns the layers that turned out not to work.
func (k *keepers) losses() (sandbox.Layers, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost, k.lostWhy
}

// proves records that keepers of a kind work here.
func (k *keepers) proves(which kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.proven[which], k.proven[plain] = true, true
}

// breaks records that keepers, or those with namespaces, don't work here, and reports whether it did: a kind that has
// worked before stays required. A PID namespace is given up first: it fails before a command is known, usually because
// /proc can't be mounted.
func (k *keepers) breaks(which kind, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	noSession := (*sessionError)(nil)
	switch {
	case k.proven[which]:
		return false
	case which == plain:
		k.broken = err
	case which&inSession != 0 && (which&namespaced == 0 || errors.As(err, &noSession)):
		k.alone = err
	case which&launched != 0:
		k.lost, k.lostWhy = k.lost|sandbox.Launcher, err
	case which&ownPIDs != 0:
		k.lost, k.lostWhy = k.lost|sandbox.PIDs, err
	default:
		k.lost, k.lostWhy = k.lost|sandbox.Namespaces|sandbox.PIDs, err
	}
	return true
}

// probe checks whether a keeper can be started, and keeps it as the spare.
func (k *keepers) probe() {
	k.mu.Lock()
	missing := !k.closed && k.spare[plain] == nil
	k.mu.Unlock()
	if missing && k.missing() == nil {
		k.fill(plain)
	}
}

// take returns the spare keeper, or a new one.
func (k *keepers) take(want kind) (i *idle, spare bool, err error) {
	k.mu.Lock()
	i = k.spare[want]
	delete(k.spare, want)
	k.mu.Unlock()
	if i != nil {
		return i, true, nil
	}
	i, err = k.keeper(want)
	return i, false, err
}

// refillAfter is how long the next spare isn't started after a command. Starting one takes milliseconds of a processor,
// and what comes after a short command needs it more; then the model takes its time.
const refillAfter = 25 * time.Millisecond

// refill starts the next spare.
func (k *keepers) refill(want kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.spare[want] != nil {
		return
	}
	k.filling.Go(func() { k.fill(want) })
}

// fill starts the next spare, and waits for it.
func (k *keepers) fill(want kind) {
	i, err := k.keeper(want)
	if err != nil {
		k.breaks(want, err)
		return
	}
	k.mu.Lock()
	if k.closed || k.spare[want] != nil {
		defer i.release()
	} else {
		k.spare[want] = i
	}
	k.mu.Unlock()
}

// keeper starts a keeper. A session process that has exited or is full is replaced once.
func (k *keepers) keeper(want kind) (*idle, error) {
	i, err := k.open(want)
	if noSession := (*sessionError)(nil); errors.As(err, &noSession) {
		return k.open(want)
	}
	return i, err
}

func (k *keepers) open(want kind) (*idle, error) {
	r, w, err := pipeOf()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	errs, errsW, err := os.Pipe()
	if err != nil {
		r.Close()
		return nil, err
	}
	defer errsW.Close()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		r.Close()
		errs.Close()
		return nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	unix.SetNonblock(fds[0], true) // before NewFile, so that reading doesn't block a thread
	ours := os.NewFile(uintptr(fds[0]), "control")
	var p *os.Process
	if want&inSession != 0 {
		p, err = k.session.keeper(k.helper, want, theirs, w)
	} else {
		p, err = k.process(want, theirs, w, errsW)
	}
	if err != nil {
		r.Close()
		errs.Close()
		ours.Close()
		return nil, err
	}
	return &idle{want, newKept(p, ours), r, errs}, nil
}

// process starts a keeper with its control socket, its output and its standard error.
func (k *keepers) process(want kind, ctl, out, errs *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	attr := &syscall.SysProcAttr{}
	if want != plain && want&launched == 0 {
		attr = want.apart().Attr()
	}
	// A keeper that is stopped must wake up to notice that its program has exited. The signal is sent when the starting
	// thread ends, which may be early; then it is harmless.
	attr.Setsid, attr.Pdeathsig = true, syscall.SIGCONT
	path, argv, files := k.helper.path, keeperArgv(want), []*os.File{null, null, null, ctl, out, null, errs}
	if want&launched != 0 {
		if path, argv, files, err = k.helper.launch(argv, files, false); err != nil {
			return nil, err
		}
		defer files[len(files)-1].Close()
	}
	return os.StartProcess(path, argv, &os.ProcAttr{Env: helperEnv(), Files: files, Sys: attr})
}

// kept is a command under a keeper.
type kept struct {
	keeper  *os.Process
	id      target
	ctl     *os.File
	marker  string
	started chan error
	exits   chan exit
	ended   chan struct{}
	left    int // set before ended is closed

	serve   func(net.Listener) // of its command
	proxies []net.Listener     // that were passed to it
}

func newKept(p *os.Process, ctl *os.File) *kept {
	t := &kept{
		keeper: p, id: target{pid: p.Pid}, ctl: ctl, started: make(chan error, 1), exits: make(chan exit, 1),
		ended: make(chan struct{}),
	}
	if s, ok := statusOf(p.Pid); ok {
		t.id = s.target
	}
	return t
}

// errUnused reports that a keeper exited before it received its command, which has certainly not run.
var errUnused = errors.New("the supervisor process exited immediately")

// stopCheck is the time between two checks whether a command has stopped its keeper.
const stopCheck = 200 * time.Millisecond

// run sends the command and waits until the keeper reports that it has started, however long a busy machine takes.
// reported is false if the context ended, or if the command has stopped its keeper, which then can't report anything.
func (t *kept) run(ctx context.Context, s *spec) (reported bool, err error) {
	t.marker, t.serve = s.marker, s.serve
	go t.listen()
	interrupted := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		t.ctl.SetWriteDeadline(time.Now())
		close(interrupted)
	})
	err = sendRun(t.ctl, s)
	expired := !release()
	if expired {
		<-interrupted
		t.ctl.SetWriteDeadline(time.Time{}) // it can still be told to stop
	}
	if err != nil {
		t.keeper.Kill()
		// It may have sent the reason before it exited.
		unmade := (*boxError)(nil)
		switch reason := <-t.started; {
		case errors.As(reason, &unmade):
			return false, unmade
		case expired:
			return false, fmt.Errorf("not started: %w", ctx.Err())
		}
		return false, fmt.Errorf("%w: %w", errUnused, err)
	}
	check := time.NewTicker(stopCheck)
	defer check.Stop()
	for {
		select {
		case err := <-t.started:
			return true, err
		case <-ctx.Done():
			return false, nil
		case <-check.C:
			if t.isStopped() {
				return false, nil
			}
		}
	}
}

// isStopped reports whether a signal has stopped the keeper, which may be a descendant of the process that was started.
// Before a command has started, nothing stops these processes.
func (t *kept) isStopped() bool {
	return slices.ContainsFunc(append(descendants(t.id.pid), t.id), func(p target) bool {
		s, ok := statusOf(p.pid)
		return ok && s.stopped
	})
}

// listen receives the keeper's messages until it exits.
func (t *kept) listen() {
	var ready, started, exited, clean bool
	from := &withFiles{file: t.ctl}
	for {
		kind, body, err := receive(from)
		if err != nil {
			break
		}
		switch kind {
		case msgReady:
			ready = true
		case msgProxy:
			t.openProxies(from)
		case msgStarted:
			started = true
			t.started <- nil
		case msgFailed:
			started, exited, clean = true, true, true
			var err error = syscall.Errno(number(body, 0))
			if len(body) > 4 {
				err = &boxError{why: string(body[4:]), early: !ready}
			}
			t.started <- err
			t.exits <- exit{code: 127, note: "The command could not be started: " + err.Error() + "."}
		case msgExited:
			exited = true
			e := exitOf(syscall.WaitStatus(number(body, 0)), number(body, 1))
			if len(body) > 8 {
				json.Unmarshal(body[8:], &e.report) // valid: the keeper wrote it
			}
			t.exits <- e
		case msgEmpty:
			clean = true
		case msgLeft:
			clean = true
			t.left = number(body, 0)
		}
	}
	t.ctl.Close()
	from.close()
	if !clean { // another process killed the keeper
		t.left = endAll(func() []target { return marked(t.marker, 0) }, nil, 0)
		sandbox.RemoveTemp(boxTemp(t.marker))
	}
	if !exited {
		t.exits <- exit{
			code: -1, signal: syscall.SIGKILL, note: "The command's supervisor process was killed, which killed " +
				"the command.",
		}
	}
	switch {
	case started:
	case !ready:
		t.started <- errUnused
	default: // the command may have run, so it must not run again
		t.started <- nil
	}
	if t.left > 0 { // the first process of a PID namespace ends after all others
		go t.keeper.Wait()
	} else {
		t.keeper.Wait()
	}
	for _, l := range t.proxies {
		l.Close()
	}
	close(t.ended)
}

func (t *kept) exited() <-chan exit   { return t.exits }
func (t *kept) gone() <-chan struct{} { return t.ended }

func (t *kept) stop(grace time.Duration) {
	send(t.ctl, msgStop, numbers(int(grace.Milliseconds()))) // a keeper that has exited has stopped everything
}

func (t *kept) remaining() int { return t.left }

func (t *kept) abandon() {
	endAll(func() []target { return append(descendants(t.id.pid), marked(t.marker, 0)...) }, nil, 0)
	t.keeper.Kill()
	<-t.ended
}
