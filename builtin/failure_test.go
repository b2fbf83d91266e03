package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

func TestFailuresHaveTheirDocumentedTypes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want tool.ErrorType
		says string
	}{
		{&fs.PathError{Op: "open", Path: "/w/a", Err: syscall.ENOENT}, tool.FileNotFound, "write a: file not found"},
		{&fs.PathError{Op: "open", Path: "/w/a", Err: syscall.EACCES}, tool.PermissionDenied, "write a: permission denied; the user that runs this has no right to it"},
		{&fs.PathError{Op: "write", Path: "/w/a", Err: syscall.ENOSPC}, noSpaceLeft, "write a: no space left on device; the old content is untouched"},
		{&fs.PathError{Op: "write", Path: "/w/a", Err: syscall.EDQUOT}, noSpaceLeft, "write a: disk quota exceeded"},
		{fmt.Errorf("wrapped: %w", syscall.EROFS), tool.PermissionDenied, "write a: wrapped: read-only file system"},
		{syscall.EISDIR, targetIsDirectory, "write a: it is a directory"},
		{&workspace.NotRegularError{Path: "/w/a", Kind: "a directory"}, targetIsDirectory, "write a: it is a directory, not a file; list it"},
		{&workspace.NotRegularError{Path: "/w/a", Kind: "a socket"}, targetNotRegular, "write a: it is a socket, not a regular file"},
		{syscall.EIO, fileWriteFailure, "write a: input/output error"},
		{tool.Errorf(requiresRead, "as it was"), requiresRead, "as it was"},
	} {
		err := toWrite.failure(workspace.Path{Abs: "/w/a", Rel: "a"}, c.err)
		var typed *tool.Error
		if !errors.As(err, &typed) || typed.Type != c.want || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
}

// A workspace without a directory doesn't open; if the directory is removed later, errors are clear, and it works again when
// the directory returns.
func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if _, err := New(Options{Dir: dir}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	x := executor(open(t, dir))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]args{
		"list_directory": {"path": dir},
		"read_file":      {"absolute_path": filepath.Join(dir, "a")},
		"edit":           {"file_path": filepath.Join(dir, "a"), "old_string": "x", "new_string": "y"},
	} {
		if o := call(t, x, name, a); o.Error == nil || o.Error.Type != tool.FileNotFound {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := call(t, x, "write_file", args{"file_path": filepath.Join(dir, "a"), "content": "x"}); o.Status != tool.StatusSuccess {
		t.Errorf("%+v", o)
	}
}
