package platforms

// Why tests of arm64Units are omitted.
const noBinfmt = "it starts itself, and without binfmt this machine can't execute a program of arm64"

var arm64Units = []unit{
	{dir: "tool"},
	{dir: "permission/shell/..."},
	{dir: "internal/engine/edit"},
	{dir: "internal/engine/text"},
	{dir: "internal/engine/ignore"},
	{dir: "internal/engine/atomicfile", skip: map[string]string{
		"TestAllKilled": noBinfmt, "TestFullDisk": noBinfmt, "TestAsNobody": noBinfmt, "TestKilledWriters": noBinfmt, "TestParallelProcesses": noBinfmt,
	}},
}
