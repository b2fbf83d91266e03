package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/ignore"
	"github.com/adze-dev/adze/internal/workspace"
	"github.com/adze-dev/adze/tool"
)

// files is what the file tools share in one session.
type files struct {
	ws     *workspace.Workspace
	ignore *ignore.Rules
	seen   *workspace.Seen
	state  string // for the old content of files written in place

	contextNames []string // what context files are called
	offer        *offer
}

func newFiles(o Options) (*files, error) {
	open := func() (*workspace.Workspace, error) { return workspace.Open(append([]string{o.Dir}, o.AddDirs...)...) }
	if o.Imagined {
		open = func() (*workspace.Workspace, error) { return workspace.Imagine(o.Dir) }
	}
	ws, err := open()
	if err != nil {
		return nil, err
	}
	return &files{
		ws:     ws,
		ignore: ignore.New(ignore.Options{Roots: ws.Roots(), NoGit: o.NoGitIgnore, Custom: o.IgnoreFiles}),
		seen:   &workspace.Seen{AtFirstSight: o.AllRead},
		state:  o.State,

		contextNames: o.ContextNames,
		offer:        &offer{},
	}, nil
}

// at makes a parameter canonical, and refuses what an AI ignore file refuses. Beside an error that is not about the
// parameter itself the path says what the error is about.
func (f *files) at(a action, param, name string, kind ignore.Kind) (workspace.Path, error) {
	p, err := f.ws.Resolve(name)
	var bad *workspace.NameError
	if errors.As(err, &bad) {
		return p, tool.BadParam(param, "%v", bad)
	}
	if err != nil { // a file where a directory should be, links in a circle
		clean := filepath.Clean(name)
		return workspace.Path{Abs: clean, Rel: clean, Given: name}, a.failure(workspace.Path{Rel: clean}, err)
	}
	if !p.Exists && strings.ContainsRune(name, utf8.RuneError) { // what JSON makes of bytes that are not UTF-8
		return p, tool.BadParam(param, "path %q contains U+FFFD, which replaces bytes that are not valid UTF-8. Use a name that is.", name)
	}
	if v := f.refusal(p, kind); v.State == ignore.Refused {
		return p, tool.Errorf(tool.ExecutionDenied, "%s %s: %w; no tool can access it; continue without it", a.verb, p.Rel, v)
	}
	return p, nil
}

// refusal returns what the AI ignore files say of a path, by the name it was called and by the one it really has.
func (f *files) refusal(p workspace.Path, kind ignore.Kind) ignore.Verdict {
	v := f.ignore.Check(p.Abs, kind)
	if v.State != ignore.Refused && p.Given != p.Abs && filepath.IsAbs(p.Given) {
		if g := f.ignore.Check(p.Given, kind); g.State == ignore.Refused {
			return g
		}
	}
	return v
}

// open opens a regular file for reading. Some files of /proc are regular by name and wait for news when they are read:
// where the system can tell, reading ends after a moment.
func (f *files) open(p workspace.Path) (*os.File, error) {
	file, err := p.Open()
	if err == nil {
		_ = file.SetReadDeadline(time.Now().Add(2 * time.Second)) // an ordinary file has none, and needs none
	}
	return file, err
}

// below returns the target of an access to everything in a directory.
func below(abs string) string {
	return strings.TrimSuffix(abs, "/") + "/"
}

func reads(target string) []tool.Access {
	return []tool.Access{{Verb: tool.Reads, Target: target}}
}

// writes returns the access of a change: one who changes a file also learns what it replaces.
func writes(target string) []tool.Access {
	return []tool.Access{{Verb: tool.Reads, Target: target}, {Verb: tool.Writes, Target: target}}
}

// The documented types of failures with files.
const (
	targetIsDirectory  tool.ErrorType = "target_is_directory"
	targetNotRegular   tool.ErrorType = "target_not_regular_file"
	notADirectory      tool.ErrorType = "path_is_not_a_directory"
	readContentFailure tool.ErrorType = "read_content_failure"
	fileTooLarge       tool.ErrorType = "file_too_large"
	fileWriteFailure   tool.ErrorType = "file_write_failure"
	noSpaceLeft        tool.ErrorType = "no_space_left"
	listFailure        tool.ErrorType = "ls_execution_error"
)

