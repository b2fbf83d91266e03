package sandbox

import (
	"os"
	"regexp"
	"strings"
)

// refusals are what programs print of the errors that a box answers with.
var refusals = regexp.MustCompile(`(?i)(permission denied|operation not permitted|read-only file system|device or resource busy|\bEACCES\b|\bEPERM\b|\bEROFS\b|PermissionError)`)

// unreached are what programs print where there is no network. A box without one has a loopback of its own, on which
// nobody listens who is outside.
var unreached = regexp.MustCompile(`(?i)(network is unreachable|temporary failure in name resolution|could not resolve host|EAI_AGAIN|ENETUNREACH|connection refused|ECONNREFUSED|could(?:n't| not) connect to server|failed to connect to)`)

// quoted is a path in a line about an error.
var quoted = regexp.MustCompile(`/[^\s:'"` + "`" + `,;()\[\]]*`)

// Suspect says why a command that failed may have failed for its box's sake,
// or nothing. What seccomp refused is known, in told; what Landlock and
// read-only mounts refused is not, and is guessed from what the command
// printed: an error that they answer with, in a line that does not name a file
// which could not have been read outside of a box either. So it errs on the
// side of suspicion where a program was refused by itself, and misses what a
// program does not print.
func Suspect(mode Mode, told []string, output string) string {
	if len(told) > 0 {
		return "it was denied " + strings.Join(told, ", ")
	}
	for line := range strings.Lines(output) {
		word := refusals.FindString(line)
		if word == "" && mode != WorkspaceNetwork {
			word = unreached.FindString(line)
		}
		if word == "" || unreadable(line) {
			continue
		}
		return "it printed “" + strings.ToLower(word) + "”"
	}
	return ""
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
