package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// refusals are what programs print of the errors that a sandbox answers with.
var refusals = regexp.MustCompile(`(?i)(permission denied|operation not permitted|read-only file system|device or resource busy|(?:invalid )?cross-device link|\bEXDEV\b|\bEBUSY\b|no usable sandbox|no new privileges|\b(?:not|isn't) write?able\b|\bEACCES\b|\bEPERM\b|\bEROFS\b|PermissionError)`)

// unreached are what programs print where there is no network. A sandbox without one has a loopback of its own, on which
// nobody listens who is outside.
var unreached = regexp.MustCompile(`(?i)(network is unreachable|temporary failure in name resolution|could not resolve host|EAI_AGAIN|ENETUNREACH|connection refused|ECONNREFUSED|could(?:n't| not) connect to server|failed to connect to)`)

// halfway reports whether git prints of a file or a setting that it could not write, and goes on.
func halfway(text string) bool {
	return slices.ContainsFunc([]string{"unable to unlink", "unable to create file", "could not write config", "Update of config-file failed", "failed to remove"},
		func(s string) bool { return strings.Contains(text, s) })
}

// taken is what programs print of a placeholder for a protected path that they
// tried to create.
var taken = regexp.MustCompile(`(?i)(file exists|not a directory|no such device or address|\bE(?:EXIST|NOTDIR|NXIO)\b)`)

// ownSandbox is what programs print that make a sandbox of their own, such as browsers.
var ownSandbox = regexp.MustCompile(`(?i)(namespace|unshare|no usable sandbox|setuid sandbox|zygote_host)`)

// aboutSocket is what programs print of a socket that is a file.
var aboutSocket = regexp.MustCompile(`(?i)(unix://|\bunix[ -](domain )?(socket|/)|dial unix|socket\(\)|\.sock\b)`)

// named is what may be the name of a file in a line about an error.
var named = regexp.MustCompile("[^\\s:'\"`,;()\\[\\]“”‘’]+")

// quoted is a path in a line about an error.
var quoted = regexp.MustCompile(`/[^\s:'"` + "`" + `,;()\[\]]*`)

// What seccomp refuses and a setting would allow, in the words of a [Report].
const (
	saysNetwork    = "the network"
	saysSockets    = "unix sockets"
	saysNamespaces = "entering a namespace"
)

// aboutNetwork are words of errors that a refused connection causes.
var aboutNetwork = regexp.MustCompile(`(?i)(network|connect|socket|resolve|fetch|download|EPERM|not permitted)`)

// Suspicion is why a command that failed probably failed because of its sandbox,
// and what would allow it. The zero value: it did not.
type Suspicion struct {
	Why    string
	Remedy string // a setting or an approval: "set tools.sandbox to workspace+network"
}

// Scene is where a command ran.
type Scene struct {
	Mode    Mode
	Dir     string
	Protect []string // as in Spec
	Exit    int
}

// Suspect finds out why a command that failed may have failed because of its
// sandbox. What seccomp refused is known, in told; what Landlock and read-only
// mounts refused is not, and is guessed from the output: an error that they
// answer with, in a line that does not name a file which could not have been
// read outside of a sandbox either. So it errs on the side of suspicion where a
// program was refused by itself, and misses what a program does not print.
// Programs try the network for many reasons, so that alone is none. Of a command
// that did not fail, only what git could not write is taken for a failure.
func Suspect(at Scene, told []string, output string) Suspicion {
	if at.Exit == 0 && !halfway(output) {
		return Suspicion{}
	}
	if onlyNetwork := len(told) == 1 && told[0] == saysNetwork; at.Exit != 0 && len(told) > 0 && !(onlyNetwork && strings.TrimSpace(output) != "" && !aboutNetwork.MatchString(output)) {
		return Suspicion{"it was denied " + strings.Join(told, ", "), at.remedyOf(told, output)}
	}
	var first Suspicion
	for line := range strings.Lines(output) {
		word, network := refusals.FindString(line), false
		if word == "" {
			word = at.placeholder(line)
		}
		if word == "" && at.Mode != WorkspaceNetwork {
			word, network = unreached.FindString(line), true
		}
		if word == "" || at.Exit == 0 && !halfway(line) || unreadable(line) {
			continue
		}
		s := Suspicion{"it printed “" + strings.ToLower(word) + "”", remedyFor(at.Mode, network, false)}
		if remedy := at.remedy(line, word); remedy != "" && !network {
			s.Remedy = remedy
			return s // a line that tells what would allow it says more than those before
		}
		if first.Why == "" {
			first = s
		}
	}
	return first
}

