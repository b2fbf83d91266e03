package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/nearest"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
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
	return fmt.Sprintf("unknown setting %q, ignored.%s", u.Key, didYouMean(u.Key, siblings(u.Key, names)))
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

// didYouMean suggests the closest name, or nothing. For a nested key, only the last part is compared.
func didYouMean(name string, names []string) string {
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	full, lasts := map[string]string{}, make([]string, len(names))
	for i, n := range names {
		lasts[i] = last(n)
		full[lasts[i]] = n
	}
	near := nearest.Names(last(name), lasts)
	if len(near) != 1 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", full[near[0]])
}

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

// warnRules reports rules that name no tool: a mistyped deny rule protects nothing.
func (s *Session) warnRules(rules permission.Rules, tools []tool.Declaration) {
	s.warnAll(s.unknownRules(rules, tools))
}

// unknownRules describes the rules that name no tool. Tools of a discovery command aren't known yet, and neither are
// those of an MCP server: only the server's name is checked.
func (s *Session) unknownRules(rules permission.Rules, tools []tool.Declaration) []string {
	var out []string
	for _, u := range rules.Unused(tools) {
		name, _, _ := strings.Cut(u.Text, "(")
		name = strings.TrimSpace(name)
		if server, ok := serverOf(name); ok && (server == "*" || s.hasServer(server)) {
			continue
		}
		if s.Settings.Tools.DiscoveryCommand != "" && strings.ToLower(name) == name {
			continue
		}
		at := ""
		if u.Source != "" {
			at = u.Source + ": "
		}
		out = append(out, fmt.Sprintf("%spermissions.%s: unknown tool %q in %q. This rule has no effect.%s", at, u.List,
			name, u.Text, didYouMean(name, permission.ToolNames(tools))))
	}
	return out
}

// serverOf returns the MCP server in a rule's name: github__search, mcp__github, mcp__github__search.
func serverOf(name string) (string, bool) {
	rest, mcp := strings.CutPrefix(name, "mcp__")
	server, _, of := strings.Cut(rest, "__")
	return server, mcp || of
}

// hasServer reports whether settings or a plugin have a server of this name, or an untrusted project may have one.
func (s *Session) hasServer(alias string) bool {
	_, ok := s.Settings.MCP.Servers[alias]
	for _, p := range s.Definitions.plugins {
		_, has := p.Servers[alias]
		ok = ok || has
	}
	return ok || slices.ContainsFunc(s.Settings.Withheld(),
		func(w settings.Withheld) bool { return strings.HasPrefix(w.Key, "mcp") })
}
