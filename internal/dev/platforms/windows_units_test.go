package platforms

// Why tests of windowsUnits are omitted.
const (
	wineLinks = "wine 8: CreateSymbolicLink reports success and makes no link"
	unixPaths = "not wine: the test compares paths of Unix"
	oneServer = "wine 8: each call of CreateFile goes through one wineserver, so that 200 writers wait for more than a minute on a busy machine"
	sweptLate = "not wine: on Windows, files of dead writers are removed after an hour, and the test expects it at once"
)

// windowsUnits are packages, and their tests that can't pass under wine 8, with the call that it lacks.
var windowsUnits = []unit{
	{dir: "tool", skip: map[string]string{"TestFoldedChanges": unixPaths, "TestFoldedDirectories": unixPaths}},
	{dir: "internal/engine/edit"},
	{dir: "internal/engine/text"},
	{dir: "internal/engine/search", skip: map[string]string{"TestFilesByPattern": wineLinks, "TestIgnoredAndRefused": wineLinks}},
	{dir: "internal/engine/ignore", skip: map[string]string{"TestUnreadableAIFileRefuses": wineLinks}},
	{dir: "internal/engine/workspace", skip: map[string]string{
		"TestNoWayOutThroughSwappedDirectory": wineLinks, "TestResolve": wineLinks, "TestResolveRelative": wineLinks, "TestResolveRefusesNames": wineLinks,
		"TestOpenRoots": wineLinks, "TestLinkAfterCheckIsRefused": wineLinks, "TestReadDirAndJoin": wineLinks, "TestNestedRootsAddNothing": wineLinks,
		"ExampleWorkspace_Resolve": unixPaths,
	}},
	{dir: "permission", skip: map[string]string{"Example": unixPaths}},
	{dir: "internal/engine/atomicfile", skip: map[string]string{
		"TestAllKilled": sweptLate, "TestRecoverSkipsChangedFiles": sweptLate, "TestSweep": sweptLate, "TestKilledWriters": sweptLate,
		"TestWriteThroughLinks": wineLinks, "TestManyWritersInOneDirectory": oneServer,
	}},
}
