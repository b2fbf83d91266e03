// Package gitwork determines what a git command would change of the paths that a sandbox protects: files in the
// worktree, the repository's configuration, git directories. It runs git only to query: which files differ, what a name
// refers to.
//
//	effect := gitwork.Of(gitwork.Call{Dir: "/home/me/app", Args: []string{"checkout", "main"}, Literal: true}, git)
//	effect.Files // the files that a checkout of main would change
//
// It knows no sandbox and no protected names. If it can't determine the files, it assumes every tracked file.
package gitwork

import (
	"path/filepath"
	"slices"
	"strings"
)

// Call is a git command.
type Call struct {
	Dir     string   // where it runs
	Args    []string // from the subcommand on
	Literal bool     // the arguments are complete; otherwise more may follow
	Later   bool     // another git command of the same line changes something first
	Global  string   // the user's own configuration file
}

// Git runs git in a directory and returns its output. It must not change anything.
type Git func(dir string, args ...string) (string, error)

// Effect is what a git command may change. All paths are absolute.
type Effect struct {
	// Top is the top of the worktree; empty without one.
	Top string
	// Files are files and directories of worktrees that it changes, removes or makes.
	Files []string
	// Tracked means that it may change any tracked file, because it can't be determined which.
	Tracked bool
	// Unseen means that it may also create files that aren't known before it runs, as git pull does.
	Unseen bool
	// Moves are renames of files or directories, from and to.
	Moves [][2]string
	// Config are configuration files that it changes.
	Config []Settings
	// Creates are git directories that it creates.
	Creates []string
	// Copies are files that it copies into a git directory that it creates: hooks of a template, settings.
	Copies []string
	// Git are paths in git directories that it changes or removes, with everything below them.
	Git []string
}

// Settings are the settings that a command changes in a configuration file.
type Settings struct {
	File string
	Keys []string // "user.name", "remote.origin"
}

// None reports whether it changes nothing.
func (e *Effect) None() bool {
	return len(e.Files) == 0 && !e.Tracked && len(e.Moves) == 0 && len(e.Config) == 0 && len(e.Creates) == 0 &&
		len(e.Git) == 0
}

// work is the state of determining an effect.
type work struct {
	Call
	git      Git
	flags    []string // as written, without values
	values   map[string]string
	operands []string
	paths    []string // after --
	dashes   bool     // there is a --
	Effect
}

// command describes a subcommand: which flags have a value, and a function that determines what it changes.
type command struct {
	valued string
	effect func(w *work)
}

const mergeValued = "-s --strategy -X --strategy-option -m --message -F --file --into-name --cleanup "

