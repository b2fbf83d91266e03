package discover

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// programs returns the program names in a server's command line, each with the words that follow it. A command that a
// shell or env runs counts too: sh -c 'cd x && npx -y server' gives sh, cd and npx. It only has to be good enough to
// recognize launchers and Adze itself, so quotes and expansions inside a shell's script are not interpreted.
func (s Server) programs() [][]string {
	all := [][]string{append([]string{s.Command}, s.Args...)}
	for i := 0; i < len(all) && i < 20; i++ { // a wrapper may run a wrapper
		words := all[i]
		switch name := programName(words[0]); {
		case slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"}, name):
			if c := slices.IndexFunc(words, isScriptFlag); c > 0 && c+1 < len(words) {
				all = append(all, scriptCommands(words[c+1])...)
			}
		case name == "cmd": // Windows: cmd /c npx …
			if c := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "/c") }); c > 0 &&
				c+1 < len(words) {
				all = append(all, words[c+1:])
			}
		case slices.Contains([]string{"env", "exec", "command", "nohup", "nice", "time", "timeout", "setsid", "stdbuf",
			"sudo"}, name):
			if rest := afterOptions(words[1:]); rest != nil {
				all = append(all, rest)
			}
		}
	}
	return all
}

// isScriptFlag reports whether a shell's argument is -c, alone or with other letters, such as -lc.
func isScriptFlag(word string) bool {
	return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c")
}

// scriptCommands splits a shell script into the words of its simple commands.
func scriptCommands(script string) [][]string {
	script = strings.Map(func(r rune) rune {
		switch r {
		case '&', '|', ';', '(', ')', '{', '}', '`':
			return '\n'
		case '\'', '"':
			return ' '
		}
		return r
	}, script)
	var commands [][]string
	for line := range strings.Lines(script) {
		if words := afterOptions(strings.Fields(line)); words != nil {
			commands = append(commands, words)
		}
	}
	return commands
}

// afterOptions skips options, numbers and assignments before a command's name.
func afterOptions(words []string) []string {
	for i, word := range words {
		if word != "" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") &&
			(word[0] < '0' || word[0] > '9') {
			return words[i:]
		}
	}
	return nil
}

// programName returns the name of a program without its directory and, on Windows, its extension.
func programName(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, extension := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, extension)
	}
	return name
}

// launcher returns the program in the command line that may download and install the server before it runs it; empty:
// none. Killing it during the install can leave a broken package cache, with which every later start fails.
func (s Server) launcher() string {
	for _, words := range s.programs() {
		name := programName(words[0])
		switch name {
		case "npx", "pnpx", "bunx", "uvx", "dnx":
			return name
		}
		installs := map[string][]string{
			"npm": {"exec", "x"}, "pnpm": {"dlx", "exec"}, "yarn": {"dlx"}, "bun": {"x", "run"}, "deno": {"run", "x"},
			"uv": {"run", "tool"}, "pipx": {"run"}, "go": {"run"}, "cargo": {"run"}, "nix": {"run", "shell", "develop"},
			"docker": {"run", "compose"}, "podman": {"run"}, "nerdctl": {"run"},
		}[name]
		for _, word := range words[1:] {
			if slices.Contains(installs, word) {
				return name + " " + word
			}
		}
	}
	return ""
}

// elsewhere reports whether the command line runs the server on another machine or in a container.
func (s Server) elsewhere() bool {
	return s.Elsewhere || slices.ContainsFunc(s.programs(), func(words []string) bool {
		return slices.Contains([]string{"ssh", "docker", "podman", "nerdctl", "kubectl", "wsl", "lxc", "vagrant"},
			programName(words[0]))
	})
}

// ownName is the name of adze mcp serve in the handshake.
const ownName = "adze"

// Nested is an environment variable that MCP servers, discovery commands and call commands get. If it is set, Adze was
// started by another Adze, and uses no external tools: its settings could start it again, endlessly.
const Nested = "ADZE_NESTED"

// ErrItself is the error of a server that is adze mcp serve on this machine: Adze already has these tools.
var ErrItself = errors.New("skipped: it runs adze mcp serve, whose tools Adze already has. Remove it from mcpServers")

// isItself reports whether the command line runs adze mcp serve here: by the name adze or as this executable under any
// name or link, also through a shell. Otherwise, such as in a script, it is recognized in the handshake.
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

// isAdze reports whether a command is Adze, by its name or as the running executable.
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

// isOurs reports whether the server that has just answered is adze mcp serve on this machine, although its command line
// doesn't show it. Over a network, on another machine or in a container it has other files, and is allowed.
func (l *link) isOurs(cs *mcp.ClientSession) bool {
	res := cs.InitializeResult()
	return l.kind == launched && res != nil && res.ServerInfo != nil && res.ServerInfo.Name == ownName &&
		!l.conf.elsewhere()
}

// passed are the environment variables that servers inherit: enough to run, without credentials.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "NO_PROXY", "no_proxy",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	"PROGRAMFILES",
}

// serverEnv returns a server's environment.
func serverEnv(base []string, own map[string]string) []string {
	env := []string{Nested + "=1"}
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if _, overridden := own[name]; overridden {
			continue
		}
		if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || containsFold(passed, name) {
			env = append(env, kv)
		}
	}
	for name, value := range own {
		if name != Nested {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func containsFold(list []string, name string) bool {
	for _, one := range list {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}
