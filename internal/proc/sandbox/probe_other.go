//go:build !linux && !darwin

package sandbox

// Probe says that there is nothing here.
func Probe() Support {
	const why = "Adze has no sandbox for this system"
	return Support{LandlockWhy: why, SeccompWhy: why, NamespacesWhy: why, BubblewrapWhy: why}
}