// action is what a tool does with a file: how its errors begin, and the type of those that have none of their own.
type action struct {
	verb      string
	otherwise tool.ErrorType
}

var (
	toList  = action{"list", listFailure}
	toRead  = action{"read", readContentFailure}
	toWrite = action{"write", fileWriteFailure}
)

// failure says what was being done to which path, why it did not work and what to do, with the documented type. An error
// that has a type already is kept.
func (a action) failure(p workspace.Path, err error) error {
	var typed *tool.Error
	var special *workspace.NotRegularError
	switch {
	case err == nil || errors.As(err, &typed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &special) && special.Kind == "a directory":
		return a.errorf(targetIsDirectory, p, "it is a directory, not a file; list it instead")
	case errors.As(err, &special):
		kind := targetNotRegular
		if a == toRead {
			kind = readContentFailure
		}
		return a.errorf(kind, p, "it is %s, not a regular file; only regular files can be read or changed", special.Kind)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return a.errorf(a.otherwise, p, "it has no end: reading it waits for news")
	case errors.Is(err, fs.ErrNotExist):
		return a.errorf(tool.FileNotFound, p, "file not found")
	case errors.Is(err, syscall.ENOTDIR) && a != toWrite:
		return a.errorf(tool.FileNotFound, p, "%w", cause(err))
	case errors.Is(err, fs.ErrPermission):
		return a.errorf(tool.PermissionDenied, p, "%w; the user that runs this has no right to it", cause(err))
	case errors.Is(err, syscall.EROFS):
		return a.errorf(tool.PermissionDenied, p, "%w", cause(err))
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return a.errorf(noSpaceLeft, p, "%w; the old content is untouched, so make room and try again", cause(err))
	case errors.Is(err, syscall.EISDIR):
		return a.errorf(targetIsDirectory, p, "it is a directory")
	}
	return a.errorf(a.otherwise, p, "%w", cause(err))
}

func (a action) errorf(t tool.ErrorType, p workspace.Path, format string, args ...any) error {
	return tool.Errorf(t, "%s %s: %w", a.verb, p.Rel, fmt.Errorf(format, args...))
}

// cause takes the path off an error that stands in a sentence which names it already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// notFound says that a path is not there, and what is: the nearest directory above it, or a name much like it.
func (f *files) notFound(a action, p workspace.Path) error {
	if !p.Inside() {
		return a.errorf(tool.FileNotFound, p, "file not found")
	}
	dir := p.Abs
	for {
		above := filepath.Dir(dir)
		at, err := f.ws.Resolve(above)
		if err != nil || above == dir {
			return a.errorf(tool.FileNotFound, p, "file not found")
		}
		if !at.Exists {
			dir = above
			continue
		}
		if near := f.nearName(at, filepath.Base(dir)); near != "" {
			meant := filepath.Join(above, near, strings.TrimPrefix(p.Abs, dir))
			return a.errorf(tool.FileNotFound, p, "file not found; did you mean %s?", meant)
		}
		return a.errorf(tool.FileNotFound, p, "file not found%s", f.offer.hint("list_directory", "; use list_directory on %s", above))
	}
}

// nearName finds a name in a directory that differs only in case or in the kind of its separators.
func (f *files) nearName(dir workspace.Path, name string) string {
	entries, err := dir.ReadDir()
	if err != nil || len(entries) > 10_000 {
		return ""
	}
	for _, e := range entries {
		if foldName(e.Name()) != foldName(name) {
			continue
		}
		if f.ignore.Check(filepath.Join(dir.Abs, e.Name()), ignore.Kind(e.IsDir())).State == ignore.Clear {
			return e.Name()
		}
	}
	return ""
}

func foldName(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}
