package shell

import (
	"slices"
	"strings"
)

// The flags of git's looking commands. Flags that write (--output), run (--ext-diff, --textconv, --open-files-in-pager,
// --show-signature) or fetch are not here; abbreviations, which git understands, are unknown.
const (
	gitDiffFlags = " -abBDwpuszRWqrt -U: -S: -G: -l: -M? -C? -B? -X? --patch --no-patch --unified: --raw --stat? --numstat --shortstat --dirstat? --summary " +
		"--name-only --name-status --diff-filter: --color? --no-color --color-words? --word-diff? --word-diff-regex: --color-moved? --no-renames " +
		"--find-renames? --find-copies? --find-copies-harder --check --full-index --binary --abbrev? --break-rewrites? --pickaxe-all --pickaxe-regex " +
		"--relative? --no-relative --text --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --inter-hunk-context: " +
		"--function-context --exit-code --quiet --no-ext-diff --no-textconv --no-prefix --src-prefix: --dst-prefix: --line-prefix: --minimal --patience " +
		"--histogram --diff-algorithm: --anchored: --compact-summary --patch-with-stat --ignore-submodules? --ita-invisible-in-index --patch-with-raw "
	gitRevFlags = " -n: -# -g -i -E -F -P --max-count: --skip: --since: --after: --until: --before: --author: --committer: --grep: --grep-reflog: --all-match " +
		"--invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents: " +
		"--max-parents: --first-parent --not --all --branches? --tags? --remotes? --glob: --exclude: --reflog --ignore-missing --boundary --cherry " +
		"--cherry-mark --cherry-pick --left-only --right-only --left-right --walk-reflogs --merge --simplify-by-decoration --full-history --dense " +
		"--sparse --simplify-merges --ancestry-path? --date-order --author-date-order --topo-order --reverse --no-walk? --count --objects "
	gitLogFlags = gitDiffFlags + gitRevFlags + " -L: -c -m --oneline --graph --no-graph --decorate? --no-decorate --decorate-refs: --decorate-refs-exclude: --source --follow " +
		"--format: --pretty? --abbrev-commit --no-abbrev-commit --no-abbrev --date: --relative-date --parents --children --full-diff --log-size --cc " +
		"--no-notes --no-mailmap --mailmap --use-mailmap --no-expand-tabs --clear-decorations --show-pulls --diff-merges: --no-diff-merges --encoding: "
	gitRefFlags = " -l --list --sort: --format: --contains? --no-contains? --merged? --no-merged? --points-at? --column? --no-column --color? --no-color -i --ignore-case --omit-empty "
)

