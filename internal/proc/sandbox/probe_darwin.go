package sandbox

import "os"

// Probe looks whether sandbox-exec is there.
func Probe() Support {
	_, err := os.Stat("/usr/bin/sandbox-exec")
	if err == nil {
		return Support{Seatbelt: true}
	}
	const why = "/usr/bin/sandbox-exec not found"
	return Support{LandlockWhy: why, SeccompWhy: why, NamespacesWhy: why, BubblewrapWhy: why}
}
