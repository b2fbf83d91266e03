package settings

import (
	"fmt"
	"slices"
	"strings"
)

// fewerCore reports whether the built-in tools became fewer.
func fewerCore(before, after *Settings) bool { return fewer(before.Tools.Core, after.Tools.Core) }

// fewerServers reports whether the MCP servers became fewer.
func fewerServers(before, after *Settings) bool { return fewer(before.MCP.Allowed, after.MCP.Allowed) }

// fewer reports whether a list of what is allowed, where nil allows all, allows no more than before.
func fewer(before, after []Entry) bool {
	return before == nil || !slices.ContainsFunc(Texts(after), func(text string) bool { return !slices.Contains(Texts(before), text) })
}

func respectsGit(before, after *Settings) bool {
	return !before.Context.GitIgnore || after.Context.GitIgnore
}

// putAIIgnore takes the setting that would make Qwen Code read what AI ignore files name.
func putAIIgnore(s *Settings, g given) (note string, err error) {
	respect := true
	if note, err = boolean(func(*Settings) *bool { return &respect })(s, g); err == nil && !respect {
		note = "is not supported; AI ignore files always apply"
	}
	return note, err
}

// putIgnoreFiles takes further names of AI ignore files.
func putIgnoreFiles(s *Settings, g given) (note string, err error) {
	var names []Entry
	if note, err = entries(func(*Settings) *[]Entry { return &names })(s, g); err != nil {
		return note, err
	}
	for _, e := range names {
		if e.Text == "" || e.Text == "." || e.Text == ".." || strings.ContainsAny(e.Text, "/\\\x00") {
			return "", fmt.Errorf("has the invalid value %q\nExpected a file name without a directory", e.Text)
		}
	}
	all := slices.Clip(s.Context.IgnoreFiles)
	for _, e := range names {
		if !slices.Contains(Texts(all), e.Text) {
			all = append(all, e)
		}
	}
	if len(all) > maxIgnoreFiles {
		return "", fmt.Errorf("has too many names: %d, over the limit of %d", len(all), maxIgnoreFiles)
	}
	s.Context.IgnoreFiles = all
	return note, nil
}

// maxIgnoreFiles is how many names AI ignore files can have beside the usual ones.
const maxIgnoreFiles = 8
