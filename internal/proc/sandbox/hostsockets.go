package sandbox

import (
	"os"
	"strings"
)

// mostHostSockets bounds how many sockets are protected.
const mostHostSockets = 256

// WithHostSockets is the Spec with the sockets of other programs that are in
// writable directories, such as that of an agent for keys in a temp directory.
// A command that listens could take their place otherwise, and programs outside
// would send it what is meant for them.
func (s *Spec) WithHostSockets() *Spec {
	own := *s
	write := outermost(s.writable())
	text, _ := os.ReadFile("/proc/net/unix") // a network namespace has its own
	for line := range strings.Lines(string(text)) {
		// Number, references, protocol, flags, type, state, inode, path.
		fields := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 8)
		if len(fields) == 8 && holding(fields[7], write) != "" && len(own.HostSockets) < mostHostSockets {
			own.HostSockets = append(own.HostSockets, fields[7])
		}
	}
	return &own
}
