package atomicfile

import (
	"fmt"
	"time"
)

// locked calls do with the directory's lock.
func (w *write) locked(do func() error) error {
	unlock, err := w.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// lock waits for the directory's lock, in a thread of its own: it can't be woken. If the wait is too long, that thread gives the
// lock back once it has it.
func (w *write) lock() (unlock func(), err error) {
	dir, err := w.dir.Open(".")
	if err != nil {
		return nil, err
	}
	if unlock, ok := lockDirectory(dir, false); ok {
		return func() { unlock(); dir.Close() }, nil
	}
	got, given := make(chan func()), make(chan struct{})
	go func() {
		unlock, _ := lockDirectory(dir, true)
		free := func() { unlock(); dir.Close() }
		select {
		case got <- free:
		case <-given:
			free()
		}
	}()
	wait := w.opts.Wait
	if wait == 0 {
		wait = time.Minute
	}
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case free := <-got:
		return free, nil
	case <-timeout.C:
		close(given)
		return nil, fmt.Errorf("another writer has locked the directory for %v. Try again", wait)
	}
}
