package tooltest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// doFile runs the commands that check or change files without the tools.
func (s *story) doFile(verb, rest string, not bool) error {
	words := strings.Fields(rest)
	if len(words) == 0 || (verb == "cmp" || verb == "link" || verb == "chmod") && len(words) != 2 {
		return fmt.Errorf("%s: arguments are missing", verb)
	}
	switch verb {
	case "cmp":
		got, err := os.ReadFile(s.path(words[0]))
		if err != nil {
			return err
		}
		want, err := os.ReadFile(s.path(words[1]))
		return sameText(string(got), string(want), err)
	case "exists":
		_, err := os.Lstat(s.path(rest))
		if (err == nil) == not {
			return fmt.Errorf("exists: %v", err)
		}
		return nil
	case "is":
		name, text, _ := strings.Cut(rest, " ")
		want, err := unescape(text)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(s.path(name))
		return sameText(string(got), want, err)
	case "write":
		name, text, _ := strings.Cut(rest, " ")
		content, err := unescape(text)
		if err != nil {
			return err
		}
		return os.WriteFile(s.path(name), []byte(content), 0o666)
	case "mkdir":
		return os.MkdirAll(s.path(rest), 0o777)
	case "rm":
		return os.RemoveAll(s.path(rest))
	case "link":
		return os.Symlink(s.expand(words[0]), s.path(words[1]))
	case "chmod":
		mode, err := strconv.ParseUint(words[0], 8, 32)
		if err != nil {
			return err
		}
		return os.Chmod(s.path(words[1]), os.FileMode(mode))
	}
	return fmt.Errorf("unknown command %s", verb)
}

// unescape reads a text with the escapes of a Go string.
func unescape(s string) (string, error) {
	s = unquote(s)
	return strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
}
