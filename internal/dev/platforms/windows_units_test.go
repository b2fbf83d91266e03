package platforms

// windowsUnits are tests of packages, and those that fail only because of wine 8, with the call that it lacks.
var windowsUnits = []unit{
	{dir: "tool"},
	{dir: "internal/engine/edit"},
	{dir: "internal/engine/text"},
	{dir: "internal/engine/search"},
	{dir: "internal/engine/ignore"},
	{dir: "internal/engine/workspace"},
	{dir: "permission"},
	{dir: "internal/engine/atomicfile"},
}
