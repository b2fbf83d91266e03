package session

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// pathState is what a full copy has at a path.
type pathState struct {
	is   string
	mode fs.FileMode // of a file or a directory
}

// copied returns everything in the workspace.
func (d *desk) copied(t *testing.T) map[string]pathState {
	t.Helper()
	all := map[string]pathState{}
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == d.dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch s := (pathState{"dir", info.Mode().Perm()}); {
		case e.IsDir():
			all[path] = s
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[path] = pathState{is: "link:" + target}
			return err
		default:
			b, err := os.ReadFile(path)
			all[path] = pathState{fmt.Sprintf("sha256:%x", sha256.Sum256(b)), s.mode}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differences returns the lines about two copies that a list of changes must have.
func differences(before, after map[string]pathState) []string {
	filled := map[string]bool{}
	paths := map[string]bool{}
	for _, all := range []map[string]pathState{before, after} {
		for path := range all {
			if before[path] != after[path] {
				paths[path] = true
				filled[filepath.Dir(path)] = true
			}
		}
	}
	var out []string
	for path := range paths {
		b, a := before[path], after[path]
		if filled[path] && (b.is == "" && a.is == "dir" || b.is == "dir" && a.is == "") {
			continue
		}
		line := fmt.Sprintf("%s: %s > %s", path, b.is, a.is)
		if b.mode != a.mode && b.mode != 0 && a.mode != 0 {
			line += fmt.Sprintf(" %o > %o", b.mode, a.mode)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// asDifferences returns the same lines about a list of changes. A renamed file is a deleted and a created one.
func asDifferences(c tool.Changes) []string {
	var out []string
	for _, one := range c.List {
		switch {
		case one.Discarded:
		case one.Kind == tool.Renamed:
			out = append(out, fmt.Sprintf("%s: %s > ", one.From, one.Before), fmt.Sprintf("%s:  > %s", one.Path, one.After))
		case one.ModeBefore != one.ModeAfter:
			out = append(out, fmt.Sprintf("%s: %s > %s %o > %o", one.Path, one.Before, one.After, one.ModeBefore, one.ModeAfter))
		default:
			out = append(out, fmt.Sprintf("%s: %s > %s", one.Path, one.Before, one.After))
		}
	}
	slices.Sort(out)
	return out
}

// randomCommand returns a command of a few steps. Steps may fail.
func randomCommand(r *rand.Rand) string {
	name := func() string {
		names := []string{"a", "b", "c", "'d e'", "sub/a", "sub/b", "sub/deep/c", "other/a"}
		return names[r.IntN(len(names))]
	}
	dir := func() string { return []string{"sub", "sub/deep", "other", "empty"}[r.IntN(4)] }
	var steps []string
	for range 1 + r.IntN(5) {
		var step string
		switch r.IntN(9) {
		case 0, 1:
			step = fmt.Sprintf("printf '%d\\n' > %s", r.IntN(1000), name())
		case 2:
			step = fmt.Sprintf("printf 'more\\n' >> %s", name())
		case 3:
			step = "rm -rf " + []string{name(), dir()}[r.IntN(2)]
		case 4:
			step = "mkdir -p " + dir()
		case 5:
			step = fmt.Sprintf("mv -f %s %s", name(), name())
		case 6:
			step = fmt.Sprintf("chmod %o %s", []int{0o600, 0o644, 0o755}[r.IntN(3)], name())
		case 7:
			step = fmt.Sprintf("ln -sfn %s %s", []string{"a", "gone", "sub/b"}[r.IntN(3)], name())
		case 8:
			step = fmt.Sprintf("cp -f %s %s", name(), name())
		}
		steps = append(steps, step+" 2>/dev/null")
	}
	return strings.Join(append(steps, "true"), "; ")
}

// For random commands, tried or not, the changes are the difference of two full copies of the workspace.
func TestChangesAreTheDifference(t *testing.T) {
	skipWindows(t)
	for _, tried := range []bool{false, true} {
		t.Run(fmt.Sprint("tried=", tried), func(t *testing.T) {
			d := newDesk(t)
			n := soak.Count(60, 1000)
			if tried {
				d.withTrials(t)
				n = soak.Count(8, 1000)
			}
			s, _ := d.open(t, &Recording{})
			defer s.Close()
			if !tried {
				s.Policy.SetMode(permission.Yolo)
			}
			r := rand.New(rand.NewPCG(40, 1))
			for range n {
				command := randomCommand(r)
				before := d.copied(t)
				o := shell(t, s, command)
				if o.Error != nil || tried && o.Changes.During {
					if tried && o.Changes.During {
						t.Skip("commands can't be tried here: adze doctor says why")
					}
					t.Fatalf("%s: %+v", command, o.Error)
				}
				want, got := differences(before, d.copied(t)), asDifferences(o.Changes)
				if !slices.Equal(want, got) || o.Changes.Incomplete != "" {
					t.Fatalf("%s\nwant %s\ngot  %s\n%s", command, strings.Join(want, "\n     "), strings.Join(got, "\n     "), o.Changes.Incomplete)
				}
			}
		})
	}
}