// commands returns the subcommands that may change protected paths.
func commands() map[string]command {
	return map[string]command{
		"checkout": {"-b -B --orphan --conflict --pathspec-from-file", (*work).checkout},
		"switch":   {"-c -C --create --force-create --orphan --conflict", (*work).checkout},
		"restore":  {"-s --source --conflict --pathspec-from-file", (*work).restore},
		"reset":    {"--pathspec-from-file", (*work).reset},
		"stash":    {"-m --message --pathspec-from-file", (*work).stash},
		"merge":    {mergeValued, (*work).merge},
		"pull": {mergeValued + "--depth --deepen --shallow-since --shallow-exclude --refmap -o " +
			"--server-option --upload-pack -j --jobs", (*work).pull},
		"rebase": {"--onto -s --strategy -X --strategy-option -x --exec -C --empty --whitespace",
			(*work).rebase},
		"cherry-pick": {"-m --mainline -s --strategy -X --strategy-option --cleanup", (*work).pick},
		"revert":      {"-m --mainline -s --strategy -X --strategy-option --cleanup", (*work).pick},
		"am": {"-p -C --directory --exclude --include --whitespace --patch-format --quoted-cr",
			(*work).apply},
		"apply":           {"-p -C --directory --exclude --include --whitespace --build-fake-ancestor", (*work).apply},
		"mv":              {"", (*work).mv},
		"rm":              {"--pathspec-from-file", (*work).rm},
		"clean":           {"-e --exclude", (*work).clean},
		"read-tree":       {"--prefix --exclude-per-directory --index-output", anyFile("-u")},
		"checkout-index":  {"--prefix --stage", anyFile("")},
		"bisect":          {"", (*work).bisect},
		"sparse-checkout": {"", (*work).sparse},
		"subtree":         {"-P --prefix -m --message -b --branch --onto", anyFile("")},
		"filter-branch":   {"", anyFile("")},
		"worktree":        {"-b -B --reason --expire", (*work).worktree},
		"submodule":       {"-b --branch --name --reference --depth -j --jobs", (*work).submodule},
		"config":          {"-f --file --blob --type --default --value --comment --url --fixed-value", (*work).config},
		"remote":          {"-t -m", (*work).remote},
		"branch": {"-u --set-upstream-to --sort --format --contains --no-contains --merged --no-merged " +
			"--points-at", (*work).branch},
		"push": {"-o --push-option --receive-pack --exec --repo", (*work).upstream},
		"fetch": {"--depth --deepen --shallow-since --shallow-exclude --refmap -o --server-option " +
			"--upload-pack -j --jobs", (*work).upstream},
		"init": {"--template --separate-git-dir --object-format -b --initial-branch", (*work).init},
		"clone": {"-o --origin -b --branch -u --upload-pack --reference --depth -c --config --template " +
			"--separate-git-dir --shallow-since --shallow-exclude -j --jobs --filter --server-option --bundle-uri",
			(*work).clone},
		"maintenance": {"--task --schedule --scheduler", (*work).maintenance},
	}
}

// others are subcommands of git that change none of this. Git ignores aliases of its own commands.
const others = " add commit tag status log diff show gc notes blame grep describe rev-parse rev-list ls-files " +
	"ls-tree cat-file fsck repack prune reflog shortlog " +
	"show-ref for-each-ref update-ref symbolic-ref hash-object write-tree commit-tree merge-base name-rev cherry " +
	"range-diff format-patch archive bundle " +
	"count-objects verify-commit verify-pack check-ignore check-attr var version help update-index diff-tree " +
	"diff-index diff-files send-email request-pull rerere "

// Known reports whether name is a git subcommand that may change protected paths.
func Known(name string) bool { _, ok := commands()[name]; return ok }