// gitSpecs are the subcommands of git that only look.
var gitSpecs = map[string]spec{
	"status": {flags: "-sbvz -u? --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? --ignored? --column? --no-column " +
		"--ahead-behind --no-ahead-behind --renames --no-renames --find-renames?", operands: listed},
	"log": {flags: gitLogFlags, operands: listed}, "show": {flags: gitLogFlags, operands: contents}, "whatchanged": {flags: gitLogFlags, operands: listed},
	"reflog": {flags: gitLogFlags, operands: listed, check: checkReflog}, "shortlog": {flags: gitRevFlags + " -s -n -e -c -w? --numbered --summary --email --group: --format:", operands: listed},
	"diff":       {flags: gitDiffFlags + " --cached --staged --merge-base --no-index --ours --theirs --base -1 -2 -3 --cc", operands: contents},
	"diff-tree":  {flags: gitLogFlags + " -t --root --stdin --no-commit-id --merge-base", operands: contents},
	"diff-index": {flags: gitDiffFlags + " --cached -m --merge-base", operands: contents}, "diff-files": {flags: gitDiffFlags + " -0 -1 -2 -3 --base --ours --theirs", operands: contents},
	"branch":       {flags: gitRefFlags + " -a -r -v --all --remotes --verbose --show-current --abbrev? --no-abbrev", operands: plain, check: checkBranch},
	"tag":          {flags: gitRefFlags + " -n?", operands: plain, check: checkListing},
	"for-each-ref": {flags: gitRefFlags + " --count: --shell --perl --python --tcl --exclude: --include-root-refs", operands: plain},
	"show-ref":     {flags: "-dhqs --head --heads --branches --tags --dereference --hash? --verify --quiet --abbrev? --exists", operands: plain},
	"remote":       {flags: "-v --verbose --all --push", operands: plain, check: checkRemote},
	"rev-parse":    {flags: "-q --quiet --verify --short? --abbrev-ref? --symbolic --symbolic-full-name --all --branches? --tags? --remotes? --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree --show-object-format? --git-path: --sq --not --revs-only --no-revs --flags --no-flags", operands: listed},
	"rev-list":     {flags: gitRevFlags + " --oneline --format: --pretty? --abbrev-commit --parents --children --timestamp --header --objects-edge --disk-usage? --no-commit-header --header", operands: listed},
	"merge-base":   {flags: "-a --all --octopus --independent --is-ancestor --fork-point", operands: plain},
	"name-rev":     {flags: "--tags --refs: --exclude: --all --name-only --no-undefined --always", operands: plain},
	"describe":     {flags: "--tags --all --always --long --abbrev: --match: --exclude: --contains --candidates: --exact-match --debug --first-parent", operands: plain},
	"ls-files":     {flags: "-cdmoisuztvfk -x: -X@ --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory --eol --deduplicate --exclude: --exclude-from@ --exclude-per-directory: --exclude-standard --error-unmatch --full-name --abbrev? --format: --sparse --debug", operands: listed},
	"ls-tree":      {flags: "-drtlz --name-only --name-status --full-name --full-tree --long --object-only --abbrev? --format:", operands: listed},
	"cat-file":     {flags: "-tspe --mailmap --use-mailmap --allow-unknown-type", operands: contents},
	"blame":        {flags: gitBlameFlags, operands: contents}, "annotate": {flags: gitBlameFlags, operands: contents},
	"grep":          {flags: "-aiIwvhHEGFPnlLzcoqpW -e: -f@ -A: -B: -C: -m: -# --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color? --no-color --break --heading --show-function --context: --after-context: --before-context: --function-context --max-count: --max-depth: --recursive --no-recursive --cached --untracked --no-index --no-exclude-standard --exclude-standard --and --or --not --all-match --quiet --threads: --no-textconv", operands: pattern},
	"stash":         {flags: gitLogFlags + " --include-untracked --only-untracked", operands: plain, check: checkSub("list", "show")},
	"worktree":      {flags: "-v -z --porcelain --verbose", operands: plain, check: checkSub("list")},
	"config":        {flags: "-lz --get --get-all --get-regexp --list --local --global --system --worktree --show-origin --show-scope --name-only --null --bool --int --path --type: --default: --includes --no-includes --all", operands: plain, check: checkConfig},
	"symbolic-ref":  {flags: "-q --quiet --short --recurse --no-recurse", operands: plain, most: 1, check: noGlobs},
	"count-objects": {flags: "-vH --verbose --human-readable"},
	"check-attr":    {flags: "-az --all --cached", operands: listed},
	"var":           {operands: plain, most: 1, check: checkVar},
	"check-ignore":  {flags: "-qvzn --quiet --verbose --non-matching --no-index", operands: listed},
	"cherry":        {flags: "-v --abbrev?", operands: plain},
	"version":       {flags: "--build-options"},
}

const gitBlameFlags = "-beflnpstwc -M? -C? -L: -S@ --root --show-stats --show-name --show-number --show-email --porcelain --line-porcelain --incremental --date: " +
	"--color-lines --color-by-age --abbrev: --since: --first-parent --reverse --ignore-rev: --no-progress --minimal --encoding:"

// gitQuiet are the subcommands that look at no file and no object, so that nothing configured can run.
var gitQuiet = []string{"version"}

