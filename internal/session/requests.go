package session

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/discover"
	contextfiles "github.com/adze-dev/adze/internal/context"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/trust"
)

// Requests are what the project's files request, bound to what would run: the exact settings,
// and the content of the project's own programs that they name.
func (f Folder) Requests() ([]trust.Item, error) {
	s, err := settings.Load(f.sources())
	if err != nil {
		return nil, err
	}
	return f.wants(s), nil
}

func (f Folder) wants(s *settings.Settings) []trust.Item {
	var items []trust.Item
	named := map[string]bool{}
	for _, w := range s.Withheld() {
		items = append(items, wantsSetting(w)...)
		var value any
		if json.Unmarshal([]byte(w.JSON), &value) == nil {
			namedFiles(value, f.Path, f.Path, named)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(named)) {
		items = append(items, trust.Item{Effect: trust.RunsProgram, What: "the file " + path, Text: contentHash(filepath.Join(f.Path, path))})
	}
	return append(items, wantsDefinitions(f.places(true))...)
}

// wantsSetting is what a setting of a directory would do, each server on its own.
func wantsSetting(w settings.Withheld) []trust.Item {
	if w.Key != "mcpServers" {
		return []trust.Item{{Effect: effectOf(w.Key), What: w.Key, Text: onOneLine(w.JSON) + argv(w)}}
	}
	var servers map[string]json.RawMessage
	if err := json.Unmarshal([]byte(w.JSON), &servers); err != nil {
		return []trust.Item{{Effect: trust.AddsTools, What: w.Key, Text: w.JSON}}
	}
	var items []trust.Item
	for _, alias := range slices.Sorted(maps.Keys(servers)) {
		items = append(items, trust.Item{Effect: trust.AddsTools, What: w.Key + "." + alias, Text: onOneLine(string(servers[alias]))})
	}
	return items
}

// effectOf is what a setting of a project changes, by its key.
func effectOf(key string) trust.Effect {
	switch {
	case key == "hooks", strings.HasSuffix(key, "Command"):
		return trust.RunsProgram
	case strings.HasPrefix(key, "permissions."), strings.HasPrefix(key, "tools.approvalMode"), strings.HasPrefix(key, "tools.sandbox"):
		return trust.ChangesPermissions
	}
	return trust.ChangesSetting
}

// WithheldServers are the MCP servers, by their names, that wait for the directory to be trusted.
func WithheldServers(s *settings.Settings) []trust.Item {
	var items []trust.Item
	for _, w := range s.Withheld() {
		if w.Key != "mcpServers" {
			continue
		}
		for _, item := range wantsSetting(w) {
			item.What = strings.TrimPrefix(item.What, "mcpServers.")
			items = append(items, item)
		}
	}
	return items
}

// argv is what a setting that is a command line would run, word by word.
func argv(w settings.Withheld) string {
	var line string
	if !strings.HasSuffix(w.Key, "Command") || json.Unmarshal([]byte(w.JSON), &line) != nil {
		return ""
	}
	words, err := discover.Words(line)
	if err != nil {
		return ""
	}
	list, err := json.Marshal(words)
	if err != nil {
		return ""
	}
	return " runs " + string(list)
}

// onOneLine is JSON without the blanks between its parts; those inside of strings stay.
func onOneLine(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

// wantsDefinitions are the project's subagents, skills and command files that run something, bound to what their files say.
func wantsDefinitions(p contextfiles.Places) []trust.Item {
	var items []trust.Item
	agents, _ := contextfiles.Agents(p)
	for _, a := range agents {
		if a.Scope == contextfiles.Project {
			items = append(items, trust.Item{Effect: trust.AddsTools, What: "agent " + a.Name, Text: a.Path + " " + contentHash(a.Path)})
		}
	}
	skills, _ := contextfiles.Skills(p)
	for _, s := range skills {
		if s.Scope == contextfiles.Project {
			items = append(items, trust.Item{Effect: trust.AddsTools, What: "skill " + s.Name, Text: s.Dir + " " + contentHash(filepath.Join(s.Dir, "SKILL.md"))})
		}
	}
	commands, _ := contextfiles.Commands(p)
	for _, c := range commands {
		if c.Scope == contextfiles.Project && c.Runs() {
			items = append(items, trust.Item{Effect: trust.RunsProgram, What: "command /" + c.Name, Text: c.Path + " runs " + strings.Join(shellLines(c), "; ") + " " + contentHash(c.Path)})
		}
	}
	return items
}
