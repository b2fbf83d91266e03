// Package settings reads settings.json from all the places it may stand, the environment and the flags, and hands
// out small structs.
//
//	s, err := settings.Load(settings.Sources{UserHome: home, AdzeHome: adzeHome, Project: dir, Getenv: os.Getenv})
//
// Later sources win: built-in values, the machine's defaults, ~/.qwen, $ADZE_HOME, the project's .qwen and .adze, the
// machine's settings, the environment, flags. Keys
// merge one by one; the lists under permissions add up, so that a deny anywhere holds. Every key is in one table,
// keys.go: a new setting is a field here and a line there. It writes no file, though it
// edits the text of one, and knows nothing of what settings mean.
package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Settings is what all sources together say.
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

	given    map[string][]Value // by key
	notes    []Note
	unknown  []UnknownKey
	withheld []Withheld
	UI       UI
}

// Tools is how tools run.
type Tools struct {
	ApprovalMode    string  // plan, default, auto-edit or yolo
	OutputThreshold int     // characters of a result that go to the model; 0 or less: no limit
	Sandbox         string  // auto, off, read-only, workspace or workspace+network
	SandboxBackend  string  // built-in or bubblewrap: what makes the boxes
	Trial           string  // auto or off: whether commands run first where nothing lasts
	SandboxWrite    []Entry // what sandboxed commands may write to beside the workspace, temp and caches
	// SandboxUnixSockets lets sandboxed commands reach sockets that are files.
	SandboxUnixSockets bool

	Core     []Entry // rules of the built-in tools that there are; nil: all
	Disabled []Entry // tools that are removed; one with a specifier is a deny rule
	Exclude  []Entry // rules: each denies, and one without a specifier also removes its tool
	PassEnv  []Entry // variables that commands are given although they look like a credential

	Search ToolSearch

	DiscoveryCommand string // prints the declarations of further tools
	CallCommand      string // runs one of them
	CallTimeout      int    // for that, in milliseconds; 0: as long as any call may take
}

// ToolSearch is when external tools are declared to the model only once it has found them.
type ToolSearch struct {
	Enabled   bool
	Threshold int // percent of the model's context window that their declarations may take; 0 or less: none
}

// Context is what the model is shown.
type Context struct {
	IncludeDirectories []Entry // further directories of the workspace
	FileNames          []Entry // what context files are called, in place of AGENTS.md and QWEN.md
	GitIgnore          bool    // git-ignored files are skipped
	IgnoreFiles        []Entry // further names of AI ignore files
	DisabledSkills     []Entry
	DisabledSlashes    []Entry // commands, without the slash
	CompactAt          float64 // share of the context window at which conversations are compacted; 0 or 1: never before the server rejects them
}

// Permissions are rules, weakest source first.
type Permissions struct {
	Allow, Ask, Deny []Entry
}

// Entry is an element of a list that adds up, and where it stands.
type Entry struct {
	Text string
	From Place
}

// Texts returns the elements without their places.
func Texts(entries []Entry) []string {
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.Text)
	}
	return texts
}

// Place is where something was said: a file with a line, or the name of a variable or flag.
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

// Note says that a setting was not taken as it stands.
type Note struct {
	From Place
	Key  string
	Text string
}

func (n Note) String() string { return fmt.Sprintf("%s: %s %s", n.From, n.Key, n.Text) }

// Notes lists what a user should be told.
func (s *Settings) Notes() []Note { return slices.Clone(s.notes) }

// Withheld is a setting of a directory that is not trusted, which was not taken: it would do more than forbid.
type Withheld struct {
	From Place
	Key  string
	JSON string // the value as it is in the file, comments blanked out
}

// Withheld lists what a project's files would set if the directory were trusted.
func (s *Settings) Withheld() []Withheld { return slices.Clone(s.withheld) }

// UnknownKey is a key in a settings file that Adze doesn't know.
type UnknownKey struct {
	From Place
	Key  string
	Qwen bool   // it is in one of Qwen Code's files
	JSON string // the value as it is in the file, comments blanked out
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

// Error is a setting, or a whole file, that cannot be used. It stops the start, for what cannot be read may hold rules
// that protect.
type Error struct {
	From   Place
	Key    string // "" for the file as a whole
	Reason string
	Err    error // the cause, if there is one beyond the reason
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("read settings %s: %s", e.From, e.Reason)
	}
	return fmt.Sprintf("read settings %s: %s %s", e.From, e.Key, e.Reason)
}

func (e *Error) Unwrap() error { return e.Err }
