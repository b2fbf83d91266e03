// Package environ makes the environment of commands that run without approval.
package environ

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/permission/shell/program"
)

// AutoApproved returns the environment of a command that runs without approval: of environ, the variables that change how
// programs look, not what they do, and a PATH without directories that lead into the workspace. The proof that a command is
// read-only is only valid in it: a BASH_ENV, an exported function, a GIT_EXTERNAL_DIFF or a PATH with ./bin would run
// something else.
//
// Its settings keep git from running monitors, hooks, pagers, external diffs and signature checks, from taking locks, from
// fetching, and from opening a bare repository that happens to be there.
func AutoApproved(environ []string, roots ...string) []string {
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH":
			out = append(out, "PATH="+Path(value, roots...))
		case name == "LANG" || strings.HasPrefix(name, "LC_"):
			if plainLocale(value) {
				out = append(out, kv)
			}
		case kept[name]:
			out = append(out, kv)
		}
	}
	return append(out, quiet()...)
}

// Path is the PATH of such a command. It leaves out what is not absolute, what lies in a root or leads there, and a directory
// in which one of the everyday commands leads there.
func Path(path string, roots ...string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !inRoots(filepath.Clean(dir), roots) && !leadsInto(dir, roots) && !holdsLinkInto(dir, roots) {
			kept = append(kept, dir)
		}
	}
	if len(kept) == 0 {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// leadsInto reports whether a path lies in a root once its links are followed.
func leadsInto(path string, roots []string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && inRoots(real, roots)
}

// holdsLinkInto reports whether a directory has a link into a root under the name of a read-only command.
func holdsLinkInto(dir string, roots []string) bool {
	if dir == "/usr/bin" || dir == "/bin" || dir == "/usr/sbin" || dir == "/sbin" {
		return false // thousands of names, which packages own
	}
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Type()&os.ModeSymlink != 0 && program.ReadOnly().Has(e.Name()) && leadsInto(filepath.Join(dir, e.Name()), roots)
	})
}

func inRoots(dir string, roots []string) bool {
	for _, r := range roots {
		if r = filepath.Clean(r); dir == r || strings.HasPrefix(dir, strings.TrimSuffix(r, "/")+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// quiet are the settings that keep git, go and rustup from running or fetching what a repository names.
func quiet() []string {
	config := [][2]string{
		{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.pager", "cat"},
		{"log.showSignature", "false"}, {"gpg.program", "false"}, {"gpg.ssh.program", "false"}, {"gpg.x509.program", "false"},
		{"diff.autoRefreshIndex", "false"}, {"core.untrackedCache", "keep"}, {"submodule.recurse", "false"}, {"diff.submodule", "short"}, {"safe.bareRepository", "explicit"}, {"credential.helper", ""},
		{"core.sshCommand", "false"}, {"core.askPass", "false"}, {"core.alternateRefsCommand", ""},
	}
	env := []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_EDITOR=false", "GIT_ASKPASS=false", "GOTOOLCHAIN=local", "GOFLAGS=", "RUSTUP_AUTO_INSTALL=0", "JAVA_TOOL_OPTIONS=-XX:-UsePerfData",
		"TEST_TELEMETRY_DIR=/dev/null", // where go would write counters
	}
	for n, kv := range config {
		env = append(env, "GIT_CONFIG_KEY_"+strconv.Itoa(n)+"="+kv[0], "GIT_CONFIG_VALUE_"+strconv.Itoa(n)+"="+kv[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
}

// plainLocale reports whether a backslash is always a backslash in a locale: in Big5, GBK and Shift JIS it may be the second
// half of a character, so that quotes would end elsewhere.
func plainLocale(v string) bool {
	name, set, _ := strings.Cut(v, ".")
	set = strings.ToUpper(strings.ReplaceAll(set, "-", ""))
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" &&
		(set == "UTF8" || set == "" && (name == "" || name == "C" || name == "POSIX" || strings.HasPrefix(name, "en_")))
}

// kept are the variables that commands without approval inherit.
var kept = map[string]bool{
	"HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANGUAGE": true, "TZ": true, "TMPDIR": true, "TERM": true, "COLORTERM": true,
	"NO_COLOR": true, "COLUMNS": true, "LINES": true, "HOSTNAME": true, "SYSTEMROOT": true, "SystemRoot": true, "USERPROFILE": true, "TEMP": true, "TMP": true,
}
