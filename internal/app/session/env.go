package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/dotenv"
	"github.com/adze-dev/adze/internal/engine/nearest"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Env is a session's environment.
type Env struct {
	Getenv  func(string) string
	Environ []string       // for commands; nil: this process's
	Helper  builtin.Helper // runs commands
	Home    string         // of the user
	Version string
	// HasUser reports whether a user can answer questions.
	HasUser bool
	// Hurry is closed when the user doesn't want to wait at the end of the session; may be nil.
	Hurry <-chan struct{}
	// Now is the time; nil: time.Now.
	Now func() time.Time
	// Tell shows the user a notice, without a newline at the end; nil: notices are dropped.
	Tell func(note string)
	// Show shows the user a URL to open in a browser; nil: that isn't possible.
	Show func(address string) error
}

// environ returns the environment of programs.
func (env Env) environ() []string {
	if env.Environ != nil {
		return env.Environ
	}
	return os.Environ()
}

// Notice shows the user a notice.
func (env Env) Notice(note string) {
	if env.Tell != nil {
		env.Tell(note)
	}
}

// Time returns the current time.
func (env Env) Time() time.Time {
	if env.Now != nil {
		return env.Now()
	}
	return time.Now()
}

// variable looks up an environment variable.
func (env Env) variable(name string) (string, bool) {
	if v := env.Getenv(name); v != "" {
		return v, true
	}
	_, set := os.LookupEnv(name)
	return "", set
}

// variables are those of the environment, and of the user's own .env files if the environment lacks them. A project's
// .env is never read: it could send the user's prompts to another server. Programs that Adze starts don't get them.
type variables struct {
	getenv func(string) string
	files  []dotenvFile
}

// dotenvFile is a .env file.
type dotenvFile struct {
	path   string
	values map[string]string
}

// variables reads the .env files: Adze's own first, then Qwen Code's.
func (env Env) variables(adzeHome string) variables {
	v := variables{getenv: env.Getenv}
	qwen := env.Getenv("QWEN_HOME")
	if !filepath.IsAbs(qwen) && env.Home != "" {
		qwen = filepath.Join(env.Home, ".qwen")
	}
	for _, dir := range []string{adzeHome, qwen} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, ".env")
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			v.files = append(v.files, dotenvFile{path, dotenv.Parse(string(text))})
		case !errors.Is(err, fs.ErrNotExist):
			env.Notice(fmt.Sprintf("warning: %s is ignored: %v", path, err))
		}
	}
	return v
}

// variable is the value of a variable and its origin.
type variable struct {
	name, value, file string // file is "" for the environment
}

// String names the variable for an error.
func (v variable) String() string {
	if v.file == "" {
		return v.name
	}
	return v.name + " (" + v.file + ")"
}

// first returns the first of these variables that is set; without a value if none is.
func (v variables) first(names []string) variable {
	for _, name := range names {
		if value := strings.TrimSpace(v.getenv(name)); value != "" {
			return variable{name, value, ""}
		}
	}
	for _, f := range v.files {
		for _, name := range names {
			if value := f.values[name]; value != "" {
				return variable{name, value, f.path}
			}
		}
	}
	if len(names) == 0 {
		return variable{}
	}
	return variable{name: names[0]}
}

func (v variables) get(name string) string { return v.first([]string{name}).value }

// Kind classifies an error. The constants are errors themselves: errors.Is(err, session.ErrModel).
type Kind string

// The kinds.
const (
	ErrDirectories Kind = "invalid directories"
	ErrRules       Kind = "invalid rules"
	ErrModel       Kind = "no model"
	ErrPrompt      Kind = "invalid prompt"
	ErrSession     Kind = "invalid session"
	ErrHook        Kind = "stopped by a hook"
	// ErrUnstructured reports a model that didn't return a result of the schema.
	ErrUnstructured Kind = "the model replied without calling structured_output, so there is no result"
)

func (k Kind) Error() string { return string(k) }

// Error is an error that the user can fix. Its text says how.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Errorf returns an error of a kind.
func Errorf(k Kind, format string, args ...any) error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

// Overspent is the error of a run with a complete answer that exceeded the token limit.
type Overspent struct{ Err error }

func (e *Overspent) Error() string { return e.Err.Error() }

// Unwrap returns the limit.
func (e *Overspent) Unwrap() error { return e.Err }

// Warn reports something that is ignored, on every run.
func (env Env) Warn(format string, args ...any) {
	env.Notice("warning: " + fmt.Sprintf(format, args...))
}

