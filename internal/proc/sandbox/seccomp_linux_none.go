//go:build linux && !amd64 && !arm64

package sandbox

// No filter is written for this processor.
const (
	auditArch uint32 = 0
	x32Bit    uint32 = 0
)

var (
	refusedHere  []uintptr
	renamesHere  []uintptr
	metadataHere []uintptr
)
