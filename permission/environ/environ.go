// Package environ makes the environment of commands that run without approval.
package environ

import (
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/table"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
	"github.com/adze-dev/adze/permission/shell/form"
)

// Unapproved describes a command that runs without approval: a read-only one, or one in a trial.
type Unapproved struct {
	// Roots is the workspace, for a read-only command.
	Roots []string
	// Tried is for a command in a trial. It runs code of the project anyway, so it also gets the variables that build
	// tools read, and PATH as it is.
	Tried bool
	// Pass are further variables of a tried command: names, or NAME=value.
	Pass []string
	// Secret reports whether a variable (NAME=value) has a credential: then it is withheld even if Pass names it. nil:
	// none.
	Secret func(variable string) bool
}

// Environ returns the variables of base that the command gets, and the names of those that are withheld, except of the
// desktop's and the terminal's.
//
// The proof that a command is read-only is only valid in the environment of such a command: a BASH_ENV, an exported
// function, a GIT_EXTERNAL_DIFF or a PATH with ./bin would run something else. So it has the variables that change how
// programs look, not what they do, a PATH without directories that lead into the workspace, and settings that keep git
// from running monitors, hooks, pagers, external diffs and signature checks, from taking locks, from fetching, and from
// opening a bare repository that happens to be there.
func (u Unapproved) Environ(base []string) (env, withheld []string) {
	for _, kv := range u.with(base) {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case !u.gets(name, value) || u.Secret != nil && u.Secret(kv):
			if name != "" && !noise().MatchString(name) {
				withheld = append(withheld, name)
			}
		case name == "PATH" && !u.Tried:
			env = append(env, "PATH="+Path(value, u.Roots...))
		default:
			env = append(env, kv)
		}
	}
	slices.Sort(withheld)
	if !u.Tried {
		env = append(env, quiet()...)
	}
	return env, slices.Compact(withheld)
}

// AutoApproved returns the environment of a read-only command.
func AutoApproved(environ []string, roots ...string) []string {
	env, _ := Unapproved{Roots: roots}.Environ(environ)
	return env
}

// With returns base with the variables of pass that have a value.
func With(base, pass []string) []string { return Unapproved{Tried: true, Pass: pass}.with(base) }

func (u Unapproved) with(base []string) []string {
	if !u.Tried {
		return base
	}
	out := slices.Clone(base)
	for _, kv := range u.Pass {
		if name, _, ok := strings.Cut(kv, "="); ok {
			out = slices.DeleteFunc(out, func(old string) bool { return strings.HasPrefix(old, name+"=") })
			out = append(out, kv)
		}
	}
	return out
}

// gets reports whether the command gets a variable that isn't secret.
func (u Unapproved) gets(name, value string) bool {
	switch {
	case name == "LANG" || strings.HasPrefix(name, "LC_"):
		return u.Tried || plainLocale(value)
	case name == "PATH" || slices.Contains(kept, name):
		return true
	}
	return u.Tried && (tried()[name] || slices.ContainsFunc(u.Pass,
		func(p string) bool { return p == name || strings.HasPrefix(p, name+"=") }))
}

//go:embed names.txt
var namesText string

// tried returns the names in names.txt.
var tried = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	valid := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	for _, line := range table.Must(table.Lines(namesText, 10)) {
		for _, name := range strings.Split(line.Text, " ") {
			if !valid.MatchString(name) || names[name] {
				panic("names.txt: invalid or repeated name " + strconv.Quote(name))
			}
			names[name] = true
		}
	}
	return names
})

