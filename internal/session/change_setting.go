package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/tool"
)

// SettingValue is a setting with its value, and where that comes from.
type SettingValue struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"` // null: there is none
	From  []string        `json:"from"`  // empty: the default
}

// ValueOf is a setting in settings.
func ValueOf(s *settings.Settings, key string) SettingValue {
	raw, from := s.Value(key)
	v := SettingValue{Key: key, Value: raw, From: []string{}}
	for _, p := range from {
		v.From = append(v.From, p.String())
	}
	return v
}

// Source is where the value comes from.
func (v SettingValue) Source() string {
	if len(v.From) == 0 {
		return "default"
	}
	return strings.Join(v.From, ", ")
}

// String is the value: a string as it is, anything else as JSON.
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
	Warning   string // about the value; ""
}

func (c SettingChange) String() string {
	return fmt.Sprintf("Set %s to %s in %s", c.Key, tool.Visible(string(c.Value)), c.Path)
}

// SetSetting changes a setting in the file of a scope. The text is JSON; what isn't is a string.
func (f Folder) SetSetting(scope Scope, name, text string) (c SettingChange, err error) {
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
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return bytes.TrimSpace(out.Bytes()), err
}

// TakesEffect reports what keeps a changed setting from taking effect: that the project isn't trusted, or another file. That
// other settings can't be read is no error of the change.
func (f Folder) TakesEffect(c SettingChange) (untrusted bool, note string) {
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
