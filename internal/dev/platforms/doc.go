// Package platforms has tests of Adze on platforms that an emulator runs on this machine: linux/arm64 in qemu,
// windows/amd64 in wine. Their results are the table of platforms in the README. make test-arm64 and make test-windows
// run them.
package platforms
