//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/tool"
)

// pathState is what a full copy has at a path.
type pathState struct {
	is   string
	mode fs.FileMode // of a file or a directory
	text []byte
}

// fullCopy is everything in a directory, by relative path.
type fullCopy map[string]pathState

func copyOf(t *testing.T, dir string) fullCopy {
	t.Helper()
	all := fullCopy{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		switch {
		case e.IsDir():
			all[name] = pathState{is: "dir", mode: info.Mode().Perm()}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[name] = pathState{is: "link:" + target}
			return err
		default:
			b, err := os.ReadFile(path)
			all[name] = pathState{fmt.Sprintf("sha256:%x", sha256.Sum256(b)), info.Mode().Perm(), b}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// write makes a directory with the files and links of a copy.
func (c fullCopy) write(t *testing.T, dir string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(c)) {
		s, path := c[name], filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, ok := strings.CutPrefix(s.is, "link:"); ok {
			err = os.Symlink(target, path)
		} else if s.is != "dir" {
			err = os.WriteFile(path, s.text, s.mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inGit returns what git knows of a copy: no directories, and of modes only the executable bit.
func (c fullCopy) inGit() string {
	return c.lines(func(s *pathState) bool { s.mode &= 0o100; return s.is != "dir" })
}

func (c fullCopy) all() string { return c.lines(func(*pathState) bool { return true }) }

func (c fullCopy) lines(use func(*pathState) bool) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if s := c[name]; use(&s) {
			fmt.Fprintf(&out, "%s %s %o\n", name, s.is, s.mode)
		}
	}
	return out.String()
}

// changesOf returns the lines about two copies that a list of changes must have.
func changesOf(before, after fullCopy) []string {
	filled := map[string]bool{}
	paths := map[string]bool{}
	for _, all := range []fullCopy{before, after} {
		for path := range all {
			if b, a := before[path], after[path]; b.is != a.is || b.mode != a.mode {
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

// listedChanges returns the same lines about a list of changes. A renamed file is a deleted and a created one.
func listedChanges(c tool.Changes, dir string) []string {
	var out []string
	for _, one := range c.List {
		path := strings.TrimPrefix(one.Path, dir+"/")
		switch {
		case one.Discarded:
		case one.Kind == tool.Renamed:
			out = append(out, fmt.Sprintf("%s: %s > ", strings.TrimPrefix(one.From, dir+"/"), one.Before), fmt.Sprintf("%s:  > %s", path, one.After))
		case one.ModeBefore != one.ModeAfter:
			out = append(out, fmt.Sprintf("%s: %s > %s %o > %o", path, one.Before, one.After, one.ModeBefore, one.ModeAfter))
		default:
			out = append(out, fmt.Sprintf("%s: %s > %s", path, one.Before, one.After))
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
		switch r.IntN(11) {
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
		case 9:
			step = fmt.Sprintf("printf 'a\\0%d' > %s", r.IntN(1000), name())
		case 10:
			step = fmt.Sprintf("for i in 1 2 3 4 5 6 7 8 9; do echo $i; done > %s", name())
		}
		steps = append(steps, step+" 2>/dev/null")
	}
	return strings.Join(append(steps, "true"), "; ")
}

// copyingModel makes one call in each turn, and copies the workspace before the first and after each.
type copyingModel struct {
	t        *testing.T
	dir      string
	commands []string
	copies   []fullCopy
}

func (m *copyingModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	turn := len(m.copies)
	m.copies = append(m.copies, copyOf(m.t, m.dir))
	if turn == len(m.commands) {
		(&busyModel{}).send(w, `{"content":"done"}`, `"stop"`)
		return
	}
	args, _ := json.Marshal(map[string]string{"command": m.commands[turn]})
	text, _ := json.Marshal(string(args))
	(&busyModel{}).send(w, fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":`+
		`{"name":"run_shell_command","arguments":%s}}]}`, turn, text), `"tool_calls"`)
}

// randomSession runs random commands in one session.
type randomSession struct {
	t         *testing.T
	home, dir string
	model     *copyingModel
}

func (s *randomSession) adze(args ...string) (out string, err error) {
	cmd := exec.Command("adze", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.home, "ADZE_HOME="+s.home, "OPENAI_API_KEY=", "OPENAI_MODEL=m", "ADZE_LOCAL_MODELS=off")
	if s.model != nil {
		server := httptest.NewServer(s.model)
		defer server.Close()
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL)
	}
	b, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("adze %q: exit code %d: %s", args, exit.ExitCode(), exit.Stderr)
		if exit.ExitCode() == 3 && args[0] == "diff" { // a mode isn't in a patch
			err = nil
		}
	}
	return string(b), err
}

// changes returns the changes of each call in the output of stream-json.
func (s *randomSession) changes(out string) []tool.Changes {
	var all []tool.Changes
	for line := range strings.Lines(out) {
		var m struct {
			Type    string
			Message struct {
				Content []struct {
					Type    string
					Content any
					IsError bool `json:"is_error"`
					Changes tool.Changes
				}
			}
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Type != "user" {
			continue
		}
		for _, c := range m.Message.Content {
			if c.IsError {
				s.t.Fatalf("%v", c.Content)
			}
			if c.Type == "tool_result" {
				all = append(all, c.Changes)
			}
		}
	}
	return all
}

// applied applies a patch to a copy.
func (s *randomSession) applied(to fullCopy, patch string) fullCopy {
	dir := s.t.TempDir()
	to.write(s.t, dir)
	if patch == "" {
		return to
	}
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git apply: %s\n%s", out, patch)
	}
	return copyOf(s.t, dir)
}

// check compares everything that is known about the commands of a session with the copies.
func (s *randomSession) check(changes []tool.Changes, tried bool) {
	m, t := s.model, s.t
	s.model = nil
	if len(changes) != len(m.commands) || len(m.copies) != len(m.commands)+1 {
		t.Fatalf("%d lists and %d copies of %d commands", len(changes), len(m.copies), len(m.commands))
	}
	patch, err := s.adze("diff")
	if got, want := s.applied(m.copies[0], patch).inGit(), m.copies[len(m.commands)].inGit(); err != nil || got != want {
		t.Fatalf("%v %q\nadze diff applied:\n%s\nwant\n%s", err, m.commands, got, want)
	}
	for i := len(m.commands) - 1; i >= 0; i-- {
		before, after, command := m.copies[i], m.copies[i+1], m.commands[i]
		want, got := changesOf(before, after), listedChanges(changes[i], s.dir)
		if !slices.Equal(want, got) || changes[i].Incomplete != "" || tried && changes[i].During {
			t.Fatalf("%s\nwant %s\ngot  %s\n%s", command, strings.Join(want, "\n     "), strings.Join(got, "\n     "), changes[i].Incomplete)
		}
		if len(want) == 0 {
			continue
		}
		patch, err := s.adze("diff", fmt.Sprint("call_", i))
		if got := s.applied(before, patch).inGit(); err != nil || got != after.inGit() {
			t.Fatalf("%v %s\nadze diff applied:\n%s\nwant\n%s", err, command, got, after.inGit())
		}
		if _, err = s.adze("undo", "--yes"); err != nil {
			t.Fatal(command, err)
		}
		if got := copyOf(t, s.dir).all(); got != before.all() {
			t.Fatalf("%s\nundone:\n%s\nwant\n%s", command, got, before.all())
		}
	}
}

// For random commands, tried or not, the changes are the difference of two full copies of the workspace, adze diff turns
// the first copy into the second, and adze undo restores the first.
func TestRandomChanges(t *testing.T) {
	for _, tried := range []bool{false, true} {
		t.Run(fmt.Sprint("tried=", tried), func(t *testing.T) {
			t.Parallel()
			const commands = 5 // of a session
			n := soak.Count(3, 1000/commands)
			args := []string{"--yolo", "--sandbox", "off"}
			if tried {
				if ok, err := canTry(); err != nil || !ok {
					t.Skip("commands can't be tried here: adze doctor says why")
				}
				args, n = []string{"--approval-mode", "auto-edit"}, soak.Count(2, 1000/commands)
			}
			r := rand.New(rand.NewPCG(40, 1))
			for range n {
				base, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				s := &randomSession{t: t, home: filepath.Join(base, "home"), dir: filepath.Join(base, "work")}
				for _, dir := range []string{s.home, s.dir} {
					if err := os.Mkdir(dir, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				s.model = &copyingModel{t: t, dir: s.dir}
				for range commands {
					s.model.commands = append(s.model.commands, randomCommand(r))
				}
				out, err := s.adze(append([]string{"-p", "go", "--output-format", "stream-json"}, args...)...)
				if err != nil {
					t.Fatal(err)
				}
				s.check(s.changes(out), tried)
			}
		})
	}
}
