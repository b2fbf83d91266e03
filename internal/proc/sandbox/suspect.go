package sandbox

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// refusals are what programs print of the errors that a box answers with.
var refusals = regexp.MustCompile(`(?i)(permission denied|operation not permitted|read-only file system|device or resource busy|\bEACCES\b|\bEPERM\b|\bEROFS\b|PermissionError)`)

// unreached are what programs print where there is no network. A box without one has a loopback of its own, on which
// nobody listens who is outside.
var unreached = regexp.MustCompile(`(?i)(network is unreachable|temporary failure in name resolution|could not resolve host|EAI_AGAIN|ENETUNREACH|connection refused|ECONNREFUSED|could(?:n't| not) connect to server|failed to connect to)`)

// quoted is a path in a line about an error.
var quoted = regexp.MustCompile(`/[^\s:'"` + "`" + `,;()\[\]]*`)

// What seccomp refuses and a setting would allow, in the words of a [Report].
const (
	saysNetwork = "the network"
	saysSockets = "unix sockets"
)

// aboutNetwork are words of errors that a refused connection causes.
var aboutNetwork = regexp.MustCompile(`(?i)(network|connect|socket|resolve|fetch|download|EPERM|not permitted)`)

// Suspicion is why a command that failed probably failed because of its sandbox,
// and what would allow it. The zero value: it did not.
type Suspicion struct {
	Why    string
	Remedy string // a setting or an approval: "set tools.sandbox to workspace+network"
}

// Suspect finds out why a command that failed may have failed because of its
// sandbox. What seccomp refused is known, in told; what Landlock and read-only
// mounts refused is not, and is guessed from the output: an error that they
// answer with, in a line that does not name a file which could not have been
// read outside of a sandbox either. So it errs on the side of suspicion where a
// program was refused by itself, and misses what a program does not print.
// Programs try the network for many reasons, so that alone is none.
func Suspect(mode Mode, told []string, output string) Suspicion {
	if onlyNetwork := len(told) == 1 && told[0] == saysNetwork; len(told) > 0 && !(onlyNetwork && strings.TrimSpace(output) != "" && !aboutNetwork.MatchString(output)) {
		return Suspicion{"it was denied " + strings.Join(told, ", "), remedyFor(mode, slices.Contains(told, saysNetwork), slices.ContainsFunc(told, aboutSockets))}
	}
	for line := range strings.Lines(output) {
		word, network := refusals.FindString(line), false
		if word == "" && mode != WorkspaceNetwork {
			word, network = unreached.FindString(line), true
		}
		if word == "" || unreadable(line) {
			continue
		}
		return Suspicion{"it printed “" + strings.ToLower(word) + "”", remedyFor(mode, network, false)}
	}
	return Suspicion{}
}

func aboutSockets(told string) bool { return strings.HasPrefix(told, saysSockets) }

// remedyFor is what would allow a command what its sandbox refused.
func remedyFor(mode Mode, network, sockets bool) string {
	switch {
	case mode == ReadOnly:
		return "add a Shell rule for it to permissions.allow"
	case sockets:
		return "set tools.sandboxUnixSockets to true"
	case network:
		return "set tools.sandbox to workspace+network"
	}
	return "add the path to tools.sandboxWrite"
}

// unreadable reports whether a line names a file that exists and that nobody
// has to be in a box for not to be able to read.
func unreadable(line string) bool {
	for _, path := range quoted.FindAllString(line, 8) {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
		if os.IsPermission(err) {
			return true
		}
		if err == nil {
			f.Close()
		}
	}
	return false
}
