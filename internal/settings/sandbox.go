package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// sandboxes are the ways to box commands, the widest first.
func sandboxes() []string {
	return []string{"off", "auto", "workspace+network", "workspace", "read-only"}
}

func stricterSandbox(before, after *Settings) bool {
	return slices.Index(sandboxes(), after.Tools.Sandbox) >= slices.Index(sandboxes(), before.Tools.Sandbox)
}

func fewerSockets(before, after *Settings) bool {
	return before.Tools.SandboxUnixSockets || !after.Tools.SandboxUnixSockets
}

// putBackend takes what makes the boxes: what is built in, or a program.
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

// putSandbox takes Qwen's values too: true, and the names of container programs and images, become the box we have.
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
	case g.qwen && !slices.Contains(sandboxes(), said), slices.Contains([]string{"true", "docker", "podman", "sandbox-exec"}, said):
		note = fmt.Sprintf("%s is not supported; using workspace, the nearest mode", said)
		said = "workspace"
	}
	if !slices.Contains(sandboxes(), said) {
		return "", fmt.Errorf("has the invalid value %q\nExpected one of: %s", said, strings.Join(sandboxes(), ", "))
	}
	s.Tools.Sandbox = said
	return note, nil
}
