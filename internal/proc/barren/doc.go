// Package barren is for tests: it makes this process, and all that it starts, a place in which the kernel lets less
// through, as in a nested container or on an old one.
//
//	if err := barren.Become("a container"); err != nil {
//		t.Skip(err)
//	}
//
// It cannot be undone, so a test does that in a process of its own. It is no sandbox: nothing is held back that somebody
// wants to do.
package barren
