// Package settings reads settings.json from all its locations, the environment and the flags, into small structs.
//
//	s, err := settings.Load(settings.Sources{UserHome: home, AdzeHome: adzeHome, Project: dir, Getenv: os.Getenv})
//
// Later sources win: defaults, the machine's defaults, ~/.qwen, $ADZE_HOME, the project's .qwen and .adze, the
// machine's settings, the environment, flags. Keys are merged one by one; the lists under permissions are combined, so
// that a deny rule in any source applies. All keys are in one table, keys.go: a new setting is a field here and a line
// there. The package edits the text of settings files but doesn't write them, and doesn't interpret settings.
package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Settings is the combination of all sources.
type Settings struct {
	Tools       Tools
	Context     Context
	Web         Web
	Model       Model
	Permissions Permissions
	MCP         MCP
	General     General
	Undo        Undo
	Limits      Limits
	Hooks       Hooks
	LSP         LSP
	Telemetry   Telemetry

	given    map[string][]Value // by key
	notes    []Note
	unknown  []UnknownKey
	withheld []Withheld
	UI       UI
}

// Tools are the settings of tools.
type Tools struct {
	ApprovalMode    string // plan, default, auto-edit or yolo
	OutputThreshold int    // maximum characters of a result for the model; 0 or less: no limit
	Sandbox         string // auto, off, read-only, workspace or workspace+network
	SandboxBackend  string // built-in or bubblewrap
	Trial           string // auto or off: whether commands are tried first, without lasting effects
	// further paths that sandboxed commands may write to, besides the workspace, temp and caches
	SandboxWrite []Entry
	// SandboxUnixSockets lets sandboxed commands connect to Unix sockets.
	SandboxUnixSockets bool

	Core     []Entry // rules for the available built-in tools; nil: all
	Disabled []Entry // tools that are removed; one with a specifier is a deny rule
	Exclude  []Entry // rules: each denies, and one without a specifier also removes its tool
	PassEnv  []Entry // variables that commands get even if they look like a credential
	Env      []Entry // variables for tried commands: names, or NAME=value

	NotSecret []Entry // kinds of tokens, and patterns for paths of files whose tokens are shown

	AfterChange []AfterChange // weakest source first; all of them run

	Search ToolSearch

	DiscoveryCommand string // a command that prints the declarations of further tools
	CallCommand      string // a command that runs one of them
	CallTimeout      int    // its timeout, in milliseconds; 0: as for any call
}

// ToolSearch configures when external tools are deferred until the model finds them.
type ToolSearch struct {
	Enabled   bool
	Threshold int // percent of the model's context window that their declarations may take; 0 or less: none
}

// Context are the settings of the model's context.
type Context struct {
	IncludeDirectories []Entry // further directories of the workspace
	FileNames          []Entry // names of context files, instead of AGENTS.md and QWEN.md
	Nested             bool    // context files of directories below are loaded on demand
	GitIgnore          bool    // git-ignored files are skipped
	IgnoreFiles        []Entry // further names of AI ignore files
	DisabledSkills     []Entry
	DisabledSlashes    []Entry // disabled slash commands, without the slash
	// share of the context window at which conversations are compacted; 0 or 1: never before the server rejects them
	CompactAt float64
}

// Permissions are rules, weakest source first.
type Permissions struct {
	Allow, Ask, Deny []Entry
}

// Entry is an element of a combined list, with its position.
type Entry struct {
	Text string
	From Place
}

// Texts returns the elements without their positions.
func Texts(entries []Entry) []string {
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.Text)
	}
	return texts
}

// Place is the origin of a setting: a file with a line, or the name of a variable or flag.
type Place struct {
	Source       string
	Line, Column int // 0: not in a file
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
}

// Note reports that a setting was ignored or changed.
type Note struct {
	From Place
	Key  string
	Text string
}

func (n Note) String() string { return fmt.Sprintf("%s: %s %s", n.From, n.Key, n.Text) }

// Notes returns the notes for the user.
func (s *Settings) Notes() []Note { return slices.Clone(s.notes) }

// Withheld is a setting of an untrusted project that was ignored, because it would do more than restrict.
type Withheld struct {
	From Place
	Key  string
	JSON string // the value as in the file, with comments blanked out
}

// Withheld returns the settings that would apply if the project were trusted.
func (s *Settings) Withheld() []Withheld { return slices.Clone(s.withheld) }

// UnknownKey is a key in a settings file that Adze doesn't know.
type UnknownKey struct {
	From Place
	Key  string
	Qwen bool   // it is in one of Qwen Code's files
	JSON string // the value as in the file, with comments blanked out
}

// Names returns the known settings keys and the objects that contain them.
func Names() []string {
	seen := map[string]bool{}
	var names []string
	for _, k := range keys() {
		for name := k.name; name != "" && !seen[name]; name = name[:max(strings.LastIndexByte(name, '.'), 0)] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// Unknown lists the keys that were ignored.
func (s *Settings) Unknown() []UnknownKey { return slices.Clone(s.unknown) }

// Error is an invalid setting or file. It stops the start, because it may contain rules that protect.
type Error struct {
	From   Place
	Key    string // "" for the whole file
	Reason string
	Err    error // the cause, if it adds to the reason
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("read settings %s: %s", e.From, e.Reason)
	}
	return fmt.Sprintf("read settings %s: %s %s", e.From, e.Key, e.Reason)
}

func (e *Error) Unwrap() error { return e.Err }
