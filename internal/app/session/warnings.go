package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/nearest"
)

// warnIgnored reports settings and files of Qwen Code that Adze doesn't support.
func (s *Session) warnIgnored() {
	names := settings.Names()
	var unknown []string
	for _, u := range s.Settings.Unknown() {
		if text := unknownSetting(u, names); text != "" {
			unknown = append(unknown, fmt.Sprintf("%s: %s", u.From, text))
		}
	}
	s.warnAll(unknown)
	if s.Env.Isolated {
		return
	}
	for _, path := range qwenFiles(s.Env.Home, s.Directory.Path) {
		s.Env.Warn("%s: not supported by Adze, ignored", path)
	}
}

// maxWarnings is the maximum number of warnings of one kind: a file of another program may have any number of keys.
const maxWarnings = 10

func (s *Session) warnAll(texts []string) {
	for i, text := range texts {
		if i == maxWarnings && !s.warnsAll {
			s.Env.Warn("%d more like this; adze doctor lists them", len(texts)-i)
			return
		}
		s.Env.Warn("%s", text)
	}
}

// unknownSetting describes an unknown key. In Qwen Code's own files it is "" for keys that don't concern Adze, such as
// the theme.
func unknownSetting(u settings.UnknownKey, names []string) string {
	section, _, nested := strings.Cut(u.Key, ".")
	if u.Qwen {
		if section == "ui" { // appearance of another program
			return ""
		}
		if nested && slices.Contains(names, section) || slices.Contains(qwenKeys, section) {
			return fmt.Sprintf("setting %q is not supported by Adze, ignored", u.Key)
		}
		return ""
	}
	return fmt.Sprintf("unknown setting %q, ignored.%s", u.Key, nearest.Hint(u.Key, siblings(u.Key, names)))
}

// siblings returns the names in the same object as key.
func siblings(key string, names []string) []string {
	parent := key[:strings.LastIndexByte(key, '.')+1]
	var out []string
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, parent); ok && !strings.Contains(rest, ".") {
			out = append(out, n)
		}
	}
	return out
}

// qwenKeys are settings of Qwen Code that affect an agent's behavior, and that Adze doesn't support.
var qwenKeys = []string{"modelProviders", "env", "extensions", "policy", "proxy"}

// qwenFiles returns files and directories in the user's and the working directory that Qwen Code uses and Adze doesn't.
func qwenFiles(home, dir string) []string {
	var found []string
	for _, dir := range []string{filepath.Join(home, ".qwen"), filepath.Join(dir, ".qwen")} {
		for _, name := range []string{"extensions", ".env"} {
			path := filepath.Join(dir, name)
			if !filepath.IsAbs(path) || slices.Contains(found, path) {
				continue
			}
			if _, err := os.Lstat(path); err == nil {
				found = append(found, path)
			}
		}
	}
	return found
}
