package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/engine/nearest"
	"github.com/adze-dev/adze/permission"
)

// options is what the command line says.
type options struct {
	prompt    string
	hasPrompt bool
	// firstPrompt is what a conversation in the terminal starts with.
	firstPrompt string
	format      outputFormat
	input       string // format of stdin
	partial     bool   // pieces of messages
	mode        permission.Mode
	yolo        bool
	model       string
	authType    string
	effort      string
	cwd         string
	addDirs     []string
	rules       []string // of mcp serve
	maxTurns    int
	maxTime     time.Duration
	strict      bool
	json        bool
	dryRun      bool
	scope       project.Scope // of settings
	env         []string      // of a server: K=V
	headers     []string      // of a server: K: V
	http, sse   string        // addresses of servers
	tools       string        // names, separated by commas
	hasTools    bool
	yes         bool
	undo        undoOptions
	remove      bool
	allow       []string
	ask         []string
	deny        []string
	tryMode     string // to judge in, or of a sandbox
	batch       bool
	sandbox     string
	backend     string // of a sandbox
	noReadOnly  bool
	help        bool
	version     bool
	record      recordOptions
	replay      replayOptions

	promptTool string    // what answers permission prompts
	mcp        mcpConfig // servers for this run

	screenReader bool
	acp          bool // serve an editor

	allowedTools []string // nil: not given
	excludeTools []string
	coreTools    []string
	fallbacks    []string
	mcpServers   []string
	noSlashes    []string
	systemPrompt string
	appendPrompt string
	jsonSchema   string
	hasSchema    bool
	maxCalls     int
	maxTokens    int
	maxDepth     string
	goal         goal.Goal
	log          string

	paths []string // the words after --
	used  []*flag  // in the order given
	notes []string // about flags that have no effect
}

// outputFormat is how a prompt's answer is printed. The zero value is text.
type outputFormat string

const (
	formatText       outputFormat = "text"
	formatJSON       outputFormat = "json"
	formatStreamJSON outputFormat = "stream-json"
)

// flag is one command-line flag. All flags are in one table, so that a flag works the same with every command and may
// come before or after the words.
type flag struct {
	long, short string
	also        []string               // synonyms
	value       string                 // what it takes, for the help; empty: nothing
	bare        string                 // the value if it is given without one; empty: it needs one
	hidden      bool                   // not in the help; without its own value, it accepts =VALUE
	optional    func(word string) bool // whether the next word is its value; nil: every word is, and it needs one
	about       string
	abouts      map[string]string // another text for some of the commands
	on          string            // the commands that know it, separated by blanks
	among       []string          // the values that it can have; nil: any
	noun        noun              // what its value is, for completion
	nouns       map[string]noun   // another one for some of the commands
	to          destination       // where its value goes
}

// usageError is a mistake on the command line itself.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// parse reads the command line: flags anywhere, words in order. After "--" everything is a word.
func parse(args []string) (*options, []string, error) {
	o := &options{}
	flags := flags(o)
	var words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if verbatim(words) {
			words = append(words, args[i:]...)
			break
		}
		if arg == "--" {
			o.paths = args[i+1:]
			words = append(words, o.paths...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' || isNumber(arg) {
			words = append(words, arg)
			continue
		}
		name, value, hasValue := strings.Cut(arg, "=")
		f := find(flags, name)
		if f == nil {
			return nil, nil, usagef("unknown flag %s\n%s", name, nearFlag(flags, name, words))
		}
		switch {
		case f.value == "" && hasValue && !f.hidden:
			return nil, nil, usagef("%s takes no value", name)
		case f.value != "" && !hasValue && f.optional != nil:
			if i+1 < len(args) && f.optional(args[i+1]) {
				i++
				value = args[i]
			}
		case f.bare != "" && !hasValue && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")):
			value = f.bare
		case f.value != "" && !hasValue:
			i++
			if i == len(args) {
				return nil, nil, usagef("%s needs a value: %s %s", name, name, f.value)
			}
			value = args[i]
		}
		if f.among != nil && !slices.Contains(f.among, value) {
			return nil, nil, usagef("%s: expected %s, got %q", name, strings.Join(f.among, ", "), value)
		}
		if err := f.to(value); err != nil {
			return nil, nil, usagef("%s: %v", name, err)
		}
		o.used = append(o.used, f)
	}
	return o, words, nil
}

// isNumber reports whether a word is a number: -1 is a value and no flag.
func isNumber(arg string) bool {
	_, err := strconv.ParseFloat(arg, 64)
	return err == nil && arg[1] >= '0' && arg[1] <= '9'
}

// verbatim reports whether a command of another program has begun, whose flags are not ours.
func verbatim(words []string) bool {
	return len(words) >= 4 && words[0] == "mcp" && words[1] == "add" || len(words) >= 1 && words[0] == "fleet"
}

func find(flags []flag, name string) *flag {
	for i := range flags {
		if name == "--"+flags[i].long || strings.HasPrefix(name, "--") && slices.Contains(flags[i].also, name[2:]) ||
			flags[i].short != "" && name == "-"+flags[i].short {
			return &flags[i]
		}
	}
	return nil
}

// nearFlag is the next step after a wrong flag: the flag that it is close to, and the help of the command.
func nearFlag(flags []flag, name string, words []string) string {
	help := "See 'adze --help'."
	c, _, err := choose(words)
	if err == nil && c.name != "" {
		help = "See 'adze " + c.name + " --help'."
	}
	if err == nil && c.name == "permission check" && !strings.HasPrefix(name, "--") {
		return "Put the command after --: adze permission check -- 'COMMAND'"
	}
	var names, longer []string
	for _, f := range flags {
		long := "--" + f.long
		if f.hidden || err == nil && !f.known(c.key()) {
			continue
		}
		names = append(names, f.long)
		if len(name) > len("--x") && strings.HasPrefix(long, name) {
			longer = append(longer, f.long)
		}
	}
	near := nearest.Names(strings.TrimPrefix(name, "--"), names)
	if len(longer) == 1 {
		near = longer
	}
	if len(near) != 1 {
		return help
	}
	return "Did you mean --" + near[0] + "? " + help
}

// known reports whether the flag belongs to the command.
func (f *flag) known(command string) bool {
	for _, name := range strings.Fields(f.on) {
		if name == command || name == "*" {
			return true
		}
	}
	return false
}
