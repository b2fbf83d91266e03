package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// refusals matches error messages for calls that a sandbox denies.
var refusals = lazy.Regexp(`(?i)(permission denied|operation not permitted|read-only file system|device or resource busy|(?:invalid )?cross-device link|\bEXDEV\b|\bEBUSY\b|no usable sandbox|no new privileges|\b(?:not|isn't) write?able\b|\bEACCES\b|\bEPERM\b|\bEROFS\b|PermissionError)`)

// unreached matches error messages without network. A sandbox without network has its own loopback, on which no process
// outside listens.
var unreached = lazy.Regexp(`(?i)(network is unreachable|temporary failure in name resolution|could not resolve host|EAI_AGAIN|ENETUNREACH|connection refused|ECONNREFUSED|could(?:n't| not) connect to server|failed to connect to)`)

// halfway reports whether git prints that it couldn't write a file or a setting, and continues.
func halfway(text string) bool {
	return slices.ContainsFunc([]string{"unable to unlink", "unable to create file", "could not write config",
		"Update of config-file failed", "failed to remove"},
		func(s string) bool { return strings.Contains(text, s) })
}

// taken matches error messages about a placeholder for a protected path.
var taken = lazy.Regexp(`(?i)(file exists|not a directory|no such device or address|\bE(?:EXIST|NOTDIR|NXIO)\b)`)

// ownSandbox matches error messages of programs that make their own sandbox, such as browsers.
var ownSandbox = lazy.Regexp(`(?i)(namespace|unshare|no usable sandbox|setuid sandbox|zygote_host)`)

// aboutSocket matches error messages about a Unix socket.
var aboutSocket = lazy.Regexp(`(?i)(unix://|\bunix[ -](domain )?(socket|/)|dial unix|socket\(\)|\.sock\b)`)

// named matches a possible file name in an error message.
var named = lazy.Regexp("[^\\s:'\"`,;()\\[\\]“”‘’]+")

// quoted matches a path in an error message.
var quoted = lazy.Regexp(`/[^\s:'"` + "`" + `,;()\[\]]*`)

// Calls that seccomp denies and a setting would allow, in the words of a [Report].
const (
	saysNetwork    = "the network"
	saysSockets    = "unix sockets"
	saysNamespaces = "entering a namespace"
	saysLinks      = "hard links" // that aren't as outside a trial
)

// about returns a pattern of the errors that a denied call causes, if programs often try it and do without; otherwise
// nil.
func about(told string) *regexp.Regexp {
	switch told {
	case saysNetwork:
		return aboutNetwork()
	case saysLinks:
		return aboutLinks()
	}
	return nil
}

// aboutLinks matches words of errors that a hard link causes.
var aboutLinks = lazy.Regexp(`(?i)(\blink|hard ?link|cross-device|EXDEV)`)

// aboutNetwork matches words of errors that a denied connection causes.
var aboutNetwork = lazy.Regexp(`(?i)(network|connect|socket|resolve|fetch|download|EPERM|not permitted)`)

// Suspicion is why a failed command probably failed because of its sandbox, and what would allow it. The zero value
// means that it didn't.
type Suspicion struct {
	Why    string
	Remedy string // a setting or an approval: "set tools.sandbox to workspace+network"
	// Denied means that it is because of deny rules, so that it isn't allowed without the sandbox either. Then Remedy
	// is a sentence for the model.
	Denied bool
}

// Scene is where a command ran.
type Scene struct {
	Mode    Mode
	Dir     string
	Protect []string // as in Spec
	Denied  []string // paths of deny rules
	Hidden  []string // files that can't be opened, see Spec.Observe
	Exit    int
}

// Suspect determines why a failed command may have failed because of its sandbox. Calls that seccomp denied are known,
// in told; those that Landlock and read-only mounts denied are not, and are guessed from the output: one of their
// errors, in a line that doesn't name a file that couldn't have been read outside of a sandbox either. So it has false
// positives if a program failed for another reason, and misses errors that a program doesn't print. Programs try the
// network and hard links for many reasons, so these alone don't count. For a command that didn't fail, only what git
// couldn't write counts as a failure.
func Suspect(at Scene, told []string, output string) Suspicion {
	if s := at.denied(output); s.Denied || at.Mode == DenyRules {
		return s
	}
	if at.Exit == 0 && !halfway(output) {
		return Suspicion{}
	}
	if at.Exit != 0 && slices.ContainsFunc(told, func(what string) bool {
		words := about(what)
		return words == nil || strings.TrimSpace(output) == "" || words.MatchString(output)
	}) {
		return Suspicion{Why: reasons(told), Remedy: at.remedyOf(told, output)}
	}
	var first Suspicion
	for line := range strings.Lines(output) {
		word, network := refusals().FindString(line), false
		if word == "" {
			word = at.placeholder(line)
		}
		if word == "" && at.Mode != WorkspaceNetwork {
			word, network = unreached().FindString(line), true
		}
		if word == "" || at.Exit == 0 && !halfway(line) || unreadable(line) || at.hidden(line) != "" {
			continue
		}
		s := Suspicion{Why: "it printed “" + strings.ToLower(word) + "”", Remedy: remedyFor(at.Mode, network, false)}
		if remedy := at.remedy(line, word); remedy != "" && !network {
			s.Remedy = remedy
			return s // a line with a remedy is more useful than earlier ones
		}
		if first.Why == "" {
			first = s
		}
	}
	return first
}

