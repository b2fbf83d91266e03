package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/trust"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// SettingValue is a setting with its value, and where that comes from.
type SettingValue struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"` // null if it has no value
	From  []string        `json:"from"`  // empty: the default
}

// ValueOf returns a setting in settings.
func ValueOf(s *settings.Settings, key string) SettingValue {
	raw, from := s.Value(key)
	v := SettingValue{Key: key, Value: raw, From: []string{}}
	for _, p := range from {
		v.From = append(v.From, p.String())
	}
	return v
}

// Source returns where the value comes from.
func (v SettingValue) Source() string {
	if len(v.From) == 0 {
		return "default"
	}
	return strings.Join(v.From, ", ")
}

// String returns the value: a string as it is, anything else as JSON.
func (v SettingValue) String() string {
	var text string
	if json.Unmarshal(v.Value, &text) == nil {
		return tool.Visible(text)
	}
	return tool.Visible(string(v.Value))
}

// SettingChange is a setting that was written to a file.
type SettingChange struct {
	Key, Path string
	Value     json.RawMessage
	Warning   string // about the value; "": none
}

func (c SettingChange) String() string {
	return fmt.Sprintf("Set %s to %s in %s", c.Key, tool.Visible(string(c.Value)), c.Path)
}

// SetSetting changes a setting in the file of a scope. The text is JSON; other text is a string.
func (f Directory) SetSetting(scope Scope, name, text string) (c SettingChange, err error) {
	if c.Key, err = settings.Canonical(name); err != nil {
		return c, err
	}
	if c.Value, err = settingJSON(text); err != nil {
		return c, err
	}
	if c.Warning, err = settings.CheckValue(c.Key, c.Value, scope == ForProject); err != nil {
		return c, err
	}
	c.Path, err = f.Change(scope, func(path string, text []byte) ([]byte, error) {
		return settings.SetKey(path, text, c.Key, c.Value)
	})
	if c.Warning != "" {
		c.Warning = "warning: " + c.Key + " " + c.Warning
	}
	return c, err
}

func settingJSON(text string) (json.RawMessage, error) {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) == nil {
		return out.Bytes(), nil
	}
	return humanize.JSON(text)
}

// TakesEffect reports what prevents a changed setting from taking effect: the project isn't trusted, or another file
// overrides it. Errors in other settings are ignored.
func (f Directory) TakesEffect(c SettingChange) (untrusted bool, note string) {
	s, _, err := f.Settings()
	if err != nil {
		return false, ""
	}
	for _, w := range s.Withheld() {
		if w.Key == c.Key && w.From.Source == c.Path {
			return true, ""
		}
	}
	if _, from := s.Value(c.Key); len(from) == 1 && from[0].Source != c.Path {
		return false, fmt.Sprintf("note: %s is set in %s, too, which takes precedence", c.Key, from[0])
	}
	return false, ""
}

// Requests are what the project's files request, bound to what would run: the exact settings, the content of the
// project's own programs that they name, and the content of its definitions.
type Requests struct {
	Items    []trust.Item // all of them, for the user
	settings []trust.Item // without definitions, which are approved one by one
	seals    map[string]string
}

// Requests returns what the project's files request.
func (f Directory) Requests() (r Requests, err error) {
	s, err := settings.Load(f.sources())
	if err != nil {
		return r, err
	}
	r.settings = f.wants(s)
	r.Items, r.seals = slices.Clip(r.settings), map[string]string{}
	for _, d := range f.Places(false).Sealed() {
		text := strings.TrimSpace(strings.Join(d.Runs, "; ") + " content " + d.Seal)
		r.Items = append(r.Items, trust.Adds(d.What+" "+d.Path, text, len(d.Runs) > 0))
		r.seals[d.Path] = d.Seal
	}
	return r, nil
}

// TrustState returns whether the user trusts exactly these requests.
func (f Directory) TrustState(r Requests) (trust.State, error) {
	state, err := f.Trust().State(f.Path, r.settings)
	if state == trust.Trusted && !maps.Equal(r.seals, f.Trust().Seals(f.Path)) {
		state = trust.Changed
	}
	return state, err
}

// Grant trusts these requests.
func (f Directory) Grant(r Requests) error { return f.Trust().Trust(f.Path, r.settings, r.seals) }

func (f Directory) wants(s *settings.Settings) []trust.Item {
	var items []trust.Item
	named := map[string]bool{}
	for _, w := range s.Withheld() {
		items = append(items, wantsSetting(w)...)
		var value any
		if json.Unmarshal([]byte(w.JSON), &value) == nil {
			trust.AddPrograms(value, f.Path, f.Path, named)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(named)) {
		items = append(items, trust.Item{
			Effect: trust.RunsProgram, What: "the file " + path, Text: trust.ContentHash(filepath.Join(f.Path, path)),
		})
	}
	return items
}

// wantsSetting returns the requests of a setting, one for each server.
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
		items = append(items, trust.Item{
			Effect: trust.AddsTools, What: w.Key + "." + alias, Text: onOneLine(string(servers[alias])),
		})
	}
	return items
}

// effectOf returns what a setting of a project changes, by its key.
func effectOf(key string) trust.Effect {
	switch {
	case key == "hooks", key == "tools.afterChange", key == "ui.statusLine", strings.HasSuffix(key, "Command"):
		return trust.RunsProgram
	case strings.HasPrefix(key, "permissions."), strings.HasPrefix(key, "tools.approvalMode"),
		strings.HasPrefix(key, "tools.sandbox"):
		return trust.ChangesPermissions
	}
	return trust.ChangesSetting
}

// WithheldServers returns the MCP servers of an untrusted project, by name.
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

// argv returns the words of a setting that is a command line.
func argv(w settings.Withheld) string {
	var line string
	if !strings.HasSuffix(w.Key, "Command") || json.Unmarshal([]byte(w.JSON), &line) != nil {
		return ""
	}
	words, err := discover.Words(line)
	list, bad := json.Marshal(words)
	if err != nil || bad != nil {
		return ""
	}
	return " runs " + string(list)
}

// onOneLine returns JSON without whitespace between its tokens.
func onOneLine(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}