// Of returns what a command changes. An alias is followed unless it runs a shell.
func Of(c Call, git Git) Effect {
	w := &work{Call: c, git: git}
	table := commands()
	for range 4 {
		if len(w.Args) == 0 {
			return Effect{}
		}
		if cmd, ok := table[w.Args[0]]; ok {
			return w.run(cmd)
		}
		if strings.Contains(others, " "+w.Args[0]+" ") {
			return Effect{}
		}
		alias, err := git(w.Dir, "config", "--get", "alias."+w.Args[0])
		words := strings.Fields(alias)
		if err != nil || len(words) == 0 || strings.HasPrefix(words[0], "!") || strings.ContainsAny(alias, `'"\`) {
			return Effect{}
		}
		w.Args = append(words, w.Args[1:]...)
	}
	return Effect{}
}

// Runs reports whether a git command may run programs that its words name, or that are in the worktree.
func Runs(args []string) bool {
	if len(args) == 0 {
		return true
	}
	switch args[0] {
	case "config", "remote", "branch", "init", "clone", "worktree", "switch", "checkout", "restore", "reset", "stash",
		"mv", "rm", "add",
		"commit", "tag", "merge", "cherry-pick", "revert", "fetch", "push", "pull", "clean", "maintenance", "gc",
		"sparse-checkout", "status", "log", "diff", "show":
		return slices.ContainsFunc(args[1:], func(a string) bool {
			return a == "-e" || a == "--edit" || strings.HasPrefix(a, "--upload-pack") ||
				strings.HasPrefix(a, "--receive-pack") || strings.HasPrefix(a, "--exec")
		})
	case "submodule":
		return len(args) < 2 || args[1] == "foreach"
	}
	return true
}

func (w *work) run(cmd command) Effect {
	w.parse(cmd.valued)
	top, err := w.git(w.Dir, "rev-parse", "--show-toplevel")
	w.Top = strings.TrimSuffix(top, "\n")
	if name := w.Args[0]; (err != nil || w.Top == "") && name != "init" && name != "clone" && name != "config" {
		if name != "worktree" && name != "remote" && name != "branch" && name != "fetch" && name != "push" {
			return Effect{} // not in a worktree: git fails
		}
	}
	cmd.effect(w)
	slices.Sort(w.Files)
	w.Files = slices.Compact(w.Files)
	return w.Effect
}

// parse sorts the arguments after the subcommand.
func (w *work) parse(valued string) {
	takes := map[string]bool{}
	for _, f := range strings.Fields(valued) {
		takes[f] = true
	}
	w.values = map[string]string{}
	args := w.Args[1:]
	for i := 0; i < len(args); i++ {
		a := args[i]
		flag, value, joined := strings.Cut(a, "=")
		next := func(flag string) {
			if w.flags = append(w.flags, flag); i+1 < len(args) {
				i++
				w.values[flag] = args[i]
			}
		}
		switch {
		case w.dashes:
			w.paths = append(w.paths, a)
		case a == "--":
			w.dashes = true
		case strings.HasPrefix(a, "--") && !joined && takes[a]:
			next(a)
		case strings.HasPrefix(a, "--"):
			w.flags = append(w.flags, flag)
			w.values[flag] = value
		case len(a) > 1 && a[0] == '-':
			w.short(a[1:], takes, next)
		default:
			w.operands = append(w.operands, a)
		}
	}
}

// short reads a cluster of short flags.
func (w *work) short(letters string, takes map[string]bool, next func(flag string)) {
	for i := range len(letters) {
		flag := "-" + letters[i:i+1]
		if !takes[flag] {
			w.flags = append(w.flags, flag)
			continue
		}
		if rest := letters[i+1:]; rest != "" {
			w.flags = append(w.flags, flag)
			w.values[flag] = rest
		} else {
			next(flag)
		}
		return
	}
}

// has reports whether one of the flags is given.
func (w *work) has(flags ...string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(w.flags, f) })
}

// value returns the value of the first of the flags that has one.
func (w *work) value(flags ...string) string {
	for _, f := range flags {
		if v, ok := w.values[f]; ok {
			return v
		}
	}
	return ""
}

// anyFile returns a function for a command that may change any file if the flag is given; "": always.
func anyFile(flag string) func(*work) {
	return func(w *work) { w.Tracked = w.Tracked || flag == "" || w.has(flag) }
}

// abs returns a path of the command line.
func (w *work) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.Dir, path)
}

// list runs git and adds the names that it prints, which are relative to the top of the worktree. It reports false
// if git fails.
func (w *work) list(args ...string) bool {
	text, err := w.git(w.Top, args...)
	if err != nil {
		return false
	}
	for name := range strings.SplitSeq(text, "\x00") {
		if name = strings.TrimLeft(name, "\n"); name != "" {
			w.Files = append(w.Files, filepath.Join(w.Top, name))
		}
	}
	return true
}

// listHere is list for pathspecs, which are relative to the working directory of the command.
func (w *work) listHere(args ...string) bool {
	prefix, err := w.git(w.Dir, "rev-parse", "--show-prefix")
	if err != nil {
		return false
	}
	if prefix = strings.TrimSuffix(prefix, "\n"); prefix != "" {
		args = append([]string{"-C", prefix}, args...)
	}
	return w.list(args...)
}
