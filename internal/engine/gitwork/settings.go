package gitwork

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
)

// dir returns a path in the git directory that all worktrees share.
func (w *work) dir(name string) string {
	path, err := w.git(w.Dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil || path == "" {
		return ""
	}
	return filepath.Join(strings.TrimSuffix(path, "\n"), name)
}

// sets adds settings of the repository's configuration.
func (w *work) sets(keys ...string) { w.setsIn("config", keys...) }

func (w *work) setsIn(file string, keys ...string) {
	if path := w.dir(file); path != "" {
		w.setsFile(path, keys...)
	}
}

func (w *work) setsFile(path string, keys ...string) {
	at := slices.IndexFunc(w.Config, func(s Settings) bool { return s.File == path })
	if at < 0 {
		at = len(w.Config)
		w.Config = append(w.Config, Settings{File: path})
	}
	for _, k := range keys {
		if c := &w.Config[at]; !slices.Contains(c.Keys, k) {
			c.Keys = append(c.Keys, k)
		}
	}
}

// tracks adds the settings of a new branch that tracks another, if it does.
func (w *work) tracks(branch, start string) {
	auto, _ := w.git(w.Dir, "config", "--get", "branch.autosetupmerge")
	auto = strings.TrimSpace(auto)
	full, _ := w.git(w.Dir, "rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options",
		orHead(start))
	remote := strings.HasPrefix(strings.TrimSpace(full), "refs/remotes/")
	local := strings.HasPrefix(strings.TrimSpace(full), "refs/heads/")
	switch {
	case w.has("--no-track"):
	case w.has("-t", "--track"), remote && auto != "false", auto == "always" && local, auto == "inherit" && local:
		w.sets("branch." + branch)
	case w.Later && full == "" && start != "":
		w.sets("branch." + branch)
	}
}

func (w *work) config() {
	ops := w.operands
	if len(ops) > 0 && slices.Contains([]string{"get", "list", "get-color", "get-colorbool"}, ops[0]) && len(ops) < 3 &&
		!strings.Contains(ops[0], ".") {
		return
	}
	if len(ops) > 0 && slices.Contains([]string{"set", "unset", "rename-section", "remove-section", "edit"}, ops[0]) {
		if w.flags = append(w.flags, "--"+ops[0]); ops[0] == "set" {
			w.flags = append(w.flags, "--add")
		}
		ops = ops[1:]
	}
	writes := w.has("--add", "--replace-all", "--unset", "--unset-all", "--rename-section", "--remove-section", "-e",
		"--edit")
	if w.has("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool",
		"--blob") || !writes && len(ops) < 2 && w.Literal {
		return
	}
	key := "any setting"
	if len(ops) > 0 && !w.has("-e", "--edit") {
		key = ops[0]
	}
	switch {
	case w.has("--global"):
		w.setsFile(w.Global, key)
	case w.has("--system"):
	case w.has("-f", "--file"):
		w.setsFile(w.abs(w.value("-f", "--file")), key)
	case w.has("--worktree"):
		if path, err := w.git(w.Dir, "rev-parse", "--path-format=absolute", "--git-path",
			"config.worktree"); err == nil {
			w.setsFile(strings.TrimSpace(path), key)
		}
		w.setsIn("config", key)
	default:
		w.sets(key)
	}
}

func (w *work) remote() {
	if len(w.operands) < 2 || !slices.Contains([]string{"add", "rename", "remove", "rm", "set-url", "set-branches"},
		w.operands[0]) {
		if len(w.operands) == 0 || w.Literal {
			return
		}
	}
	name := "remotes"
	if len(w.operands) > 1 {
		name = "remote." + w.operands[1]
	}
	w.sets(name)
}

func (w *work) branch() {
	name := ""
	if len(w.operands) > 0 {
		name = w.operands[0]
	}
	switch {
	case w.has("-l", "--list", "--show-current", "-r", "-a", "--contains", "--merged", "--points-at", "--no-merged",
		"--no-contains") && !w.has("-d", "-D", "--delete"):
	case w.has("-m", "-M", "-c", "-C", "--move", "--copy"):
		for _, n := range orCurrent(w, w.operands) {
			w.sets("branch." + n)
		}
	case w.has("-u", "--set-upstream-to", "--unset-upstream", "--edit-description"):
		w.sets("branch." + orCurrent(w, w.operands)[0])
	case w.has("-d", "-D", "--delete"):
		for _, n := range w.operands {
			w.sets("branch." + n) // git writes the file even if there is nothing to remove
		}
	case name != "":
		start := ""
		if len(w.operands) > 1 {
			start = w.operands[1]
		}
		w.tracks(name, start)
	}
}

// orCurrent returns names, or the current branch if there are none.
func orCurrent(w *work, names []string) []string {
	if len(names) > 1 || len(names) == 1 && !w.has("-m", "-M", "--move") {
		return names
	}
	head, err := w.git(w.Dir, "symbolic-ref", "--short", "--quiet", "HEAD")
	if err != nil {
		return append([]string{"HEAD"}, names...)
	}
	return append([]string{strings.TrimSpace(head)}, names...)
}

// upstream adds the settings of a command that sets an upstream if a flag says so.
func (w *work) upstream() {
	if w.has("-u", "--set-upstream") && (w.Args[0] != "fetch" || w.has("--set-upstream")) {
		w.sets("branch." + orCurrent(w, nil)[0])
	}
}

func (w *work) init() {
	dir := w.Dir
	if len(w.operands) > 0 {
		dir = w.abs(w.operands[0])
	}
	at := filepath.Join(dir, ".git")
	switch {
	case w.has("--bare"):
		at = dir
	case w.has("--separate-git-dir"):
		w.Creates = append(w.Creates, w.abs(w.value("--separate-git-dir")))
	}
	if _, err := os.Lstat(filepath.Join(at, "HEAD")); err == nil {
		w.setsFile(filepath.Join(at, "config"), "core")
		return
	}
	w.Creates = append(w.Creates, at)
	w.copies()
}

// copies adds the files that a command copies into a git directory that it creates.
func (w *work) copies() {
	if t := w.value("--template"); t != "" {
		w.Copies = append(w.Copies, "hooks and settings from "+t)
	}
	if c := w.value("-c", "--config"); c != "" && w.Args[0] == "clone" {
		w.Copies = append(w.Copies, "the setting "+c)
	}
}

func (w *work) clone() {
	if len(w.operands) == 0 {
		return
	}
	from := strings.TrimSuffix(strings.TrimRight(w.operands[0], "/"), "/.git")
	dir := strings.TrimSuffix(from[strings.LastIndexAny(from, "/:")+1:], ".git")
	if len(w.operands) > 1 {
		dir = w.operands[1]
	} else if w.has("--bare", "--mirror") {
		dir += ".git"
	}
	if w.has("--bare", "--mirror") {
		w.Creates = append(w.Creates, w.abs(dir))
		return
	}
	if entries, err := os.ReadDir(w.abs(dir)); err == nil && len(entries) > 0 {
		return // git rejects it
	}
	w.Creates = append(w.Creates, filepath.Join(w.abs(dir), ".git"))
	w.Files = append(w.Files, w.abs(dir))
	w.copies()
}

func (w *work) maintenance() {
	if len(w.operands) > 0 && slices.Contains([]string{"start", "stop", "register", "unregister"}, w.operands[0]) {
		w.sets("maintenance")
		w.setsFile(w.Global, "maintenance.repo")
	}
}

// links adds the changes for moved or removed submodules among paths.
func (w *work) links(paths []string) {
	text, err := w.git(w.Dir, append([]string{"ls-files", "-s", "-z", "--full-name", "--"}, paths...)...)
	if err != nil {
		return
	}
	for line := range strings.SplitSeq(text, "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(meta, "160000 ") {
			w.modules("submodule." + name)
		}
	}
}

