package gitwork

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// names are the flags of diffs that print only names.
var names = []string{"--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty"}

// commit resolves a revision. It returns "" for one that doesn't exist, or not yet.
func (w *work) commit(rev string) string {
	if rev == "-" {
		rev = "@{-1}"
	}
	if rev == "" || strings.HasPrefix(rev, "-") {
		return ""
	}
	id, err := w.git(w.Top, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(id)
}

// moving reports whether a revision may change by an earlier command of the line.
func (w *work) moving(rev string) bool {
	return w.Later && (rev == "-" || strings.Contains(rev, "@") || strings.Contains(rev, "HEAD") ||
		strings.Contains(rev, "stash") || w.commit(rev) == "")
}

// becomes adds the files that change if the worktree is switched to a revision.
func (w *work) becomes(rev string) {
	if w.moving(rev) {
		w.Tracked, w.Unseen = true, true
		return
	}
	to := w.commit(rev)
	switch from := w.commit("HEAD"); {
	case to == "":
		return // git doesn't know it either
	case from == "":
		w.list("ls-tree", "-r", "--name-only", "-z", "--full-tree", to)
	default:
		w.Tracked = !w.list(append([]string{"diff-tree", "-r"}, append(slices.Clone(names[:3]), from, to)...)...) ||
			w.Tracked
	}
	if w.Later {
		w.dirty() // it may be committed by then
	}
}

// dirty adds the tracked files that differ from the last commit.
func (w *work) dirty() {
	if w.commit("HEAD") != "" && !w.list(append(append([]string{"diff"}, names...), "HEAD")...) {
		w.Tracked = true
	}
}

// history adds all files that change in commits that only one side has. Both are revisions or ranges.
func (w *work) history(args ...string) {
	for _, a := range args {
		if w.moving(strings.Trim(a, "^.")) && a != "HEAD" && a != "^HEAD" {
			w.Tracked, w.Unseen = true, true
			return
		}
	}
	log := append([]string{"log", "--format=", "-m", "--name-only", "-z", "--no-renames", "--no-ext-diff",
		"--end-of-options"}, args...)
	if !w.list(append(log, "--")...) {
		w.Tracked = true
	}
}

func (w *work) checkout() {
	created := w.value("-b", "-B", "-c", "-C", "--create", "--force-create")
	if w.has("--orphan") || w.has("-p", "--patch", "--pathspec-from-file", "--recurse-submodules") || !w.Literal {
		w.Tracked = true
		return
	}
	if w.has("-f", "--force", "--discard-changes", "-m", "--merge") {
		w.dirty()
	}
	rev := ""
	if len(w.operands) > 0 {
		rev = w.operands[0]
	}
	remote := ""
	if created == "" && !w.dashes && rev != "" && w.commit(rev) == "" {
		remote = w.guessed(rev)
	}
	switch {
	case rev == "" && len(w.paths) == 0:
	case created != "":
		w.becomes(orHead(rev))
	case w.dashes && (rev == "" || len(w.paths) > 0):
		w.changes(rev, w.paths)
		return
	case w.commit(rev) == "" && !w.moving(rev) && remote != "":
		w.becomes(remote)
		w.tracks(rev, remote)
	case w.commit(rev) == "" && !w.moving(rev):
		w.changes("", w.operands)
		return
	case len(w.operands) > 1:
		w.changes(rev, w.operands[1:])
		return
	default:
		w.becomes(rev)
	}
	if w.has("-t", "--track") && created == "" && rev != "" {
		_, created, _ = strings.Cut(rev, "/")
	}
	if created != "" {
		w.tracks(created, rev)
	}
}

func orHead(rev string) string {
	if rev == "" {
		return "HEAD"
	}
	return rev
}

// guessed returns the remote branch that a checkout of an unknown name uses.
func (w *work) guessed(name string) string {
	if name == "" || w.has("--no-guess", "--detach", "-d") {
		return ""
	}
	text, err := w.git(w.Top, "for-each-ref", "--format=%(refname)", "refs/remotes/*/"+name)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// changes adds the files of pathspecs that differ from a revision, or from the index.
func (w *work) changes(rev string, paths []string) {
	// Unlike git diff, these list files that git doesn't know to be unchanged, and so writes again.
	args := append([]string{"diff-files"}, names...)
	if rev != "" {
		args[0] = "diff-index"
		if w.moving(rev) {
			w.Tracked = true
			return
		}
		if rev = w.commit(rev); rev == "" {
			return
		}
		args = append(args, rev)
	}
	if !w.listHere(append(append(args, "--"), paths...)...) {
		w.Tracked = true
	}
	if w.Later {
		w.Tracked = true
	}
}

func (w *work) restore() {
	switch {
	case w.has("-S", "--staged") && !w.has("-W", "--worktree"):
	case !w.Literal || w.has("-p", "--patch", "--pathspec-from-file"):
		w.Tracked = true
	default:
		w.changes(w.value("-s", "--source"), append(w.operands, w.paths...))
	}
}

func (w *work) reset() {
	if !w.has("--hard", "--merge", "--keep") {
		w.Tracked = w.has("--recurse-submodules") || !w.Literal
		return
	}
	w.dirty()
	if w.commit("HEAD") != "" {
		w.list(append(append([]string{"diff-index"}, names...), "HEAD")...) // see changes
	}
	if !w.Literal {
		w.Tracked = true
	} else if len(w.operands) > 0 {
		w.becomes(w.operands[0])
	}
}

func (w *work) stash() {
	sub := "push"
	if len(w.operands) > 0 {
		sub = w.operands[0]
	}
	switch sub {
	case "push", "save":
		w.dirty()
		if w.has("-u", "--include-untracked") {
			w.list("ls-files", "-o", "-z", "--full-name", "--exclude-standard")
		}
		if w.has("-a", "--all") {
			w.list("ls-files", "-o", "-z", "--full-name")
		}
	case "pop", "apply", "branch":
		rev, rest := "stash@{0}", w.operands[1:]
		if sub == "branch" && len(rest) > 0 {
			rest = rest[1:]
		}
		if len(rest) > 0 {
			if rev = rest[0]; strings.Trim(rev, "0123456789") == "" {
				rev = "stash@{" + rev + "}"
			}
		}
		if w.Later || !w.Literal {
			w.stashedNow()
			return
		}
		if w.commit(rev) == "" {
			return
		}
		w.list(append(append([]string{"diff"}, names...), rev+"^1", rev)...)
		w.list("ls-tree", "-r", "--name-only", "-z", "--full-tree", rev+"^3")
		if sub == "branch" {
			w.becomes(rev + "^1")
		}
	}
}

// stashedNow adds the files in a stash of the same line or an earlier one.
func (w *work) stashedNow() {
	w.dirty()
	w.list("ls-files", "-o", "-z", "--full-name", "--exclude-standard")
	if w.commit("stash@{0}") != "" {
		w.list(append(append([]string{"diff"}, names...), "stash@{0}^1", "stash@{0}")...)
	}
	w.Tracked = w.Tracked || !w.Literal
}

func (w *work) merge() {
	switch {
	case w.has("--continue", "--quit"):
	case w.has("--abort"):
		w.dirty()
	case !w.Literal:
		w.Tracked = true
	default:
		if w.has("--autostash") {
			w.dirty()
		}
		for _, rev := range orUpstream(w.operands) {
			w.history(rev, "^HEAD")
		}
	}
}

func orUpstream(revs []string) []string {
	if len(revs) == 0 {
		return []string{"@{upstream}"}
	}
	return revs
}

func (w *work) pull() {
	w.Tracked, w.Unseen = true, true
	w.upstream()
}

func (w *work) rebase() {
	if w.has("--quit", "--show-current-patch", "--edit-todo") {
		return
	}
	w.dirty()
	if w.has("--abort", "--continue", "--skip") {
		for _, name := range []string{"orig-head", "onto"} {
			path, _ := w.git(w.Top, "rev-parse", "--git-path", "rebase-merge/"+name)
			id, err := os.ReadFile(filepath.Join(w.Top, strings.TrimSuffix(path, "\n")))
			if filepath.IsAbs(path) {
				id, err = os.ReadFile(strings.TrimSuffix(path, "\n"))
			}
			if err != nil {
				w.Tracked = true
				return
			}
			w.history("HEAD..." + strings.TrimSpace(string(id)))
		}
		return
	}
	if !w.Literal || w.has("--root") {
		w.Tracked = true
		return
	}
	revs := w.operands
	if onto := w.value("--onto"); onto != "" {
		revs = append([]string{onto}, revs...)
	}
	for _, rev := range orUpstream(revs) {
		if rev = strings.TrimSuffix(rev, "..."); w.commit(rev) != "" || w.moving(rev) {
			w.history("HEAD..." + rev)
		}
	}
}

func (w *work) pick() {
	switch {
	case w.has("--quit"):
	case w.has("--abort", "--continue", "--skip"), !w.Literal:
		w.Tracked = true
	default:
		for _, rev := range w.operands {
			switch {
			case strings.Contains(rev, ".."):
				w.history(rev)
			case w.commit(rev) != "" || w.moving(rev):
				w.history(rev, "^"+rev+"^@")
			}
		}
	}
}

// apply asks git which files a patch changes.
func (w *work) apply() {
	if w.Args[0] == "apply" && w.has("--check", "--stat", "--numstat", "--summary", "--cached") && !w.has("--apply") {
		return
	}
	unknown := !w.Literal || len(w.operands)+len(w.paths) == 0
	args := []string{"apply", "--numstat", "-z"}
	for _, f := range []string{"-p", "--directory"} {
		if v, ok := w.values[f]; ok && f == "-p" {
			args = append(args, "-p"+v)
		} else if ok {
			args = append(args, f+"="+v)
		}
	}
	if w.has("-R", "--reverse") {
		args = append(args, "-R")
	}
	for _, file := range append(w.operands, w.paths...) {
		text, err := w.git(w.Dir, append(args, "--", w.abs(file))...)
		if unknown = unknown || err != nil; unknown {
			break
		}
		for line := range strings.SplitSeq(text, "\x00") {
			if parts := strings.SplitN(line, "\t", 3); len(parts) == 3 {
				w.Files = append(w.Files, filepath.Join(w.Top, parts[2]), w.abs(parts[2]))
			} else if line != "" { // the names of a rename
				w.Files = append(w.Files, filepath.Join(w.Top, line), w.abs(line))
			}
		}
	}
	if unknown {
		w.Tracked, w.Unseen = true, true
	}
}

func (w *work) mv() {
	all := append(w.operands, w.paths...)
	if !w.Literal || len(all) < 2 {
		w.Tracked = true
		return
	}
	sources, to := all[:len(all)-1], w.abs(all[len(all)-1])
	st, err := os.Stat(to)
	into := err == nil && st.IsDir()
	for _, s := range sources {
		from, at := w.abs(s), to
		if into {
			at = filepath.Join(to, filepath.Base(from))
		}
		w.Files = append(w.Files, from, at)
		w.Moves = append(w.Moves, [2]string{from, at})
	}
	w.links(sources)
}

func (w *work) rm() {
	paths := append(w.operands, w.paths...)
	switch {
	case w.has("--cached", "-n", "--dry-run"):
	case !w.Literal || w.has("--pathspec-from-file"):
		w.Tracked = true
	default:
		w.listHere(append([]string{"ls-files", "-z", "--full-name", "--"}, paths...)...)
		w.links(paths)
	}
}

// clean asks git what it would remove.
func (w *work) clean() {
	switch {
	case w.has("-n", "--dry-run", "-i", "--interactive") || !w.has("-f", "--force"):
		return
	case !w.Literal:
		w.Tracked = true
		return
	}
	args := []string{"-c", "core.quotepath=false", "clean", "-n"}
	for _, a := range w.Args[1:] {
		switch {
		case a == "--quiet":
			continue
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--"):
			a = strings.ReplaceAll(a, "q", "")
		}
		if a != "-" {
			args = append(args, a)
		}
	}
	text, err := w.git(w.Dir, args...)
	if err != nil {
		return
	}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Would remove "); ok {
			w.Files = append(w.Files, w.abs(strings.Trim(name, `"`)))
		}
	}
}

func (w *work) bisect() {
	if len(w.operands) == 0 || slices.Contains([]string{"log", "view", "visualize", "terms", "help"}, w.operands[0]) {
		return
	}
	w.Tracked = true
}

func (w *work) sparse() {
	if len(w.operands) == 0 || w.operands[0] == "list" || w.operands[0] == "check-rules" {
		return
	}
	w.Tracked = true
	w.setsIn("config", "core.sparseCheckout")
	w.setsIn("config.worktree", "core.sparseCheckout")
	w.Git = append(w.Git, w.dir("info")) // the file with the patterns
}