// reasons describes calls of a [Report].
func reasons(told []string) string {
	links := slices.Index(told, saysLinks)
	if links < 0 {
		return "it was denied " + strings.Join(told, ", ")
	}
	const differ = "hard links to existing files, or from a cache to the workspace, don't work in a trial"
	if len(told) == 1 {
		return differ
	}
	return reasons(slices.Delete(slices.Clone(told), links, links+1)) + ", and " + differ
}

// gains matches error messages of programs that can't gain privileges in a user namespace.
var gains = lazy.Regexp(`(?i)(no new privileges|must be owned by uid 0|effective uid is not 0|unable to change to root gid|must be setuid root|cannot set groups)`)

// denied determines whether an error is about a path of a deny rule or, if nothing else is limited, about the sandbox
// that enforces these.
func (at Scene) denied(output string) Suspicion {
	if at.Exit == 0 || len(at.Denied) == 0 {
		return Suspicion{}
	}
	light := at.Mode == DenyRules
	at.Protect = at.Denied
	for line := range strings.Lines(output) {
		switch path := at.protected(line); {
		case path != "" && (refusals().MatchString(line) || taken().MatchString(line)):
			return Suspicion{path + " can't be accessed", "Don't try to get around it; ask the user if you need it",
				true}
		case light && strings.Contains(strings.ToLower(line), "cross-device link"):
			return Suspicion{"directories with files of deny rules are mount points",
				"Copy and remove files instead of renaming them", true}
		case light && gains().MatchString(line):
			return Suspicion{"sudo and other setuid programs don't work where deny rules on paths are enforced",
				"The user can run it in a terminal, or set tools.sandbox to off", true}
		case light && ownSandbox().MatchString(line) && refusals().MatchString(line):
			return Suspicion{"programs can't create namespaces where deny rules on paths are enforced",
				"Start it with --no-sandbox or a similar option", true}
		}
	}
	return Suspicion{}
}

// hidden returns the hidden file that a line names, or "".
func (at Scene) hidden(line string) string {
	at.Protect = at.Hidden
	return at.protected(line)
}

// Refused returns the hidden files that an output says couldn't be opened.
func (at Scene) Refused(output string) (paths []string) {
	for line := range strings.Lines(output) {
		if path := at.hidden(line); path != "" && refusals().MatchString(line) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// placeholder returns the error in a line if it is about a protected path that doesn't exist, where there was a
// placeholder.
func (at Scene) placeholder(line string) string {
	word := taken().FindString(line)
	if word == "" || at.Mode == ReadOnly {
		return ""
	}
	if st, err := os.Lstat(at.protected(line)); err == nil && st.Mode()&os.ModeSocket == 0 || at.protected(line) == "" {
		return ""
	}
	return word
}

// remedyOf returns what would allow the calls that seccomp denied.
func (at Scene) remedyOf(told []string, output string) string {
	network, sockets := slices.Contains(told, saysNetwork), slices.ContainsFunc(told, aboutSockets)
	for line := range strings.Lines(output) { // a denied socket isn't reported, but a later error may be
		sockets = sockets || at.Mode != ReadOnly && refusals().MatchString(line) && aboutSocket().MatchString(line)
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

// remedy returns what would allow the denied access in a line, if the line shows it.
func (at Scene) remedy(line, word string) string {
	path := at.protected(line)
	switch {
	case strings.EqualFold(word, "no new privileges"):
		return "run it in a terminal, because sandboxed programs can't gain privileges"
	case ownSandbox().MatchString(line):
		return "start it with --no-sandbox or a similar option, because it can't make a sandbox inside of one"
	case at.Mode == ReadOnly:
		return ""
	case aboutSocket().MatchString(line):
		return remedyFor(at.Mode, false, true)
	case strings.Contains(strings.ToLower(word), "cross-device") || strings.EqualFold(word, "EXDEV"):
		return "copy and remove the file instead of renaming it, because directories with protected files are " +
			"mount points"
	case path != "" && (strings.Contains(path, "/.git/") || filepath.Base(path) == ".git"):
		return "run the git command that changes it in a separate call, which asks for approval: " + path +
			" is protected"
	case path != "":
		return "let a file tool change " + path + ", which asks for approval: it is protected"
	}
	return ""
}

// protected returns the first protected path that a line names, or that contains what it names. A command may have
// changed its directory, so the end of a path is enough.
func (at Scene) protected(line string) string {
	for _, name := range named().FindAllString(line, 64) {
		full := filepath.Clean(name)
		if !filepath.IsAbs(name) {
			full = filepath.Join(at.Dir, name)
		}
		if p := holding(full, at.Protect); p != "" {
			return p
		}
		for part := filepath.Clean(name); !filepath.IsAbs(name) && (part[0] == '.' || strings.Contains(part, "/")) &&
			filepath.IsLocal(part) && part != "."; part = filepath.Dir(part) {
			if i := slices.IndexFunc(at.Protect,
				func(p string) bool { return strings.HasSuffix(p, "/"+part) }); i >= 0 {
				return at.Protect[i]
			}
		}
	}
	return ""
}

func aboutSockets(told string) bool { return strings.HasPrefix(told, saysSockets) }

// remedyFor returns what would allow what a sandbox denied.
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

// unreadable reports whether a line names an existing file that can't be read outside a sandbox either.
func unreadable(line string) bool {
	for _, path := range quoted().FindAllString(line, 8) {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe doesn't block
		if os.IsPermission(err) {
			return true
		}
		if err == nil {
			f.Close()
		}
	}
	return false
}
