package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// Box is one sandbox, for one command.
//
//	box := sandbox.New(spec, plan, temp)
//	box.Make()
//	err := box.Enter(dir) // on a locked thread, which is never unlocked
//	argv, files, err := box.Argv(argv, dir, 3, true)
//	syscall.ForkExec(argv[0], argv, … box.Environ(env) …)
//	…
//	box.Remove() // not on that thread, when all processes have exited
type Box struct {
	spec    *Spec
	plan    Plan
	temp    string   // private; only in read-only mode
	aside   string   // the beginning of names for other files of the sandbox
	protect []string // protected paths that exist now
	onLinux

	mu   sync.Mutex
	told []string // denied calls, each once

	refused []string // paths of writes that were refused, if they are observed
	stop    func()   // stops the command at the first of them

	hidden     []string // hidden files that were opened
	moreHidden bool
}

// New returns a sandbox that isn't made yet. temp is the path for its private temp directory, if it has one: it must be
// unguessable.
func New(s *Spec, p Plan, temp string) *Box {
	b := &Box{spec: s, plan: p, aside: temp}
	if s.Mode == ReadOnly {
		b.temp = temp
	}
	return b
}

// Plan returns the plan of the sandbox.
func (b *Box) Plan() Plan { return b.plan }

// Make creates the sandbox's files: a private temp directory, and placeholders for protected paths that don't exist.
func (b *Box) Make() {
	if b.temp != "" && os.Mkdir(b.temp, 0o700) != nil {
		b.temp = "" // a command can do slightly less without it
	}
	b.makeHere()
}

// Remove removes the files of Make.
func (b *Box) Remove() {
	if b.temp != "" {
		RemoveTemp(b.temp)
	}
	b.removeHere()
}

// RemoveTemp removes the files of a sandbox with this temp directory, for a process that couldn't.
func RemoveTemp(temp string) {
	os.RemoveAll(temp)
	os.RemoveAll(coversOf(temp))
}

// coversOf returns the directory of covers, for bubblewrap. A command whose reads are limited can't read it.
func coversOf(temp string) string { return temp + ".covers" }

// Environ returns env for the command: temp files go to the private directory.
func (b *Box) Environ(env []string) []string {
	if b.spec.Mode == DenyRules {
		return env
	}
	const tar = "TAR_OPTIONS"
	if os.Getuid() == 0 && !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, tar+"=") }) {
		// As root, tar would restore owners, which the sandbox denies, and fail.
		env = append(slices.Clip(env), tar+"=--no-same-owner")
	}
	if b.spec.Mode == Trial || b.plan.Observes { // reading a repository should have no effects
		env = append(slices.Clip(env), "GIT_OPTIONAL_LOCKS=0")
	}
	if b.temp == "" {
		return env
	}
	var out []string
	for _, kv := range env {
		if n, _, _ := strings.Cut(kv, "="); n != "TMPDIR" && n != "TMP" && n != "TEMP" {
			out = append(out, kv)
		}
	}
	return append(out, "TMPDIR="+b.temp)
}

// Argv returns the command line to start instead of argv: the same, unless a wrapper program makes the sandbox. That
// may need files, which it inherits as descriptors from fd on; the caller closes them. kept means that the caller stops
// leftover processes.
func (b *Box) Argv(argv []string, dir string, fd int, kept bool) ([]string, []*os.File, error) {
	if b.plan.Layers.Has(Seatbelt) {
		return append(b.spec.seatbeltArgs(b.temp), argv...), nil, nil
	}
	if !b.plan.Layers.Has(Bubblewrap) {
		return argv, nil, nil
	}
	w := wrapping{
		dir: dir, write: b.bound(dir), sharedToo: !b.ownShared(dir), protect: b.protect, sharedNetwork: b.inSession(),
		dieWithParent: !kept,
	}
	b.plan.PrivateSockets = b.plan.PrivateSockets && kept
	w.bwrap, _ = findBubblewrap()
	if w.bwrap == "" {
		return nil, nil, errors.New("bwrap was removed")
	}
	var files []*os.File
	add := func(f *os.File, err error) (string, error) {
		if err == nil {
			files = append(files, f)
		}
		return strconv.Itoa(fd + len(files) - 1), err
	}
	var err error
	if b.plan.Layers.Has(Seccomp) && !b.plan.PrivateSockets {
		w.seccomp, err = add(b.filterFile())
	}
	if err == nil {
		w.covers, err = b.coverMounts()
	}
	if b.plan.Layers.Has(Landlock) && err == nil {
		argv, err = b.innerArgv(argv, add)
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, nil, err
	}
	return append(b.spec.bubblewrapArgs(w), argv...), files, nil
}

