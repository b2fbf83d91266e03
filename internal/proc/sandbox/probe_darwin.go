package sandbox

import "os"

// Probe looks whether sandbox-exec is there.
func Probe() Support {
	_, err := os.Stat("/usr/bin/sandbox-exec")
	if err == nil {
		return Support{Seatbelt: true}
	}
	const why = "there is no /usr/bin/sandbox-exec"
	return Support{LandlockWhy: why, SeccompWhy: why, NamespacesWhy: why, BubblewrapWhy: why}
}