// noise matches the variables of desktops, terminals and shells, which no build needs, and the settings of Adze's own
// commands.
var noise = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(_|PS[0-9]|SHLVL|OLDPWD|DISPLAY|XAUTHORITY|WINDOWID|TERM|COLORFGBG|LS_COLORS|LESS.*|MAIL|MANPATH|INFOPATH|MOTD_SHOWN|` +
		`INVOCATION_ID|JOURNAL_STREAM|MANAGERPID|MEMORY_PRESSURE_.*|LISTEN_.*|NOTIFY_SOCKET|STY|WT_.*|WSL.*|PROMPT.*|RPROMPT|HIST.*|` +
		`(DBUS|XDG|GNOME|GTK|GDK|GIO|KDE|QT|WAYLAND|DESKTOP|SESSION|SSH|GPG|XMODIFIERS|IM|TMUX|ITERM|KITTY|ALACRITTY|WEZTERM|VTE|TERM|LC|` +
		`TERMINAL|VSCODE|TERMINFO|STARSHIP|FZF|ZSH|BASH|P9K|POWERLEVEL9K|SYSTEMD|SUDO|PAGER|GIT_ASKPASS|ZELLIJ|KONSOLE)(_.*)?|` +
		`.*_?PAGER|EDITOR|VISUAL|BROWSER|BASH_FUNC.*|(?i:(http|https|ftp|all|no)_proxy)|ADZE.*|container|LS_OPTIONS|DEBIAN_FRONTEND)$`)
})

// Path is the PATH of such a command. It omits what is not absolute, what lies in a root or leads there, and a
// directory in which one of the everyday commands leads there.
func Path(path string, roots ...string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !inRoots(filepath.Clean(dir), roots) && !leadsInto(dir, roots) &&
			!holdsLinkInto(dir, roots) {
			kept = append(kept, dir)
		}
	}
	if len(kept) == 0 {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// WithoutManagers returns env with a PATH without directories of version managers, whose programs run what a project
// chooses.
func WithoutManagers(env []string) []string {
	out := slices.Clone(env)
	for i, kv := range out {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs := slices.DeleteFunc(filepath.SplitList(path), ofManager)
			out[i] = "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
		}
	}
	return out
}

// ofManager reports whether a directory belongs to a version manager.
func ofManager(dir string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(dir), "/") {
		if slices.Contains(managers, strings.TrimPrefix(part, ".")) {
			return true
		}
	}
	return false
}

var managers = strings.Fields("rustup asdf mise rtx volta proto pyenv rbenv nodenv jenv goenv phpenv shims")

// leadsInto reports whether a path lies in a root once its links are followed, even if only the beginning of it exists,
// or a link names what doesn't exist yet. Of a loop of links it is assumed.
func leadsInto(path string, roots []string) bool {
	abs, _, err := realpath.Resolve(path)
	return err != nil || inRoots(abs, roots)
}

// holdsLinkInto reports whether a directory has a link into a root under the name of a read-only command.
func holdsLinkInto(dir string, roots []string) bool {
	if dir == "/usr/bin" || dir == "/bin" || dir == "/usr/sbin" || dir == "/sbin" {
		return false // thousands of names, which packages own
	}
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Type()&os.ModeSymlink != 0 && form.Has(e.Name()) && leadsInto(filepath.Join(dir, e.Name()), roots)
	})
}

func inRoots(dir string, roots []string) bool {
	_, ok := names.Within(dir, roots)
	return ok
}

// quiet are the settings that keep git, go and rustup from running or fetching what a repository names.
func quiet() []string {
	config := [][2]string{
		{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.pager", "cat"},
		{"log.showSignature", "false"}, {"gpg.program", "false"}, {"gpg.ssh.program", "false"},
		{"gpg.x509.program", "false"},
		{"diff.autoRefreshIndex", "false"}, {"core.untrackedCache", "keep"}, {"submodule.recurse", "false"},
		{"diff.submodule", "short"}, {"safe.bareRepository", "explicit"}, {"credential.helper", ""},
		{"core.sshCommand", "false"}, {"core.askPass", "false"}, {"core.alternateRefsCommand", ""},
	}
	env := []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_EDITOR=false", "GIT_ASKPASS=false", "GOTOOLCHAIN=local", "GOFLAGS=", "RUSTUP_AUTO_INSTALL=0",
		"JAVA_TOOL_OPTIONS=-XX:-UsePerfData",
		"TEST_TELEMETRY_DIR=/dev/null", // where go would write counters
	}
	for n, kv := range config {
		env = append(env, "GIT_CONFIG_KEY_"+strconv.Itoa(n)+"="+kv[0], "GIT_CONFIG_VALUE_"+strconv.Itoa(n)+"="+kv[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
}

// plainLocale reports whether a backslash is always a backslash in a locale: in Big5, GBK and Shift JIS it may be the
// second half of a character, so that quotes would end elsewhere.
func plainLocale(v string) bool {
	name, set, _ := strings.Cut(v, ".")
	set = strings.ToUpper(strings.ReplaceAll(set, "-", ""))
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" &&
		(set == "UTF8" || set == "" && (name == "" || name == "C" || name == "POSIX" || strings.HasPrefix(name, "en_")))
}

// kept are the variables that commands without approval inherit.
var kept = strings.Fields("HOME USER LOGNAME SHELL LANGUAGE TZ TMPDIR TERM COLORTERM NO_COLOR COLUMNS LINES HOSTNAME " +
	"SYSTEMROOT SystemRoot USERPROFILE TEMP TMP")
