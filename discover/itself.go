package discover

import (
	"errors"
	"os"
	"os/exec"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ownName is what adze mcp serve calls itself in the handshake.
const ownName = "adze"

// Nested is the environment variable that MCP servers, discovery commands and call commands get. An Adze that finds it set
// was started by another Adze. It uses no external tools: its own settings could start it again, endlessly.
const Nested = "ADZE_NESTED"

// ErrItself is the error of a server that is adze mcp serve on this machine: Adze has these tools already.
var ErrItself = errors.New("skipped: it runs adze mcp serve, whose tools Adze already has. Remove it from mcpServers")

// isItself reports whether the command line runs adze mcp serve here: by the name adze or as this executable under any
// name or link, also through a shell. What is hidden better, such as a script, is recognized in the handshake.
func (s Server) isItself() bool {
	if s.elsewhere() {
		return false
	}
	return slices.ContainsFunc(s.programs(), func(words []string) bool {
		for i, word := range words { // npx adze mcp serve
			if rest := words[i+1:]; runsServe(rest) && isAdze(word) {
				return true
			}
		}
		return false
	})
}

// runsServe reports whether arguments of Adze name the command mcp serve.
func runsServe(args []string) bool {
	for i, arg := range args {
		if arg == "mcp" && i+1 < len(args) && args[i+1] == "serve" {
			return true
		}
	}
	return false
}

// isAdze reports whether a command is Adze, by its name or as the executable that runs.
func isAdze(command string) bool {
	if programName(command) == ownName {
		return true
	}
	found, err := exec.LookPath(command)
	if err != nil {
		return false
	}
	self, err := os.Executable()
	if err != nil {
		return false
	}
	a, err := os.Stat(found)
	b, berr := os.Stat(self)
	return err == nil && berr == nil && os.SameFile(a, b)
}

// isOurs reports whether the server that has just answered is adze mcp serve, started here in a way that its command
// line does not show. Over a network, on another machine or in a container it works on other files, and is welcome.
func (l *link) isOurs(cs *mcp.ClientSession) bool {
	res := cs.InitializeResult()
	return l.kind == stdio && res != nil && res.ServerInfo != nil && res.ServerInfo.Name == ownName && !l.conf.elsewhere()
}