// proveGit judges git: its own flags, then a subcommand with its flags.
func (c *Command) proveGit() Proof {
	words := c.Words[1:]
	dirs := c.Dirs
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		switch w := words[0]; {
		case w.Kind != Literal:
			return Proof{Why: notLiteral(w.Text)}
		case w.Text == "--no-pager" || w.Text == "-P" || w.Text == "--no-optional-locks" || w.Text == "--literal-pathspecs" || w.Text == "--no-replace-objects":
			words = words[1:]
		case w.Text == "-c" && len(words) > 1 && words[1].Kind == Literal && plainSetting(words[1].Text):
			words = words[2:]
		case w.Text == "-C" && len(words) > 1 && words[1].Kind == Literal:
			dirs = into(dirs, words[1].Text)
			words = words[2:]
		default:
			return Proof{Why: "git " + w.Text + " is not on the read-only list"}
		}
	}
	if len(words) == 0 || words[0].Kind != Literal {
		return Proof{Why: "the git subcommand can't be determined"}
	}
	name := words[0].Text
	s, ok := gitSpecs[name]
	if !ok {
		return unlisted("git " + name)
	}
	if dirs == nil {
		return Proof{Why: "the directory that git runs in is unknown"}
	}
	a, why := parseArgs(c, words[1:], flagSets()["git "+name], s)
	if why == "" {
		why = checkGit(name, s, a)
	}
	if why != "" {
		return Proof{Why: why}
	}
	return c.gitTouches(name, s, a, dirs)
}

// plainSetting reports whether git -c changes no more than how things look.
func plainSetting(s string) bool {
	name, value, set := strings.Cut(strings.ToLower(s), "=")
	section, _, _ := strings.Cut(name, ".")
	switch {
	case !set:
		return false
	case name == "core.pager" || section == "pager":
		return value == "cat" || value == "" || value == "false"
	case section == "color" || section == "column" || section == "advice":
		return true
	}
	return slices.Contains([]string{"core.quotepath", "core.abbrev", "log.date", "log.decorate", "diff.renames", "diff.noprefix", "diff.mnemonicprefix", "diff.context",
		"diff.renamelimit", "diff.algorithm", "core.precomposeunicode", "status.short", "status.branch", "blame.date", "grep.linenumber"}, name)
}

func checkGit(name string, s spec, a *args) string {
	if s.most > 0 && len(a.operands) > s.most || s.operands == nothing && len(a.operands) > 0 {
		return "git " + name + " with more arguments is not on the read-only list"
	}
	for _, f := range a.flags {
		switch f.name {
		case "--format", "--pretty":
			if strings.Contains(f.value.Text, "%G") || strings.Contains(f.value.Text, "signature") || !prettyFormat(name, f.value.Text) {
				return "the format " + f.value.Text + " may run a program"
			}
		case "--sort":
			if strings.Contains(f.value.Text, "signature") {
				return "sorting by " + f.value.Text + " may run a program"
			}
		case "--diff-merges": // remerge does the merge once more, in files of its own
			if !slices.Contains(strings.Fields("off none first-parent 1 separate m combined c dense-combined cc"), f.value.Text) {
				return "showing merges as " + f.value.Text + " may run a merge driver"
			}
		}
	}
	if s.check != nil {
		return s.check(a)
	}
	return ""
}

// prettyFormat reports whether a format says all itself: one that is a name may be configured.
func prettyFormat(name, format string) bool {
	if name != "log" && name != "show" && name != "rev-list" && name != "whatchanged" && name != "reflog" && name != "stash" && name != "diff-tree" {
		return true
	}
	return format == "" || strings.Contains(format, "%") || strings.HasPrefix(format, "format:") || strings.HasPrefix(format, "tformat:") ||
		slices.Contains([]string{"oneline", "short", "medium", "full", "fuller", "reference", "email", "raw", "mboxrd"}, format)
}

