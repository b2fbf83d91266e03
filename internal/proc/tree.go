package proc

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"syscall"
	"time"
)

// tree is a started command with all that descends from it.
type tree interface {
	// exited gives one value: how the command itself ended.
	exited() <-chan exit
	// gone is closed when no process is left.
	gone() <-chan struct{}
	// stop begins to end everything; gone tells when that is done. It may be
	// called more than once.
	stop(grace time.Duration)
	// remaining is how many processes could not be ended, known when gone is.
	remaining() int
	// abandon ends what can be ended from here when nothing came of stop, and
	// waits for gone.
	abandon()
}

// exit is how a command ended.
type exit struct {
	code     int
	signal   syscall.Signal
	leftover int
	note     string
}

// spec is a command made ready to start.
type spec struct {
	argv   []string
	script string // if not empty: the shell reads it as a file, appended to argv
	dir    string
	env    []string
	marker string // value of markerVar in env
}

// markerVar is in the environment of every command, with a value nobody can
// guess. It finds processes that got away from all else.
const markerVar = "ADZE_RUN"

func newMarker() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// patience is how long to try to end what does not die of KILL: processes of
// another user, or in the middle of a system call that does not return.
const patience = 2 * time.Second

// pipeOf makes the pipe for a command's output.
func pipeOf() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		widen(w)
	}
	return r, w, err
}
