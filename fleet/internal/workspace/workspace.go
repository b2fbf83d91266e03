// Package workspace makes the directories that tasks work in: one mirror for each repository, and a clone for each task that
// shares its objects.
//
//	w, err := dirs.Clone(ctx, repo, ref, name)
//	…
//	patch, err := w.Patch(ctx)
//
// It knows no tasks and no queue. The changes of a clone are read with a git directory of the worker's own, because the
// agent can write to the one in the clone.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/filelock"
	"github.com/adze-dev/adze/tool"
)

// Dirs is the directory of mirrors and clones.
type Dirs struct {
	Root string
	own  string // directory of this process's clones
	lock *os.File
}

// Open makes the directory of this process, and removes those of processes that no longer exist. A directory is made after
// its lock is held, so one whose lock is free has no process.
func Open(root string) (*Dirs, error) {
	work := filepath.Join(root, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(work, "w*"+lockSuffix)
	if err != nil {
		return nil, err
	}
	f.Close()
	lock, err := filelock.Try(f.Name())
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	d := &Dirs{Root: root, own: strings.TrimSuffix(f.Name(), lockSuffix), lock: lock}
	if err := os.Mkdir(d.own, 0o700); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, d.clean(work)
}

// lockSuffix follows the name of a directory in that of its lock.
const lockSuffix = ".lock"

// clean removes directories whose locks are free.
func (d *Dirs) clean(work string) error {
	list, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		gone := &Dirs{own: filepath.Join(work, e.Name())}
		if gone.lock, err = filelock.Try(gone.own + lockSuffix); err != nil {
			continue // in use
		}
		_ = gone.Close() // the next start tries again
	}
	return nil
}

// Close removes the clones of this process.
func (d *Dirs) Close() error {
	err := errors.Join(removeAll(d.own), d.lock.Close()) // Windows removes no open files
	if gone := os.Remove(d.own + lockSuffix); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// removeAll removes a directory, even if it has read-only directories.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Workspace is the clone of a task.
type Workspace struct {
	Dir  string // the agent's working directory
	Base string // base commit; "": the repository is empty

	own string // the worker's git directory
	top string
}

// emptyTree is git's name for a tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Clone makes a workspace. repo is a URL or a path, "" for an empty repository; ref "" is HEAD.
func (d *Dirs) Clone(ctx context.Context, repo, ref string) (*Workspace, error) {
	top, err := os.MkdirTemp(d.own, "t")
	if err != nil {
		return nil, err
	}
	w := &Workspace{Dir: filepath.Join(top, "repo"), own: filepath.Join(top, "git"), top: top}
	if err := d.fill(ctx, w, repo, ref); err != nil {
		return nil, errors.Join(err, w.Remove())
	}
	return w, nil
}

func (d *Dirs) fill(ctx context.Context, w *Workspace, repo, ref string) error {
	if repo == "" {
		return w.empty(ctx)
	}
	mirror, commit, err := d.mirror(ctx, repo, ref)
	if err != nil {
		return err
	}
	w.Base = commit
	if _, err := git(ctx, w.top, nil, "clone", "--quiet", "--shared", "--no-checkout", "--", mirror, w.Dir); err != nil {
		return err
	}
	if _, err := git(ctx, w.Dir, nil, "checkout", "--quiet", "--detach", commit); err != nil {
		return err
	}
	if err := w.identify(ctx); err != nil {
		return err
	}
	if _, err := git(ctx, w.top, nil, "init", "--quiet", "--bare", w.own); err != nil {
		return err
	}
	alternates := filepath.Join(w.own, "objects", "info", "alternates")
	if err := os.WriteFile(alternates, []byte(filepath.Join(mirror, "objects")+"\n"), 0o600); err != nil {
		return err
	}
	_, err = w.git(ctx, nil, "read-tree", commit)
	return err
}

// empty makes a workspace without files.
func (w *Workspace) empty(ctx context.Context) error {
	if _, err := git(ctx, w.top, nil, "init", "--quiet", w.Dir); err != nil {
		return err
	}
	if _, err := git(ctx, w.top, nil, "init", "--quiet", "--bare", w.own); err != nil {
		return err
	}
	return w.identify(ctx)
}

// identify sets the author of commits in the clone.
func (w *Workspace) identify(ctx context.Context) error {
	if _, err := git(ctx, w.Dir, nil, "config", "user.name", "Adze"); err != nil {
		return err
	}
	_, err := git(ctx, w.Dir, nil, "config", "user.email", "adze@localhost")
	return err
}

// git runs git with the worker's git directory on the files of the workspace.
func (w *Workspace) git(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	return git(ctx, w.Dir, input, append([]string{"--git-dir=" + w.own, "--work-tree=" + w.Dir}, args...)...)
}

// mirror returns the mirror of a repository, and the commit of a ref in it. It fetches if the ref is a name, or unknown.
func (d *Dirs) mirror(ctx context.Context, repo, ref string) (dir, commit string, err error) {
	sum := sha256.Sum256([]byte(repo))
	dir = filepath.Join(d.Root, "mirrors", hex.EncodeToString(sum[:10])+".git")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", "", err
	}
	lock, err := filelock.Open(ctx, dir+".lock")
	if err != nil {
		return "", "", fmt.Errorf("lock the mirror of %s: %w", repo, err)
	}
	defer lock.Close()
	fresh := false
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		part := dir + ".part"
		if err := removeAll(part); err != nil {
			return "", "", err
		}
		if _, err := git(ctx, filepath.Dir(dir), nil, "clone", "--quiet", "--mirror", "--", repo, part); err != nil {
			return "", "", fmt.Errorf("clone %s: %w", repo, err)
		}
		if err := os.Rename(part, dir); err != nil {
			return "", "", err
		}
		fresh = true
	}
	if ref == "" {
		ref = "HEAD"
	}
	if !fresh && !isHash(ref) {
		if err := d.fetch(ctx, dir, repo); err != nil {
			return "", "", err
		}
		fresh = true
	}
	if commit, err = resolve(ctx, dir, ref); err != nil && !fresh {
		if err := d.fetch(ctx, dir, repo); err != nil {
			return "", "", err
		}
		commit, err = resolve(ctx, dir, ref)
	}
	if err != nil {
		return "", "", fmt.Errorf("the repository %s has no ref %q\nUse a branch, a tag or a commit of it.", repo, ref)
	}
	return dir, commit, nil
}

