package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Box is one box, for one command.
//
//	box := sandbox.New(spec, plan, temp)
//	box.Make()
//	err := box.Enter() // on a locked thread, which is never unlocked
//	argv, file, err := box.Argv(argv, dir, 3, true)
//	syscall.ForkExec(argv[0], argv, … box.Environ(env) …)
//	…
//	box.Remove() // not on that thread, when all that was started is gone
type Box struct {
	spec    *Spec
	plan    Plan
	temp    string   // private; only in read-only
	protect []string // protected paths that exist now
	onLinux

	mu   sync.Mutex
	told []string // what was refused, each once
}

// New is a box of which nothing is made yet. temp is where its private temp
// folder is made, if it has one: a path that nobody can guess.
func New(s *Spec, p Plan, temp string) *Box {
	b := &Box{spec: s, plan: p}
	if s.Mode == ReadOnly {
		b.temp = temp
	}
	return b
}

// Plan is what it is made of.
func (b *Box) Plan() Plan { return b.plan }

// Make makes what of the box lies on the disk: a private temp folder, and
// placeholders for protected paths that do not exist.
func (b *Box) Make() {
	if b.temp != "" && os.Mkdir(b.temp, 0o700) != nil {
		b.temp = "" // without it a command can do little less
	}
	b.makeHere()
}

// Remove removes what Make has made.
func (b *Box) Remove() {
	if b.temp != "" {
		os.RemoveAll(b.temp)
	}
	b.removeHere()
}

// Environ is env as it is inside: temp files go where they can.
func (b *Box) Environ(env []string) []string {
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

// Argv is what to start in the place of argv: the same, unless the box is made
// by a program in front of it. That may need a file, which it wants to inherit
// as descriptor fd; the caller closes it. kept says that the caller ends what
// the command leaves running.
func (b *Box) Argv(argv []string, dir string, fd int, kept bool) ([]string, *os.File, error) {
	if b.plan.Layers.Has(Seatbelt) {
		return append(b.spec.seatbeltArgs(b.temp), argv...), nil, nil
	}
	if !b.plan.Layers.Has(Bubblewrap) {
		return argv, nil, nil
	}
	w := wrapping{dir: dir, temp: b.temp, protect: b.protect, dieWithParent: !kept}
	w.bwrap, _ = findBubblewrap()
	if w.bwrap == "" {
		return nil, nil, errors.New("bwrap was removed")
	}
	if !b.plan.Layers.Has(Seccomp) {
		return append(b.spec.bubblewrapArgs(w), argv...), nil, nil
	}
	f, err := b.filterFile()
	w.seccomp = strconv.Itoa(fd)
	return append(b.spec.bubblewrapArgs(w), argv...), f, err
}

// Wrapped reports whether what is started is such a program: it ends when the
// command does, and need not be told to.
func (b *Box) Wrapped() bool { return b.plan.Layers.Has(Bubblewrap) }

// Refused is what the kernel is known to have refused so far, in words.
func (b *Box) Refused() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.told...)
}

// Encode writes the box for another process of the same program.
func (b *Box) Encode() []byte {
	var out []byte
	str := func(v string) {
		out = binary.AppendUvarint(out, uint64(len(v)))
		out = append(out, v...)
	}
	str(string(b.spec.Mode))
	str(b.temp)
	for _, list := range [][]string{b.spec.Roots, b.spec.Write, b.spec.Protect, b.protect} {
		out = binary.AppendUvarint(out, uint64(len(list)))
		for _, v := range list {
			str(v)
		}
	}
	return append(out, bits(b.spec.UnixSockets, b.plan.Loopback, b.plan.UnixSockets, b.plan.Protects, b.plan.LandlockUnix), byte(b.plan.Layers), byte(b.plan.LandlockABI))
}

func bits(flags ...bool) (b byte) {
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
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
	b := &Box{spec: &Spec{}}
	mode, ok := str()
	temp, ok2 := str()
	if !ok || !ok2 {
		return nil, bad
	}
	b.spec.Mode, b.temp = Mode(mode), temp
	for _, list := range []*[]string{&b.spec.Roots, &b.spec.Write, &b.spec.Protect, &b.protect} {
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
	if len(in) != 3 {
		return nil, bad
	}
	for i, flag := range []*bool{&b.spec.UnixSockets, &b.plan.Loopback, &b.plan.UnixSockets, &b.plan.Protects, &b.plan.LandlockUnix} {
		*flag = in[0]&(1<<i) != 0
	}
	b.plan.Layers, b.plan.LandlockABI = Layers(in[1]), int(in[2])
	return b, nil
}
