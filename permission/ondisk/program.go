package ondisk

import (
	"path"
	"slices"
	"strings"
)

// runs returns the program that a setting would make git run; "" if none. It includes settings that only affect commands
// that change something.
func (s setting) runs() string {
	if !s.harmful() {
		return ""
	}
	const most = 160
	value := s.Value
	if !s.Valued {
		value = "true"
	}
	if len(value) > most {
		value = strings.ToValidUTF8(value[:most], "") + "…"
	}
	return strings.TrimSpace(value + " (" + s.Key.String() + ")")
}

// programKeys are the settings that name programs, with a function that reports whether a value is harmless.
var programKeys = map[string]func(s setting) bool{
	"core.fsmonitor":          setting.isBool, // true: git's own daemon
	"log.showsignature":       setting.isFalse,
	"merge.verifysignatures":  setting.isFalse,
	"log.diffmerges":          func(s setting) bool { return s.Value != "remerge" && s.Value != "r" }, // otherwise log merges again, with drivers
	"diff.submodule":          func(s setting) bool { return s.Value == "short" },                     // otherwise git runs in submodules of any commit
	"status.submodulesummary": setting.isFalse,
	"submodule.*.update":      func(s setting) bool { return !strings.HasPrefix(s.Value, "!") },
	"credential.helper":       func(s setting) bool { return s.Valued && s.Value == "" }, // an empty value removes the helpers so far
	"credential.*.helper":     func(s setting) bool { return s.Valued && s.Value == "" },
	"protocol.allow":          func(s setting) bool { return s.Value == "never" },
	"protocol.*.allow":        func(s setting) bool { return s.Value == "never" || s.Key.Sub != "ext" && s.Key.Sub != "fd" },
	"core.hookspath":          never,
	"core.unsetenvvars":       never, // removes environment variables for the programs that git runs
	"core.sshcommand":         never,
	"core.askpass":            never,
	"core.gitproxy":           never,
	"remote.*.vcs":            never,
	"remote.*.uploadpack":     never,
	"remote.*.receivepack":    never,
	"imap.tunnel":             never,
	"instaweb.httpd":          never,
	"instaweb.modulepath":     never,
	"man.viewer":              never,
	"sendemail.smtpserver":    never,
}

func never(setting) bool { return false }

// programEndings are suffixes of settings that name programs, in any section: filter.x.clean, gpg.ssh.program,
// uploadpack.packObjectsHook, and future ones.
var programEndings = []string{
	"command", "cmd", "program", "helper", "driver", "pager", "editor", "textconv", "external", "process", "clean", "smudge",
	"hook", "difffilter", "tool", "browser", "transferagent",
}

// plainSections only have settings about display, although some names end like those of programs: color.pager, column.clean.
var plainSections = []string{"color", "column", "advice"}

// addressSections have URLs, also as subsections: a remote may be named by its URL.
var addressSections = []string{"remote", "branch", "url", "submodule", "extensions", "clone", "checkout", "bundle"}

// programPaths are sections in which a path is that of a program.
var programPaths = []string{"man", "browser", "difftool", "mergetool", "lfs", "guitool"}

func (s setting) harmful() bool {
	if harmless, ok := programKeys[s.Key.Pattern()]; ok {
		return !harmless(s)
	}
	switch {
	case slices.Contains(plainSections, s.Key.Section), s.Key.Name == "cachetextconv":
		return false
	case slices.Contains(addressSections, s.Key.Section) && (hasHelper(s.Value) || hasHelper(s.Key.Sub)):
		return true
	case s.Key.Section == "alias":
		return true // git obeys aliases for removed commands (whatchanged)
	case s.Key.Section == "pager":
		return !s.isBool()
	case slices.Contains(programPaths, s.Key.Section) && s.Key.HasSub && (s.Key.Name == "path" || s.Key.Name == "args"):
		return true
	}
	return slices.ContainsFunc(programEndings, func(end string) bool { return strings.HasSuffix(s.Key.Name, end) })
}

// relativeProgram reports whether a command line runs a program or a script by a path relative to the repository.
func relativeProgram(line string) bool {
	words := strings.FieldsFunc(strings.TrimPrefix(line, "!"), func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()", r) })
	for i, w := range words {
		script := strings.HasPrefix(w, ".") || slices.Contains([]string{".sh", ".py", ".pl", ".rb", ".js"}, path.Ext(w))
		if strings.Contains(w, "/") && strings.IndexByte("/~$-", w[0]) < 0 && (i == 0 || script) {
			return true
		}
	}
	return false
}

func (s setting) isBool() bool {
	return s.isFalse() || !s.Valued || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(s.Value))
}

func (s setting) isFalse() bool {
	return s.Valued && slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(s.Value))
}

// hasHelper reports whether a URL is for a helper program: ext::sh -c …
func hasHelper(address string) bool {
	name, _, ok := strings.Cut(address, "::")
	return ok && strings.IndexFunc(name, func(r rune) bool {
		return r > 0x7f || !isKeyByte(byte(r)) && r != '+' && r != '.'
	}) < 0
}
