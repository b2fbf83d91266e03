package trial

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// A temp directory is initially empty in a trial: files of other programs aren't for a command without approval. Other
// paths that the trial may read or change can be below it, such as a project in /tmp, and are mounted there.

// show creates the mount points in temp layers, and returns which of the mounts are read-only.
func (t *Trial) show(limits *sandbox.Limits) (paths []string) {
	var read []string
	if limits != nil {
		read = slices.Concat(limits.Read, limits.Execute)
	}
	for _, o := range t.last {
		if !o.Instead {
			continue
		}
		inside := func(path string) bool { return path != o.Lower && names.Below(path, o.Lower) }
		for _, path := range read {
			if inside(path) && !t.layered(path, o) && t.hole(o, path) == nil {
				paths = append(paths, path)
			}
		}
		for _, l := range slices.Concat(t.overlays(), t.last) {
			for _, path := range append(slices.Clone(l.Parts), l.Lower) {
				if inside(path) {
					_ = t.hole(o, path) // mounting reports the error
				}
			}
		}
	}
	return paths
}

// layered reports whether a path is in a layer below a temp layer.
func (t *Trial) layered(path string, temp sandbox.Overlay) bool {
	return slices.ContainsFunc(slices.Concat(t.overlays(), t.last), func(o sandbox.Overlay) bool {
		return o.Lower != temp.Lower && names.Below(o.Lower, temp.Lower) && names.Below(path, o.Lower)
	})
}

// overlays returns the overlays whose changes can be kept.
func (t *Trial) overlays() (out []sandbox.Overlay) {
	for _, l := range t.layers {
		out = append(out, l.Overlay)
	}
	return out
}

// hole creates the directory or file in a temp layer that a path is mounted on. Commands of earlier trials wrote there:
// obstacles are removed, and no link is followed.
func (t *Trial) hole(o sandbox.Overlay, path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	upper, err := os.OpenRoot(o.Upper)
	if err != nil {
		return err
	}
	defer upper.Close()
	rel := strings.TrimPrefix(path, o.Lower+"/")
	for dir := range parents(rel) {
		if err := directory(upper, dir); err != nil {
			return err
		}
	}
	t.holes = append(t.holes, filepath.Join(o.Upper, rel))
	if st.IsDir() {
		return directory(upper, rel)
	}
	if have, err := upper.Lstat(rel); err == nil && have.Mode().IsRegular() {
		return nil
	}
	if err := upper.RemoveAll(rel); err != nil {
		return err
	}
	f, err := upper.OpenFile(rel, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// directory creates a directory, replacing anything else.
func directory(root *os.Root, name string) error {
	st, err := root.Lstat(name)
	if err == nil && st.IsDir() {
		return nil
	}
	if err == nil {
		err = root.RemoveAll(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.Mkdir(name, 0o755)
}

// parents returns the directories above a relative path, the outermost first.
func parents(rel string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i, c := range rel {
			if c == '/' && !yield(rel[:i]) {
				return
			}
		}
	}
}