// gitTouches are the paths among the words: every operand may be one, also behind a colon (HEAD:path).
func (c *Command) gitTouches(name string, s spec, a *args, dirs []string) Proof {
	two := name == "diff" && len(a.operands) == 2 // outside a repository these are two folders, with -- or without
	apart := ""                                   // what is no folder: HEAD -- src, . ':!docs'
	switch {
	case two && a.ended == 1 || two && strings.HasPrefix(a.operands[0].Text, ":"):
		apart = a.operands[0].Text
	case two && strings.HasPrefix(a.operands[1].Text, ":"):
		apart = a.operands[1].Text
	}
	below := name == "grep" || a.has("--no-index") || two && apart == ""
	tracked := name == "grep" && !a.has("--untracked", "--no-index")
	var ts []Touch
	set := flagSets()["git "+name]
	for _, f := range a.flags {
		if set[f.name] == reading {
			ts = append(ts, Touch{Path: f.value.Text})
		}
		if f.name == "-L" && strings.Contains(f.value.Text, ":") && name != "blame" && name != "annotate" { // -L1,5:path
			ts = append(ts, Touch{Path: f.value.Text[strings.LastIndexByte(f.value.Text, ':')+1:]})
		}
	}
	files := a.operands
	if s.operands == pattern && len(files) > 0 && files[0].Kind == Literal && a.ended != 0 && !a.has("-e", "-f") {
		files = files[1:]
	}
	if s.operands == plain {
		files = nil
	}
	for _, w := range files {
		if below && (strings.HasPrefix(w.Text, ":/") || strings.HasPrefix(w.Text, ":(") && strings.Contains(w.Text, "top")) {
			return Proof{Why: "pathspec " + w.Text + " covers the whole repository"}
		}
		if strings.Count(w.Text, ":") > maxColons {
			return Proof{Why: "a git argument names too many paths to check"}
		}
		ts = append(ts, gitPaths(w, Touch{Below: below, Names: s.operands == listed && !below, Tracked: tracked})...)
	}
	if name == "grep" {
		ts = append(ts, Touch{Path: ".", Below: true, Tracked: tracked})
	} else {
		ts = append(ts, Touch{Path: ".", Names: true})
	}
	p := Proof{}
	var counted []Touch // from the top of the repository
	for _, t := range ts {
		if !c.place(&p, t, dirs) {
			return p
		}
		if t.Top {
			counted = append(counted, t)
		}
		if t.Top && !slices.Equal(dirs, []string{c.start}) && c.start != "" {
			c.place(&p, t, []string{c.start})
		}
	}
	for _, t := range c.gitShown() {
		if !c.place(&p, t, c.Dirs) {
			return p
		}
	}
	if !c.placeListed(&p) || !c.placeRedirs(&p) {
		return p
	}
	if !slices.Contains(gitQuiet, name) {
		p.Git, p.Trees = dirs, c.gitTrees(name, a, counted, dirs)
	}
	if apart != "" && !below {
		for _, d := range dirs {
			p.Unless = append(p.Unless, join2(d, apart)+"/.") // unless it is one
		}
	}
	return p
}

// gitEnding is the pattern of all names that a pathspec with a star in it means, since the star stands for slashes too;
// "" for a path without one. ok is false where it may mean anything.
func gitEnding(w Word) (pattern string, ok bool) {
	if w.Text == "" || strings.HasPrefix(w.Text, ":") || strings.Contains(w.Text, "..") || w.Kind == Glob && w.canBeFlag() { // a file may be called :!x
		return "", false
	}
	if star := strings.LastIndexAny(w.Text, "*?[]\\"); star >= 0 {
		return "*" + w.Text[star+1:], true
	}
	return "", true
}

// maxColons bounds the paths that one word may name: behind each colon begins another one, up to the word's end.
const maxColons = 64

