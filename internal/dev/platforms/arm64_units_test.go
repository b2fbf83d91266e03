package platforms

var arm64Units = []unit{
	{dir: "tool"},
	{dir: "internal/engine/edit"},
	{dir: "internal/engine/text"},
	{dir: "internal/engine/ignore"},
	{dir: "internal/engine/atomicfile"},
}
