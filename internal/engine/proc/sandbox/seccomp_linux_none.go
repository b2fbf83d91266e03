//go:build linux && !amd64 && !arm64

package sandbox

// There is no filter for this architecture.
const (
	auditArch uint32 = 0
	x32Bit    uint32 = 0
)

var (
	refusedHere    []uintptr
	renamesHere    []uintptr
	linksHere      []uintptr
	semaphoresHere []uintptr
	metadataHere   []uintptr
	watchedHere    []watched
	setIDsHere     []rule
)
