package tooltest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/adze-dev/adze/tool"
)

// Stories runs every file that matches pattern, each as a subtest in a new directory. A story is a txtar archive: its
// comment is a script with one command per line, and its files are the initial files. build makes the executor whose
// tools are called.
//
//	call NAME JSON    run a tool; $WORK in the JSON is the directory. It must succeed, unless the next command is
//	                  error, denied or dry
//	error 'TEXT'      the call before must have failed, with TEXT in its message
//	denied 'TEXT'     the call before must have been denied, with TEXT in its message
//	type TYPE         the call before must have failed with this error type
//	content 'TEXT'    the content for the model must contain TEXT; ! content 'TEXT': must not
//	display 'TEXT'    the display's JSON must contain TEXT; ! display 'TEXT': must not
//	same FILE         the content for the model must be exactly FILE ($WORK in FILE is the directory)
//	is FILE TEXT      FILE must contain TEXT, with escapes as below
//	cmp A B           two files must be equal
//	exists PATH       the path must exist; ! exists PATH: must not
//	write FILE TEXT   change a file without the tools; \n, \r, \t and \xNN are escapes
//	mkdir, rm, link TARGET NAME, chmod MODE PATH
//
// TEXT may be quoted with ' or `. A line that begins with # is a comment.
func Stories(t *testing.T, pattern string, build func(t *testing.T, dir string) *tool.Executor) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories match %s (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			playAll(t, archive, build)
		})
	}
}

// playAll runs the scenes of a story. A comment line before a command starts a scene, in its own new directory.
func playAll(t *testing.T, archive *txtar.Archive, build func(t *testing.T, dir string) *tool.Executor) {
	for _, sc := range scenes(string(archive.Comment)) {
		t.Run(sc.title, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				put(t, filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data)
			}
			s := &story{t: t, dir: dir, x: build(t, dir)}
			s.play(sc.lines)
		})
	}
}

type scene struct {
	title string
	lines []line
}

type line struct {
	number int
	text   string
}

func scenes(script string) []scene {
	var all []scene
	fresh := true
	for i, text := range strings.Split(script, "\n") {
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			fresh = true
		case strings.HasPrefix(text, "#"):
			if fresh {
				all = append(all, scene{title: strings.TrimSpace(strings.TrimLeft(text, "# "))})
			}
			fresh = false
		default:
			if len(all) == 0 {
				all = append(all, scene{title: "story"})
			}
			fresh = false
			last := &all[len(all)-1]
			last.lines = append(last.lines, line{i + 1, text})
		}
	}
	return all
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

type story struct {
	t    *testing.T
	dir  string
	x    *tool.Executor
	last *tool.Outcome
}

func (s *story) play(lines []line) {
	for i, l := range lines {
		next := ""
		if i+1 < len(lines) {
			next, _, _ = strings.Cut(lines[i+1].text, " ")
		}
		if err := s.do(l.text, next); err != nil {
			s.t.Fatalf("line %d: %s\n%v", l.number, l.text, err)
		}
	}
}

func (s *story) do(text, next string) error {
	not := strings.HasPrefix(text, "! ")
	verb, rest, _ := strings.Cut(strings.TrimPrefix(text, "! "), " ")
	rest = strings.TrimSpace(rest)
	if verb == "call" {
		return s.call(rest, next)
	}
	if s.last == nil && (verb == "content" || verb == "display" || verb == "error" || verb == "denied" ||
		verb == "type" || verb == "same") {
		return fmt.Errorf("there was no call before")
	}
	switch verb {
	case "error", "denied":
		return s.failed(verb, unquote(rest))
	case "type":
		return s.failedAs(rest)
	case "content":
		return holds(s.last.Result.Text(), s.expand(unquote(rest)), not)
	case "display":
		raw, err := json.Marshal(s.last)
		if err != nil {
			return err
		}
		var shown struct{ ReturnDisplay json.RawMessage }
		if err := json.Unmarshal(raw, &shown); err != nil {
			return err
		}
		return holds(string(shown.ReturnDisplay), s.expand(unquote(rest)), not)
	case "same":
		want, err := os.ReadFile(s.path(rest))
		return sameText(s.last.Result.Text(), s.expand(string(want)), err)
	}
	return s.doFile(verb, rest, not)
}

func (s *story) call(rest, next string) error {
	name, args, _ := strings.Cut(rest, " ")
	batch := s.x.Batch(s.t.Context())
	batch.Add(tool.Call{Name: name, Args: expand(args, s.dir)})
	s.last = &batch.Wait()[0]
	if next != "error" && next != "denied" && next != "type" && s.last.Status != tool.StatusSuccess {
		return fmt.Errorf("the call ended with status %s: %s", s.last.Status, s.last.Result.Text())
	}
	return nil
}

func (s *story) failed(verb, want string) error {
	if string(s.last.Status) != verb {
		return fmt.Errorf("the call ended with status %s: %s", s.last.Status, s.last.Result.Text())
	}
	return holds(s.last.Error.Message, s.expand(want), false)
}

func (s *story) failedAs(want string) error {
	if s.last.Error == nil || string(s.last.Error.Type) != want {
		return fmt.Errorf("the call ended with status %s, error %+v", s.last.Status, s.last.Error)
	}
	return nil
}

func (s *story) expand(text string) string { return strings.ReplaceAll(text, "$WORK", s.dir) }

func (s *story) path(name string) string {
	name = s.expand(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, filepath.FromSlash(name))
}

func holds(text, want string, not bool) error {
	if strings.Contains(text, want) == not {
		verb := "does not contain"
		if not {
			verb = "holds"
		}
		return fmt.Errorf("the text %s %q:\n%s", verb, want, text)
	}
	return nil
}

func sameText(got, want string, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("got:\n%q\nwant:\n%q", got, want)
	}
	return err
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '`') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
