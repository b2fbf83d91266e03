package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// sandboxes are the ways to box commands.
func sandboxes() []string {
	return []string{"auto", "off", "read-only", "workspace", "workspace+network"}
}

// putSandbox takes Qwen's values too: true, and the names of container programs, become the box we have.
func putSandbox(s *Settings, g given) (note string, err error) {
	var said string
	if g.file == nil {
		said = g.text
	} else if json.Unmarshal(g.json(), &said) != nil {
		said = string(g.json())
	}
	switch said {
	case "false":
		said = "auto"
	case "true", "docker", "podman", "sandbox-exec":
		note = fmt.Sprintf("is %s, which Adze does not have; workspace, the nearest one, is used", said)
		said = "workspace"
	}
	if !slices.Contains(sandboxes(), said) {
		return "", fmt.Errorf("is %q; it must be one of %s", said, strings.Join(sandboxes(), ", "))
	}
	s.Tools.Sandbox = said
	return note, nil
}
