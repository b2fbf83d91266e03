package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/sums"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/tool"
)

// files is the shared state of the file tools in a session.
type files struct {
	ws     *workspace.Workspace
	ignore *ignore.Rules
	shared *search.Shared // by searches
	seen   *workspace.Seen
	sums   *sums.Recent
	values *secretvalues.List // secret values, which are masked in results
	state  string             // for the old content of files written in place
	left   *leftovers
	misses sync.Map // failed edits that the model was told of

	earlier sync.Map // by path: see earlier

	secrets secrets

	history      func(by string) (string, error) // see Options.History
	editor       func(ctx context.Context, path, text string) error
	contextNames []string // names of context files
	offer        *offer
}

func newFiles(o Options) (*files, error) {
	open := func() (*workspace.Workspace, error) {
		writable := append(places.Caches(o.Environ), o.Sandbox.Write...)
		return workspace.OpenBeside(writable, append([]string{o.Dir}, o.AddDirs...)...)
	}
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
		shared: &search.Shared{},
		seen:   &workspace.Seen{AtFirstSight: o.AllRead},
		sums:   &sums.Recent{},
		state:  o.State,
		left:   newLeftovers(o),

		secrets:      newSecrets(ws, o),
		history:      o.History,
		editor:       o.Editor,
		contextNames: o.ContextNames,
		offer:        &offer{},
	}, nil
}

// at resolves a path parameter, and rejects paths that an AI ignore file excludes. If the error isn't about the
// parameter itself, the returned path is what the error is about.
func (f *files) at(a action, param, name string, kind ignore.Kind) (workspace.Path, error) {
	p, err := f.ws.Resolve(name)
	var bad *workspace.NameError
	if errors.As(err, &bad) {
		return p, tool.BadParam(param, "%v", bad)
	}
	if err != nil { // a file in place of a directory, or a loop of links
		clean := filepath.Clean(name)
		return workspace.Path{Abs: clean, Rel: clean, Given: name}, a.failure(workspace.Path{Rel: clean}, err)
	}
	if !p.Exists && strings.ContainsRune(name, utf8.RuneError) { // JSON decoders insert it for invalid UTF-8
		return p, tool.BadParam(param, "path %q contains U+FFFD, which replaces bytes that are not valid UTF-8. Use "+
			"a name that is.", name)
	}
	if kind == ignore.File {
		f.values.Opens(p.Abs)
	}
	if kind == ignore.File && secretvalues.GitConfig(p.Abs) {
		f.values.Configs([]string{p.Abs}) // so that its credentials are masked
	}
	if v := f.refusal(p, kind); v.State == ignore.Refused {
		return p, tool.Errorf(tool.ExecutionDenied, "%s %s: %w; no tool can access it; continue without it", a.verb,
			p.Rel, v)
	}
	return p, nil
}

// refusal returns the AI ignore rule that excludes a path, by its given or its resolved name.
func (f *files) refusal(p workspace.Path, kind ignore.Kind) ignore.Verdict {
	v := f.ignore.Check(p.Abs, kind)
	if v.State != ignore.Refused && p.Given != p.Abs {
		if g := f.ignore.Check(p.Given, kind); g.State == ignore.Refused {
			return g
		}
	}
	return v
}

// open opens a regular file for reading. Some files of /proc look regular and block when they are read, so reading has
// a deadline where the system supports one.
func (f *files) open(p workspace.Path) (*os.File, error) {
	file, err := p.Open()
	if err == nil {
		_ = file.SetReadDeadline(time.Now().Add(2 * time.Second)) // ordinary files have no deadline, and need none
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

// writes returns the access of a change: changing a file also reveals its content.
func writes(target string) []tool.Access {
	return []tool.Access{{Verb: tool.Reads, Target: target}, {Verb: tool.Writes, Target: target}}
}

// The documented error types of file operations.
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

// action is what a tool does with a file: the start of its error messages, and the type of errors without their own.
type action struct {
	verb      string
	otherwise tool.ErrorType
}

var (
	toList  = action{"list", listFailure}
	toRead  = action{"read", readContentFailure}
	toWrite = action{"write", fileWriteFailure}
)

// failure returns an error with the action, the path, the cause and the next step, and with the documented type. An
// error that already has a type is returned unchanged.
func (a action) failure(p workspace.Path, err error) error {
	var typed *tool.Error
	var special *workspace.NotRegularError
	var char *text.UnencodableError
	switch {
	case err == nil || errors.As(err, &typed) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &special) && special.Kind == "a directory":
		return a.errorf(targetIsDirectory, p, "it is a directory, not a file; list it instead")
	case errors.As(err, &special):
		kind := targetNotRegular
		if a == toRead {
			kind = readContentFailure
		}
		return a.errorf(kind, p, "it is %s, not a regular file; only regular files can be read or changed",
			special.Kind)
	case errors.As(err, &char):
		return a.errorf(a.otherwise, p, "%w; write it with characters that this encoding has, or convert the file to "+
			"UTF-8 with a command first", char)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return a.errorf(a.otherwise, p, "it has no end: reading it waits for news")
	case errors.Is(err, fs.ErrNotExist):
		return a.errorf(tool.FileNotFound, p, "file not found")
	case errors.Is(err, syscall.ENOTDIR) && a != toWrite:
		return a.errorf(tool.FileNotFound, p, "%w", nofollow.Cause(err))
	case errors.Is(err, fs.ErrPermission):
		return a.errorf(tool.PermissionDenied, p, "%w; the user that runs this has no right to it", nofollow.Cause(err))
	case errors.Is(err, syscall.EROFS):
		return a.errorf(tool.PermissionDenied, p, "%w", nofollow.Cause(err))
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return a.errorf(noSpaceLeft, p, "%w; the old content is untouched, so make room and try again",
			nofollow.Cause(err))
	case errors.Is(err, syscall.EISDIR):
		return a.errorf(targetIsDirectory, p, "it is a directory")
	}
	return a.errorf(a.otherwise, p, "%w", nofollow.Cause(err))
}

func (a action) errorf(t tool.ErrorType, p workspace.Path, format string, args ...any) error {
	return tool.Errorf(t, "%s %s: %w", a.verb, p.Rel, fmt.Errorf(format, args...))
}

// notFound returns the error for a missing path. It suggests the nearest existing directory, or a similar name.
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
		return a.errorf(tool.FileNotFound, p, "file not found%s",
			f.offer.hint("list_directory", "; use list_directory on %s", above))
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