// modules adds the settings of submodules, and of their repositories.
func (w *work) modules(key string) {
	w.Files = append(w.Files, filepath.Join(w.Top, ".gitmodules"))
	w.sets(key)
	w.moduleConfigs()
}

// moduleConfigs adds the configuration of submodule repositories, which has the location of their worktree.
func (w *work) moduleConfigs() {
	filepath.WalkDir(w.dir("modules"), func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && slices.Contains([]string{"objects", "refs", "logs", "hooks", "info"}, d.Name()):
			return filepath.SkipDir
		case d.Name() == "config":
			w.setsFile(path, "core.worktree")
		}
		return nil
	})
}

func (w *work) submodule() {
	sub := ""
	if len(w.operands) > 0 {
		sub = w.operands[0]
	}
	switch sub {
	case "add":
		w.Files = append(w.Files, filepath.Join(w.Top, ".gitmodules"))
		w.sets("submodule")
		w.createsModule(cmp.Or(w.value("--name"), w.addedPath()))
	case "init":
		w.sets("submodule")
	case "update":
		w.update()
	case "deinit", "sync", "set-url", "set-branch", "absorbgitdirs":
		w.modules("submodule")
		if sub != "sync" {
			w.Files = append(w.Files, w.submodulePaths()...)
		}
	}
}

