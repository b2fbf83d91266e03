package proc

import "golang.org/x/sys/unix"

// CloseLast takes a descriptor of inotify and closes it with the runner. The kernel waits about 14 ms in such a close,
// even if the program exits, so an idle keeper gets the descriptor and is killed: nothing waits for its end.
func (r *Runner) CloseLast(fd int) { r.keeper.closeLast(fd) }

func (k *keepers) closeLast(fd int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		unix.Close(fd)
		return
	}
	k.last = append(k.last, fd)
}

// close stops all idle keepers.
func (k *keepers) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.filling.Wait()
	left := len(k.last) > 0
	for _, i := range k.spare {
		if left && i.leave(k.last) {
			left = false
			continue
		}
		i.release()
	}
	for _, fd := range k.last {
		unix.Close(fd)
	}
	k.last = nil
	clear(k.spare)
	k.session.close()
}

// leave gives descriptors to an idle keeper, kills it, and reports whether it did. They are in the queue of its control
// socket, so they are closed when it exits.
func (i *idle) leave(fds []int) bool {
	if i.kind&launched != 0 {
		return false
	}
	if err := unix.Sendmsg(int(i.kept.ctl.Fd()), []byte{0}, unix.UnixRights(fds...), nil,
		unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); err != nil {
		return false
	}
	i.out.Close()
	i.errs.Close()
	i.kept.ctl.Close()
	i.kept.keeper.Kill()
	go i.kept.keeper.Wait()
	return true
}
