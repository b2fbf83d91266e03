package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"syscall"
	"unicode/utf8"

	"github.com/tidwall/jsonc"
)

// maxFile is the maximum size of a settings file.
const maxFile = 4 << 20

// file is a settings file that is valid JSON once its comments are blanked out.
type file struct {
	path  string
	clean []byte // the same length as the file, so offsets are the file's
	lines []int  // offsets of line starts
}

// value is a part of a file, or a text from another source.
type value struct {
	file       *file
	start, end int
	text       string   // if file is nil
	texts      []string // likewise, for a flag that is a list
}

// member is a value with its name in an object; in a list it has no name.
type member struct {
	name string
	at   int // offset of the name
	value
}

// readFile reads a settings file. It returns nil if the file doesn't exist.
func readFile(path string) (*file, os.FileInfo, error) {
	fail := func(err error) error {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return &Error{From: Place{Source: path}, Reason: err.Error(), Err: err}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil, nil
	}
	info, err := os.Stat(path) // a dangling link is an error: a file was expected
	switch {
	case err != nil:
		return nil, nil, fail(err)
	case !info.Mode().IsRegular():
		return nil, nil, fail(errors.New("not a regular file"))
	case info.Size() > maxFile:
		return nil, nil, fail(fmt.Errorf("%d bytes, over the limit of %d", info.Size(), maxFile))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fail(err)
	}
	f, err := parse(path, b)
	return f, info, err
}

// parse checks that b is an object in JSON with comments and trailing commas. An empty file is an empty object.
func parse(path string, b []byte) (*file, error) {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	f := &file{path: path, clean: b, lines: lineStarts(b)}
	if i := invalid(b); i >= 0 {
		return nil, f.fail(i, "the file is not UTF-8")
	}
	f.clean = jsonc.ToJSON(b)
	if len(bytes.Trim(f.clean, " \t\r\n")) == 0 {
		f.clean = []byte("{}")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(f.clean, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, f.fail(int(syntax.Offset)-1, err.Error())
		}
		return nil, f.fail(0, err.Error())
	}
	if root := f.root(); root.kind() != "an object" {
		return nil, f.fail(root.start, "expected an object, got "+root.kind())
	}
	return f, nil
}

// root returns the whole file as a value.
func (f *file) root() value {
	start := len(f.clean) - len(bytes.TrimLeft(f.clean, " \t\r\n"))
	return value{file: f, start: start, end: len(bytes.TrimRight(f.clean, " \t\r\n"))}
}

func (f *file) fail(offset int, reason string) error {
	return &Error{From: f.place(offset), Reason: reason}
}

// place returns line and column of an offset, both from 1, columns in characters.
func (f *file) place(offset int) Place {
	offset = max(offset, 0)
	line := sort.SearchInts(f.lines, offset+1)
	start := f.lines[line-1]
	column := 1
	if end := min(offset, len(f.clean)); end > start {
		column += utf8.RuneCount(f.clean[start:end])
	}
	return Place{f.path, line, column}
}

func lineStarts(b []byte) []int {
	starts := []int{0}
	for i, c := range b {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// invalid returns the offset of the first byte that is not UTF-8, or -1.
func invalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func (v value) json() []byte {
	if v.file == nil {
		b, _ := json.Marshal(v.text) // a can't fail for strings
		return b
	}
	return v.file.clean[v.start:v.end]
}

// kind names the type of the value for users.
func (v value) kind() string {
	switch v.json()[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// members returns the parts of an object or a list, in the order of the file, including duplicates.
func (v value) members() []member {
	dec := json.NewDecoder(bytes.NewReader(v.json()))
	object := v.kind() == "an object"
	_, _ = dec.Token() // the bracket; the file is valid
	var ms []member
	for dec.More() {
		var m member
		if object {
			before := int(dec.InputOffset())
			name, err := dec.Token()
			if err != nil {
				return ms
			}
			m.name, _ = name.(string)
			m.at = v.start + before + bytes.IndexByte(v.json()[before:], '"')
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return ms
		}
		end := v.start + int(dec.InputOffset())
		m.value = value{file: v.file, start: end - len(raw), end: end}
		ms = append(ms, m)
	}
	return ms
}

// Home returns the directory of the user's settings and state: $ADZE_HOME, or .adze in the home directory.
func Home(getenv func(string) string, userHome string) (string, error) {
	if dir := getenv("ADZE_HOME"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("ADZE_HOME must be an absolute path, got %q", dir)
		}
		return filepath.Clean(dir), nil
	}
	if !filepath.IsAbs(userHome) {
		return "", errors.New("no home directory; set HOME or ADZE_HOME")
	}
	return filepath.Join(userHome, ".adze"), nil
}

// EnsureHome creates the directory, readable only by the user, unless it exists.
func EnsureHome(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create Adze's directory (set ADZE_HOME to change it): %w", err)
	}
	return nil
}
