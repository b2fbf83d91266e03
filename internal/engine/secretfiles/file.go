package secretfiles

import (
	"path/filepath"
	"slices"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// file is a file, or a link to one, that is hidden or may become hidden without a change in its directory.
type file struct {
	path    string
	link    bool
	asked   bool // Hide asked whether git tracks it
	tracked bool // the answer
	hide    bool // the result of Hide
	unknown int  // the generation of repos in which no index has it
}

// ask calls Hide for a file; nil if it is never hidden.
func (t *tree) ask(path string, link bool) *file {
	f := file{path: path, link: link}
	t.decide(&f)
	if !f.hide && !f.asked {
		return nil
	}
	kept := f
	return &kept
}

func (t *tree) decide(f *file) {
	f.asked = false
	tracked := func() bool {
		if !f.asked {
			f.asked, f.tracked = true, t.isTracked(f)
		}
		return f.tracked
	}
	f.hide = t.options.Hide(f.path, tracked)
}

// isTracked reports whether git tracks a file. For a link, the target counts, because git only tracks the link itself.
func (t *tree) isTracked(f *file) bool {
	target, ok := t.target(f)
	return ok && t.targetTracked(f, target)
}

func (t *tree) targetTracked(f *file, target string) bool {
	if f.unknown == t.repos.generation && !f.link {
		return false
	}
	listed, tracked := t.repos.tracked(target)
	if f.unknown = 0; !listed {
		f.unknown = t.repos.generation
	}
	return tracked
}

// target returns the file that would be read, if commands could read it otherwise.
func (t *tree) target(f *file) (path string, ok bool) {
	if !f.link {
		return f.path, true
	}
	path, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return "", false
	}
	if _, inside := names.Within(path, t.places); !inside {
		return "", false
	}
	st, err := lstat(path)
	return path, err == nil && st.kind == kindFile
}

// hidden returns the files to hide now, or why they aren't known.
func (t *tree) hidden() (paths []string, problem string) {
	if t.failed != "" {
		problem = t.failed
		if t.remedy == remedyCompare {
			t.failed = ""
		}
		t.lost = t.remedy == remedyWalk
		return nil, problem
	}
	t.repos.refresh()
	list := t.list[:0]
	for f := range t.files {
		target, ok := t.target(f)
		if f.asked && f.tracked != (ok && t.targetTracked(f, target)) {
			t.decide(f)
		}
		if ok && f.hide && readable(target) {
			list = append(list, target)
		}
	}
	slices.Sort(list)
	t.list = slices.Compact(list)
	if len(t.list) > t.options.Most {
		return nil, "the workspace has more than " + humanize.Number(t.options.Most) + " files to hide"
	}
	return t.list, ""
}