func (d *Dirs) fetch(ctx context.Context, dir, repo string) error {
	if _, err := git(ctx, dir, nil, "fetch", "--quiet", "--no-auto-gc", "origin", "+refs/*:refs/*"); err != nil {
		return fmt.Errorf("fetch %s: %w", repo, err)
	}
	return nil
}

// isHash reports whether a ref is a full commit hash.
func isHash(ref string) bool {
	return len(ref) == 40 && strings.Trim(ref, "0123456789abcdef") == ""
}

func resolve(ctx context.Context, dir, ref string) (string, error) {
	out, err := git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// Patch returns the difference between the base and the files, as a binary diff: including commits, without ignored files.
func (w *Workspace) Patch(ctx context.Context) ([]byte, error) {
	if _, err := w.git(ctx, nil, "add", "--all", "--", "."); err != nil {
		return nil, err
	}
	if w.Base == "" {
		if _, err := w.git(ctx, nil, "hash-object", "-t", "tree", "-w", "--stdin"); err != nil {
			return nil, err
		}
	}
	return w.diff(ctx, "--binary", "--full-index")
}

func (w *Workspace) diff(ctx context.Context, flags ...string) ([]byte, error) {
	args := append([]string{"diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"}, flags...)
	return w.git(ctx, nil, append(args, cmp.Or(w.Base, emptyTree))...)
}

// Changes returns the files of the last Patch, with paths relative to the workspace.
func (w *Workspace) Changes(ctx context.Context) (tool.Changes, error) {
	out, err := w.diff(ctx, "--raw", "--numstat", "-z")
	var all tool.Changes
	at := map[string]int{}
	fields := strings.Split(string(out), "\x00")
	for i, f := range fields {
		if raw := strings.Fields(f); strings.HasPrefix(f, ":") && len(raw) == 5 && i+1 < len(fields) { // modes, hashes, status
			c := tool.Change{Path: fields[i+1], Kind: tool.Modified}
			switch {
			case raw[4] == "D":
				c.Kind = tool.Deleted
			case raw[1] == "120000":
				c.Kind = tool.LinkChanged
			case raw[4] == "A":
				c.Kind = tool.Created
			case raw[2] == raw[3]:
				c.Kind = tool.ModeChanged
			}
			at[c.Path] = len(all.List)
			all.List = append(all.List, c)
		} else if stat := strings.SplitN(f, "\t", 3); len(stat) == 3 {
			added, err := strconv.Atoi(stat[0])
			removed, err2 := strconv.Atoi(stat[1])
			if j, ok := at[stat[2]]; ok && err == nil && err2 == nil { // neither is a number for a binary file
				all.List[j].Lines = &tool.LineCount{Added: added, Removed: removed}
			}
		}
	}
	return all, err
}

// Apply applies a patch to the files.
func (w *Workspace) Apply(ctx context.Context, patch []byte) error {
	if len(patch) == 0 {
		return nil
	}
	_, err := w.git(ctx, patch, "apply", "--binary", "--whitespace=nowarn", "-")
	return err
}

// Remove removes the workspace.
func (w *Workspace) Remove() error { return removeAll(w.top) }