// gitPaths are the paths that a word may name: itself, and what stands behind each colon of it (HEAD:path, :(icase)path),
// which git counts from the top of the repository. A star in it is git's to expand.
func gitPaths(w Word, t Touch) []Touch {
	one := func(text string, top bool) Touch {
		t := t
		t.Path, t.Top = text, top
		t.Glob = strings.ContainsAny(text, "*?[")
		t.Spec = t.Glob && w.Kind == Literal
		t.Names = t.Names && !t.Spec
		return t
	}
	texts := []string{w.Text}
	if strings.IndexByte(w.Text, '\\') >= 0 && !strings.ContainsAny(w.Text, "*?[") {
		texts = append(texts, unescaped(w.Text)) // a backslash alone makes it a pattern to git
	}
	var ts []Touch
	if strings.HasPrefix(w.Text, ":!") || strings.HasPrefix(w.Text, ":^") || strings.HasPrefix(w.Text, ":(exclude)") {
		return nil // what it leaves out
	}
	for _, text := range texts {
		ts = append(ts, one(text, false))
	}
	if w.Kind == Glob { // no file here may have such a name, and then git is given the pattern
		spec := ts[0]
		spec.Spec, spec.Names = true, false
		ts = append(ts, spec)
	}
	t.Below, t.Names, t.Tracked = false, false, false
	for _, text := range texts {
		for i := strings.IndexByte(text, ':'); i >= 0; i = strings.IndexByte(text, ':') {
			text = strings.TrimLeft(text[i+1:], "!^")
			if end := strings.IndexByte(text, ')'); strings.HasPrefix(text, "(") && end > 0 {
				text = text[end+1:]
			}
			ts = append(ts, one(strings.TrimLeft(text, "/"), true))
		}
	}
	return ts
}

// into is where -C leads from each of dirs. Nothing is cleaned away: the system goes through links.
func into(dirs []string, to string) []string {
	if strings.HasPrefix(to, "/") {
		return []string{to}
	}
	var out []string
	for _, d := range dirs {
		out = append(out, join2(d, to))
	}
	return out
}

// checkListing: branch and tag make what they are given, unless they are told to list.
func checkListing(a *args) string {
	if len(a.operands) > 0 && !a.has("-l", "--list") {
		// --contains and its kin take the next word.
		if len(a.operands) > 1 || !a.has("--contains", "--no-contains", "--merged", "--no-merged", "--points-at") {
			return "it may create " + a.operands[0].Text
		}
	}
	return ""
}

// checkBranch: before git 2.19, -l asked branch for a log of what it makes.
func checkBranch(a *args) string {
	named := slices.ContainsFunc(a.operands, func(w Word) bool { return !strings.ContainsAny(w.Text, "*?[") })
	if named && a.has("-l") && !a.has("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at") {
		return "it may create " + a.operands[0].Text
	}
	return checkListing(a)
}

func checkRemote(a *args) string {
	if len(a.operands) == 0 {
		return when(a.has("--all", "--push"), "git remote with this flag is not on the read-only list")
	}
	if len(a.operands) == 1 && a.operands[0].Text == "show" {
		return "" // their names alone
	}
	return when(a.operands[0].Text != "get-url" || len(a.operands) > 2, "git remote "+a.operands[0].Text+" changes or contacts a remote")
}

// checkVar: what git would be called by, and no program.
func checkVar(a *args) string {
	known := []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT", "GIT_DEFAULT_BRANCH"}
	return when(len(a.operands) != 1 || !slices.Contains(known, a.operands[0].Text), "git var is not on the read-only list")
}

func checkReflog(a *args) string {
	bad := len(a.operands) > 0 && a.operands[0].Kind != Literal || len(a.operands) > 0 && slices.Contains([]string{"expire", "delete", "drop", "write"}, a.operands[0].Text)
	return when(bad, "git reflog may delete entries")
}

// checkSub wants the first operand to be one of names.
func checkSub(names ...string) func(*args) string {
	return func(a *args) string {
		// git stash -p list stashes: the name must stand first.
		return when(!slices.Contains(names, a.first), "it is not on the read-only list")
	}
}

// checkConfig: two words set a value, unless one of the flags says that it is read.
func checkConfig(a *args) string {
	if a.late {
		return "git config takes its second argument as a value to set"
	}
	if why := noGlobs(a); why != "" {
		return why
	}
	if a.has("--get", "--get-all", "--get-regexp") || len(a.operands) > 0 && a.operands[0].Text == "get" {
		return ""
	}
	if len(a.operands) == 0 || len(a.operands) == 1 && a.operands[0].Text == "list" {
		return when(!a.has("-l", "--list") && len(a.operands) == 0, "git config is not on the read-only list")
	}
	if !strings.Contains(a.operands[0].Text, ".") {
		return "git config may take " + a.operands[0].Text + " as a subcommand" // edit, for one
	}
	return when(len(a.operands) > 1 || a.has("-l", "--list", "--default"), "git config may set a value")
}