// SharedDir is the directory of POSIX shared memory.
const SharedDir = "/dev/shm"

// ownShared reports whether a command in dir has its own shared memory: it does unless the workspace or a temp
// directory is below it.
func (b *Box) ownShared(dir string) bool {
	return !slices.ContainsFunc(slices.Concat(b.spec.Roots, b.spec.Write, []string{dir, b.temp}),
		func(path string) bool {
			return path != SharedDir && names.Below(path, SharedDir)
		})
}

// bound returns the paths that bubblewrap mounts writable for a command in dir. It has its own shared memory.
func (b *Box) bound(dir string) []string {
	own := b.ownShared(dir)
	return slices.DeleteFunc(slices.Clone(b.writable()), func(path string) bool { return own && path == SharedDir })
}

// Wrapped reports whether a wrapper program is started: it exits with the command, and needn't be stopped.
func (b *Box) Wrapped() bool { return b.plan.Layers.Has(Bubblewrap) }

// Report is what is known about the command so far.
type Report struct {
	Refused    []string `json:"refused,omitempty"` // calls that the kernel denied, in words
	Hidden     []string `json:"hidden,omitempty"`  // hidden files that were opened
	MoreHidden bool     `json:"moreHidden,omitempty"`
	Network    []string `json:"network,omitempty"`  // names and addresses that a trial tried to reach
	Limit      string   `json:"limit,omitempty"`    // the limit that stopped a trial
	Observed   bool     `json:"observed,omitempty"` // Writes is known, see Spec.Observe
	Writes     []string `json:"writes,omitempty"`   // paths of refused writes
	Left       int      `json:"left,omitempty"`     // processes that a trial's command left, and that were stopped
}

// Report returns what is known about the command so far.
func (b *Box) Report() Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := Report{Refused: slices.Clone(b.told), Observed: b.plan.Observes, Writes: slices.Clone(b.refused)}
	hidden, more := b.openedHidden()
	b.hidden = append(b.hidden, hidden...)
	b.moreHidden = b.moreHidden || more
	r.Hidden, r.MoreHidden = slices.Clone(b.hidden), b.moreHidden
	b.reportTrial(&r)
	return r
}

// Encode writes the sandbox for another process of the same program.
func (b *Box) Encode() []byte {
	var out []byte
	str := func(v string) {
		out = binary.AppendUvarint(out, uint64(len(v)))
		out = append(out, v...)
	}
	str(string(b.spec.Mode))
	str(b.temp)
	str(b.aside)
	str(b.spec.Trial.encoded())
	limits := b.spec.Limits
	if limits == nil {
		limits = &Limits{}
	}
	var covers []string
	for _, c := range b.spec.Covers {
		covers = append(covers, string(rune(c.As))+c.Path, c.Text)
	}
	for _, list := range [][]string{
		b.spec.Roots, b.spec.Write, b.spec.Protect, b.spec.HostSockets, b.protect,
		limits.Read, limits.Execute, limits.Write, covers,
	} {
		out = binary.AppendUvarint(out, uint64(len(list)))
		for _, v := range list {
			str(v)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(b.spec.Pins)))
	for path, id := range b.spec.Pins {
		str(path)
		out = binary.AppendUvarint(binary.AppendUvarint(out, id.Dev), id.Ino)
	}
	return append(out, bits(b.spec.UnixSockets, b.plan.Loopback, b.plan.UnixSockets, b.plan.Protects,
		b.plan.LandlockUnix, b.plan.Limits, b.plan.PrivateSockets, b.plan.Trial),
		bits(b.plan.Host, b.plan.Mounts, b.plan.Observes), byte(b.plan.Layers), byte(b.plan.LandlockABI))
}

