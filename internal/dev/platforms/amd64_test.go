package platforms

import "testing"

func TestAmd64(t *testing.T) {
	wanted(t, "amd64")
	m := &machine{system: "linux", arch: "amd64"}
	m.open(t)
	m.run(t, "amd64.txt", []story{
		{"program", true, program},
		{"demo", false, demoWorks},
		{"file tools", true, fileTools},
		{"-p", true, prompt},
		{"sessions", false, sessions},
		{"undo", false, undo},
		{"MCP", false, protocol},
		{"commands", false, bashCommands},
	})
}