// update adds the changes of git submodule update: settings of new submodules, and files of the others.
func (w *work) update() {
	text, err := w.git(w.Top, "config", "-f", ".gitmodules", "--name-only", "--get-regexp", `\.path$`)
	if err != nil {
		return
	}
	for key := range strings.Lines(text) {
		name := strings.TrimSuffix(strings.TrimSpace(key), ".path")
		if _, err := w.git(w.Top, "config", "--get", name+".url"); err != nil && w.has("--init") {
			w.sets(name)
		}
		w.createsModule(strings.TrimPrefix(name, "submodule."))
	}
	w.moduleConfigs()
	for _, path := range w.submodulePaths() {
		entries, err := os.ReadDir(path)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Name() != ".git" {
				w.Files = append(w.Files, filepath.Join(path, e.Name()))
			}
		}
	}
}

// createsModule adds the git directory of a submodule, if it doesn't exist.
func (w *work) createsModule(name string) {
	dir := w.dir(filepath.Join("modules", name))
	if _, err := os.Lstat(dir); dir != "" && name != "" && err != nil {
		w.Creates = append(w.Creates, dir)
	}
}

// addedPath returns the path of a submodule that is added, from the top of the worktree.
func (w *work) addedPath() string {
	if len(w.operands) < 2 {
		return ""
	}
	from := strings.TrimSuffix(strings.TrimRight(w.operands[1], "/"), "/.git")
	path := strings.TrimSuffix(from[strings.LastIndexAny(from, "/:")+1:], ".git")
	if len(w.operands) > 2 {
		path = w.operands[2]
	}
	path, err := filepath.Rel(w.Top, w.abs(path))
	if err != nil {
		return ""
	}
	return path
}

func (w *work) submodulePaths() (out []string) {
	text, _ := w.git(w.Top, "ls-files", "-s", "-z", "--full-name")
	for line := range strings.SplitSeq(text, "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(meta, "160000 ") {
			out = append(out, filepath.Join(w.Top, name))
		}
	}
	return out
}

func (w *work) worktree() {
	if len(w.operands) == 0 {
		return
	}
	switch rest := w.operands[1:]; w.operands[0] {
	case "add":
		branch, start := w.value("-b", "-B"), ""
		if len(rest) > 1 {
			start = rest[1]
		}
		if branch == "" && len(rest) > 0 {
			branch = filepath.Base(rest[0])
			if start != "" && w.Top != "" && w.commit(start) == "" {
				branch, start = start, w.guessed(start)
			}
		}
		if branch != "" && (start != "" || w.has("--track", "--guess-remote")) {
			w.tracks(branch, start)
		}
	case "remove", "move":
		for _, path := range rest[:min(1, len(rest))] {
			at := w.abs(path)
			if w.Files = append(w.Files, at); w.operands[0] == "move" && len(rest) > 1 {
				w.Moves = append(w.Moves, [2]string{at, w.abs(rest[1])})
			}
			w.Git = append(w.Git, w.adminOf(at))
		}
	case "prune", "repair":
		if dir := w.dir("worktrees"); w.operands[0] == "repair" || w.stale(dir) {
			w.Git = append(w.Git, dir)
		}
	}
}

// adminOf returns git's directory for a linked worktree.
func (w *work) adminOf(worktree string) string {
	own := w.dir("worktrees")
	if dir, ok := gitconfig.Pointer(filepath.Join(worktree, ".git"), "gitdir: "); ok && filepath.Dir(dir) == own {
		return dir
	}
	return own
}

// stale reports whether one of the linked worktrees no longer exists.
func (w *work) stale(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		worktree, ok := gitconfig.Pointer(filepath.Join(dir, e.Name(), "gitdir"), "")
		_, err := os.Lstat(worktree)
		return !ok || err != nil
	})
}

// RunsPrograms reports whether a setting can make git run a program, or read settings from elsewhere.
func RunsPrograms(key string) bool {
	section, rest, _ := strings.Cut(strings.ToLower(key), ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "alias", "include", "includeif", "filter", "credential", "pager", "mergetool", "difftool", "browser", "man",
		"tar", "hook", "gpg", "sequence", "any setting":
		return true
	}
	switch name {
	case "hookspath", "fsmonitor", "sshcommand", "editor", "pager", "askpass", "gitproxy", "attributesfile",
		"alternaterefscommand",
		"external", "textconv", "command", "driver", "cmd", "helper", "program", "receivepack", "uploadpack", "vcs",
		"proxy", "diffhelper", "update", "templatedir", "packobjectshook", "clean", "smudge", "process":
		return true
	}
	return false
}