// placeholder returns the error that a line prints, if it is about a protected path
// that doesn't exist: there was a placeholder.
func (at Scene) placeholder(line string) string {
	word := taken.FindString(line)
	if word == "" || at.Mode == ReadOnly {
		return ""
	}
	if st, err := os.Lstat(at.protected(line)); err == nil && st.Mode()&os.ModeSocket == 0 || at.protected(line) == "" {
		return ""
	}
	return word
}

// remedyOf returns what would allow what seccomp refused.
func (at Scene) remedyOf(told []string, output string) string {
	network, sockets := slices.Contains(told, saysNetwork), slices.ContainsFunc(told, aboutSockets)
	for line := range strings.Lines(output) { // a refused socket isn't told, and what came after may be
		sockets = sockets || at.Mode != ReadOnly && refusals.MatchString(line) && aboutSocket.MatchString(line)
	}
	switch {
	case network || sockets:
		return remedyFor(at.Mode, network, sockets)
	case slices.Contains(told, saysNamespaces):
		return at.remedy("namespace", "")
	case at.Mode == ReadOnly:
		return remedyFor(at.Mode, false, false)
	}
	return "set tools.sandbox to auto, which runs approved commands without a sandbox"
}

// remedy returns what would allow what a line says was refused, if the line tells.
func (at Scene) remedy(line, word string) string {
	path := at.protected(line)
	switch {
	case strings.EqualFold(word, "no new privileges"):
		return "run it in a terminal, because sandboxed programs can't gain privileges"
	case ownSandbox.MatchString(line):
		return "start it with --no-sandbox or a similar option, because it can't make a sandbox inside of one"
	case at.Mode == ReadOnly:
		return ""
	case aboutSocket.MatchString(line):
		return remedyFor(at.Mode, false, true)
	case strings.Contains(strings.ToLower(word), "cross-device") || strings.EqualFold(word, "EXDEV"):
		return "copy and remove the file instead of renaming it, because directories with protected files are mount points"
	case path != "" && (strings.Contains(path, "/.git/") || filepath.Base(path) == ".git"):
		return "run the git command that changes it in a call of its own, which asks for approval: " + path + " is protected"
	case path != "":
		return "let a file tool change " + path + ", which asks for approval: it is protected"
	}
	return ""
}

// protected returns the first protected path that a line names, or that what it names
// is in. A command may have changed its directory, so the end of a path is enough.
func (at Scene) protected(line string) string {
	for _, name := range named.FindAllString(line, 64) {
		full := filepath.Clean(name)
		if !filepath.IsAbs(name) {
			full = filepath.Join(at.Dir, name)
		}
		if p := holding(full, at.Protect); p != "" {
			return p
		}
		for part := filepath.Clean(name); !filepath.IsAbs(name) && (part[0] == '.' || strings.Contains(part, "/")) && filepath.IsLocal(part) && part != "."; part = filepath.Dir(part) {
			if i := slices.IndexFunc(at.Protect, func(p string) bool { return strings.HasSuffix(p, "/"+part) }); i >= 0 {
				return at.Protect[i]
			}
		}
	}
	return ""
}

func aboutSockets(told string) bool { return strings.HasPrefix(told, saysSockets) }

// remedyFor returns what would allow a command what its sandbox refused.
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
// has to be in a sandbox for not to be able to read.
func unreadable(line string) bool {
	for _, path := range quoted.FindAllString(line, 8) {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the opening of a pipe doesn't wait for its other end
		if os.IsPermission(err) {
			return true
		}
		if err == nil {
			f.Close()
		}
	}
	return false
}