// warnIgnored reports settings and files of Qwen Code that Adze doesn't support.
func (s *Session) warnIgnored() {
	names := settings.Names()
	var unknown []string
	for _, u := range s.Settings.Unknown() {
		if text := unknownSetting(u, names); text != "" {
			unknown = append(unknown, fmt.Sprintf("%s: %s", u.From, text))
		}
	}
	s.warnAll(unknown)
	for _, path := range s.Directory.qwenFiles() {
		s.Env.Warn("%s: not supported by Adze, ignored", path)
	}
}

// maxWarnings is the maximum number of warnings of one kind: a file of another program may have any number of keys.
const maxWarnings = 10

func (s *Session) warnAll(texts []string) {
	for i, text := range texts {
		if i == maxWarnings && !s.warnsAll {
			s.Env.Warn("%d more like this; adze doctor lists them", len(texts)-i)
			return
		}
		s.Env.Warn("%s", text)
	}
}

// unknownSetting describes an unknown key. In Qwen Code's own files it is "" for keys that don't concern Adze, such as
// the theme.
func unknownSetting(u settings.UnknownKey, names []string) string {
	section, _, nested := strings.Cut(u.Key, ".")
	if u.Qwen {
		if section == "ui" { // appearance of another program
			return ""
		}
		if nested && slices.Contains(names, section) || slices.Contains(qwenKeys, section) {
			return fmt.Sprintf("setting %q is not supported by Adze, ignored", u.Key)
		}
		return ""
	}
	return fmt.Sprintf("unknown setting %q, ignored.%s", u.Key, didYouMean(u.Key, siblings(u.Key, names)))
}

// siblings returns the names in the same object as key.
func siblings(key string, names []string) []string {
	parent := key[:strings.LastIndexByte(key, '.')+1]
	var out []string
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, parent); ok && !strings.Contains(rest, ".") {
			out = append(out, n)
		}
	}
	return out
}

// qwenKeys are settings of Qwen Code that affect an agent's behavior, and that Adze doesn't support.
var qwenKeys = []string{"modelProviders", "env", "extensions", "policy", "proxy"}

// didYouMean suggests the closest name, or nothing. For a nested key, only the last part is compared.
func didYouMean(name string, names []string) string {
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	full, lasts := map[string]string{}, make([]string, len(names))
	for i, n := range names {
		lasts[i] = last(n)
		full[lasts[i]] = n
	}
	near := nearest.Names(last(name), lasts)
	if len(near) != 1 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", full[near[0]])
}

// qwenFiles returns files and directories that Qwen Code uses and Adze doesn't.
func (f Directory) qwenFiles() []string {
	var found []string
	for _, dir := range []string{filepath.Join(f.env.Home, ".qwen"), filepath.Join(f.Path, ".qwen")} {
		for _, name := range []string{"extensions", ".env"} {
			path := filepath.Join(dir, name)
			if !filepath.IsAbs(path) || slices.Contains(found, path) {
				continue
			}
			if _, err := os.Lstat(path); err == nil {
				found = append(found, path)
			}
		}
	}
	return found
}

// warnRules reports rules that name no tool: a mistyped deny rule protects nothing.
func (s *Session) warnRules(rules permission.Rules, tools []tool.Declaration) {
	s.warnAll(s.unknownRules(rules, tools))
}

// unknownRules describes the rules that name no tool. Tools of a discovery command aren't known yet, and neither are
// those of an MCP server: only the server's name is checked.
func (s *Session) unknownRules(rules permission.Rules, tools []tool.Declaration) []string {
	var out []string
	for _, u := range rules.Unused(tools) {
		name, _, _ := strings.Cut(u.Text, "(")
		name = strings.TrimSpace(name)
		if server, ok := serverOf(name); ok && (server == "*" || s.hasServer(server)) {
			continue
		}
		if s.Settings.Tools.DiscoveryCommand != "" && strings.ToLower(name) == name {
			continue
		}
		at := ""
		if u.Source != "" {
			at = u.Source + ": "
		}
		out = append(out, fmt.Sprintf("%spermissions.%s: unknown tool %q in %q. This rule has no effect.%s", at, u.List,
			name, u.Text, didYouMean(name, permission.ToolNames(tools))))
	}
	return out
}

// serverOf returns the MCP server in a rule's name: github__search, mcp__github, mcp__github__search.
func serverOf(name string) (string, bool) {
	rest, mcp := strings.CutPrefix(name, "mcp__")
	server, _, of := strings.Cut(rest, "__")
	return server, mcp || of
}

// hasServer reports whether settings have a server of this name, or an untrusted project may have one.
func (s *Session) hasServer(alias string) bool {
	_, ok := s.Settings.MCP.Servers[alias]
	return ok || slices.ContainsFunc(s.Settings.Withheld(),
		func(w settings.Withheld) bool { return strings.HasPrefix(w.Key, "mcp") })
}
