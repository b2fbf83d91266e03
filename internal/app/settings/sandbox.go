package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

func sandboxKeys() []key {
	return []key{
		{
			name: "tools.sandbox", also: []string{"sandbox"}, preset: `"auto"`,
			about: "Sandbox for commands: auto, off, read-only, workspace or workspace+network.",
			shape: enumShape(sandboxes()), put: putSandbox, tightens: stricterSandbox,
		},
		{
			name: "tools.sandboxBackend", preset: `"built-in"`, shape: enumShape([]string{"built-in", "bubblewrap"}),
			about: "Sandbox implementation: built-in or bubblewrap.", put: putBackend,
		},
		{
			name: "tools.trial", preset: `"auto"`, shape: enumShape(trials()),
			about: "Trials of commands: auto (where Linux supports it, run a command that requires approval on an " +
				"overlay first, then ask whether to keep its changes), " +
				"read-only (run it where it can't write, and ask about it if it tries to) or off.",
			put: putTrial, tightens: func(_, after *Settings) bool { return after.Tools.Trial == "off" },
		},
		{
			name: "tools.sandboxWrite", shape: listShape, adds: true,
			about: "Paths that sandboxed commands may write to, besides the workspace, the temporary directory " +
				"and caches.",
			put: entries(func(s *Settings) *[]Entry { return &s.Tools.SandboxWrite }),
		},
		{
			name: "tools.sandboxUnixSockets", preset: "false", shape: booleanShape,
			about: "Let sandboxed commands connect to Unix sockets of other programs, such as Docker's.",
			put:   boolean(func(s *Settings) *bool { return &s.Tools.SandboxUnixSockets }), tightens: fewerSockets,
		},
	}
}

// sandboxes returns the sandbox modes, the least restrictive first.
func sandboxes() []string {
	return []string{"off", "auto", "workspace+network", "workspace", "read-only"}
}

func stricterSandbox(before, after *Settings) bool {
	return slices.Index(sandboxes(), after.Tools.Sandbox) >= slices.Index(sandboxes(), before.Tools.Sandbox)
}

// trials returns the values of tools.trial.
func trials() []string { return []string{"auto", "read-only", "off"} }

func fewerSockets(before, after *Settings) bool {
	return before.Tools.SandboxUnixSockets || !after.Tools.SandboxUnixSockets
}

// putBackend reads the backend of sandboxes: the built-in one, or a program.
func putBackend(s *Settings, g given) (note string, err error) {
	var said string
	if json.Unmarshal(g.json(), &said) != nil {
		return "", mustBe("a string", g)
	}
	switch said {
	case "built-in", "bubblewrap":
	case "bwrap":
		said = "bubblewrap"
	default:
		return "", fmt.Errorf("must be built-in or bubblewrap, got %q", said)
	}
	s.Tools.SandboxBackend = said
	return "", nil
}

// putTrial reads whether commands are tried.
func putTrial(s *Settings, g given) (note string, err error) {
	var said string
	if g.file == nil {
		said = g.text
	} else if json.Unmarshal(g.json(), &said) != nil {
		return "", mustBe("a string", g)
	}
	if !slices.Contains(trials(), said) {
		return "", fmt.Errorf("must be auto, read-only or off, got %q", said)
	}
	s.Tools.Trial = said
	return "", nil
}

// putSandbox also accepts Qwen's values: true, and the names of container programs and images, become the built-in
// sandbox.
func putSandbox(s *Settings, g given) (note string, err error) {
	var said string
	if g.file == nil {
		said = g.text
	} else if json.Unmarshal(g.json(), &said) != nil {
		said = string(g.json())
	}
	switch {
	case said == "false":
		said = "auto"
	case g.qwen && !slices.Contains(sandboxes(), said),
		slices.Contains([]string{"true", "docker", "podman", "sandbox-exec"}, said):
		note = fmt.Sprintf("%s is not supported; using workspace, the nearest mode", said)
		said = "workspace"
	}
	if !slices.Contains(sandboxes(), said) {
		return "", fmt.Errorf("has the invalid value %q\nExpected one of: %s", said, strings.Join(sandboxes(), ", "))
	}
	s.Tools.Sandbox = said
	return note, nil
}
