package sandbox

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif, and verdict seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type verdict struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// listen refuses the calls that the filter stops, and remembers which. They are
// refused whatever their arguments are by then, so nothing is gained by changing
// those meanwhile. The others it makes for the caller. It ends with the process.
func (b *Box) listen(fd int) {
	busy := make(chan struct{}, mostServed)
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOENT: // ENOENT: the caller was killed meanwhile
			continue
		default:
			return // closed: the kernel answers ENOSYS from now on
		}
		r := b.ruleFor(&n)
		if !r.served {
			b.tell(r.what)
			answer(fd, &verdict{id: n.id, errno: -int32(unix.EPERM)})
			continue
		}
		select {
		case busy <- struct{}{}:
			go func() {
				defer func() { <-busy }()
				served{&n, b, fd}.serve()
			}()
		default:
			answer(fd, &verdict{id: n.id, errno: -int32(unix.EAGAIN)})
		}
	}
}

func answer(listener int, v *verdict) {
	unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(v)))
}

func (b *Box) tell(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if what != "" && !slices.Contains(b.told, what) {
		b.told = append(b.told, what)
	}
}

// ruleFor finds the rule that stopped a call.
func (b *Box) ruleFor(n *notification) rule {
	for _, r := range b.rules {
		if r.nr == uintptr(n.nr) && r.stops(uint32(n.args[0]), uint32(n.args[r.arg])) {
			return r
		}
	}
	return rule{}
}

// stops is what the filter does, for the first argument and the one that is
// tested.
func (r rule) stops(first, argument uint32) bool {
	if r.first != 0 && r.first != first {
		return false
	}
	masked := argument
	if r.mask != 0 {
		masked &= r.mask
	}
	switch r.test {
	case testEqual:
		return masked == r.value && !slices.Contains(r.not, argument)
	case testMask:
		return masked != 0
	case testNoneOf:
		return !slices.Contains(r.not, masked)
	}
	return true
}