func bits(flags ...bool) (b byte) {
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}

// decodePins reads the pins that Encode has written, and returns what follows.
func decodePins(in []byte) (pins map[string]ID, rest []byte, ok bool) {
	number := func() (n uint64) {
		n, k := binary.Uvarint(in)
		if ok = ok && k > 0; ok {
			in = in[k:]
		}
		return n
	}
	ok = true
	for n := number(); ok && n > 0; n-- {
		size := number()
		if !ok || size > uint64(len(in)) {
			return nil, nil, false
		}
		path := string(in[:size])
		in = in[size:]
		if pins == nil {
			pins = map[string]ID{}
		}
		pins[path] = ID{Dev: number(), Ino: number()}
	}
	return pins, in, ok
}

// DecodeBox reads what Encode has written.
func DecodeBox(in []byte) (*Box, error) {
	bad := errors.New("read the sandbox: invalid message")
	length := func() (n uint64, ok bool) {
		n, k := binary.Uvarint(in)
		if k <= 0 || n > uint64(len(in)-k) {
			return 0, false
		}
		in = in[k:]
		return n, true
	}
	str := func() (v string, ok bool) {
		n, ok := length()
		if ok {
			v, in = string(in[:n]), in[n:]
		}
		return v, ok
	}
	limits := &Limits{}
	b := &Box{spec: &Spec{}}
	mode, ok := str()
	temp, ok2 := str()
	aside, ok4 := str()
	trial, ok3 := str()
	if !ok || !ok2 || !ok3 || !ok4 {
		return nil, bad
	}
	var err error
	if b.spec.Trial, err = decodeTrials(trial); err != nil {
		return nil, bad
	}
	b.spec.Mode, b.temp, b.aside = Mode(mode), temp, aside
	var covers []string
	for _, list := range []*[]string{
		&b.spec.Roots, &b.spec.Write, &b.spec.Protect, &b.spec.HostSockets, &b.protect,
		&limits.Read, &limits.Execute, &limits.Write, &covers,
	} {
		n, ok := length()
		for ; ok && n > 0; n-- {
			var v string
			v, ok = str()
			*list = append(*list, v)
		}
		if !ok {
			return nil, bad
		}
	}
	if b.spec.Pins, in, ok = decodePins(in); !ok || len(in) != 4 {
		return nil, bad
	}
	for ; len(covers) > 1 && covers[0] != "" && Kind(covers[0][0]) <= Shown; covers = covers[2:] {
		b.spec.Covers = append(b.spec.Covers, Cover{Path: covers[0][1:], As: Kind(covers[0][0]), Text: covers[1]})
	}
	if len(covers) > 0 {
		return nil, bad
	}
	for i, flag := range []*bool{&b.spec.UnixSockets, &b.plan.Loopback, &b.plan.UnixSockets, &b.plan.Protects,
		&b.plan.LandlockUnix, &b.plan.Limits, &b.plan.PrivateSockets, &b.plan.Trial} {
		*flag = in[0]&(1<<i) != 0
	}
	b.plan.Host, b.plan.Mounts, b.plan.Observes = in[1]&1 != 0, in[1]&2 != 0, in[1]&4 != 0
	b.plan.Layers, b.plan.LandlockABI = Layers(in[2]), int(in[3])
	if b.plan.Limits {
		b.spec.Limits = limits
	}
	return b, nil
}
