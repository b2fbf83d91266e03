package proc

import (
	"fmt"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// Ended says why a command is no longer running.
type Ended int

// The ways to end.
const (
	Exited    Ended = iota // by itself, or by a signal that was not ours
	TimedOut               // Command.Timeout or the context's deadline passed
	Cancelled              // the context was cancelled
	Stopped                // Process.Stop, Jobs.Stop or Close
)

func (e Ended) String() string {
	return [...]string{"exited", "timed out", "cancelled", "stopped"}[e]
}

// Output is what a command printed, stdout and stderr as they came, read as a
// terminal would show it, secrets masked.
type Output struct {
	Head string // the beginning; all of it if nothing was omitted
	Tail string // the end, if something between was omitted

	OmittedBytes, OmittedLines int64 // about; of what lies between Head and Tail

	Bytes, Lines int64 // of the whole, as printed
	Binary       bool  // it is no text; Head holds the text before it, if any
	SpillCut     bool  // Command.Spill holds only the first SpillLimit bytes
	SpillErr     error // Command.Spill failed; the command ran on
}

// String joins the two ends and says what is missing between them.
func (o Output) String() string {
	if o.OmittedBytes == 0 {
		return o.Head
	}
	nl := ""
	if o.Head != "" && o.Head[len(o.Head)-1] != '\n' {
		nl = "\n"
	}
	return fmt.Sprintf("%s%s[%s lines, %s omitted]\n%s", o.Head, nl, group(o.OmittedLines), size(o.OmittedBytes), o.Tail)
}

// Outcome is how a command ended.
type Outcome struct {
	Ended    Ended
	Exit     int            // the exit code; -1 if a signal ended it
	Signal   syscall.Signal // the signal that ended it, or 0
	Duration time.Duration
	// Quiet is how long nothing had been printed when the command ended or was
	// ended: a server whose time ran out was mostly not quiet.
	Quiet  time.Duration
	Output Output
	// Leftover counts the processes it left running in the background. They
	// live on until Process.Stop or Runner.Close. After a stop it counts those
	// that could not be ended.
	Leftover int
	// Boxed is the mode of the sandbox it ran in; Off if there was none.
	Boxed sandbox.Mode
	// Suspect says why a command that failed probably failed for its
	// sandbox's sake; empty: it did not, as far as is known. See
	// sandbox.Suspect.
	Suspect string
	// Remedy is what would allow what the sandbox refused, if Suspect says so.
	Remedy string
	// Hidden is the hidden files that the command opened, and read as empty;
	// MoreHidden that there were others.
	Hidden     []string
	MoreHidden bool
	// Network is the names and addresses that a command in a trial tried to reach.
	Network []string
	// Limit says which limit ended a command in a trial, in words; empty: none did.
	Limit string
	// Unfit says why a trial failed that would not fail outside of overlays; empty:
	// nothing is known of that.
	Unfit string
	// Notes says in whole sentences what was not as it should be: sh in the
	// place of bash, no helper process, no ledger, a sandbox with holes.
	Notes []string
}

// Progress is a look at a running command.
type Progress struct {
	Tail         string // the last lines
	Bytes, Lines int64
	Elapsed      time.Duration
	Quiet        time.Duration // since the last output
}

// Piece is a part of the output of a running or finished command. Offsets
// count the bytes of the masked output as it was printed.
type Piece struct {
	Text    string
	From    int64 // offset of its first byte
	Next    int64 // where to read on
	Total   int64 // bytes so far
	Skipped int64 // bytes before From that were asked for but are no longer kept
	Binary  bool
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
