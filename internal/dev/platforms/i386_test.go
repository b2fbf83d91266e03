package platforms

import "testing"

// TestI386 runs the tests of library packages for linux/386 on this machine, which executes such programs.
func TestI386(t *testing.T) {
	wanted(t, "386")
	m := &machine{system: "linux", arch: "386"}
	m.test(t, []unit{
		{dir: "tool/..."}, {dir: "permission/..."}, {dir: "agent"}, {dir: "model/..."}, {dir: "journal/..."}, {dir: "serve"}, {dir: "hook"},
		{dir: "discover/...", skip: map[string]string{"TestStructuredContentIsBounded": "it limits a time, and JSON takes longer with 32 bits"}},
	})
}
