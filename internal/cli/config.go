package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/tool"
)

// loadedSettings are the settings of the directory that the command line names.
func loadedSettings(env Env, o *options) (*settings.Settings, error) {
	folder, err := workingFolder(env, o)
	if err != nil {
		return nil, err
	}
	s, _, err := folder.Settings()
	return s, err
}

// configList prints the settings that take effect.
func configList(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "config list [--json]"); err != nil {
		return err
	}
	s, err := loadedSettings(env, o)
	if err != nil {
		return err
	}
	all := []session.SettingValue{}
	for _, d := range settings.Describe() {
		all = append(all, session.ValueOf(s, d.Key))
	}
	if o.json {
		return printJSON(env.Stdout, all)
	}
	var rows [][]string
	for _, v := range all {
		if v.Value != nil {
			rows = append(rows, []string{v.Key, tool.Visible(string(v.Value)), v.Source()})
		}
	}
	_, err = fmt.Fprint(env.Stdout, strings.ReplaceAll("\n"+table(rows), "\n  ", "\n")[1:])
	return err
}

// configGet prints the value of a setting: a string as it is, anything else as JSON.
func configGet(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 1, "config get KEY [--json]"); err != nil {
		return err
	}
	key, err := settings.Canonical(words[0])
	if err != nil {
		return err
	}
	s, err := loadedSettings(env, o)
	if err != nil {
		return err
	}
	v := session.ValueOf(s, key)
	var text string
	switch {
	case v.Value == nil:
		return exitf(exitError, "setting %s is not set", key)
	case !o.json && json.Unmarshal(v.Value, &text) == nil:
		_, err = fmt.Fprintln(env.Stdout, tool.Visible(text))
	default:
		_, err = fmt.Fprintln(env.Stdout, string(v.Value))
	}
	return err
}

const configSetUsage = "config set [--scope user|project] KEY VALUE"

// configSet changes a setting in a settings file.
func configSet(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 2, configSetUsage); err != nil {
		return err
	}
	folder, err := settingsFolder(env, o)
	if err != nil {
		return err
	}
	c, err := folder.SetSetting(session.Scope(o.scope), words[0], words[1])
	if err != nil {
		return err
	}
	if c.Warning != "" {
		env.tell(c.Warning)
	}
	fmt.Fprintln(env.Stdout, c)
	if folder, err = workingFolder(env, o); err != nil {
		return nil // the change is made
	}
	untrusted, note := folder.TakesEffect(c)
	if note != "" {
		env.tell(note)
	}
	if untrusted {
		_, err = fmt.Fprintln(env.Stdout, "Run 'adze trust' to enable it.")
	}
	return err
}

// configUnset removes a setting from a settings file.
func configUnset(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 1, "config unset [--scope user|project] KEY"); err != nil {
		return err
	}
	key, err := settings.Canonical(words[0])
	if err != nil {
		return err
	}
	path, err := changeSettings(env, o, func(path string, text []byte) ([]byte, error) {
		out, found, err := settings.UnsetKey(path, text, key)
		if err == nil && !found {
			err = exitf(exitError, "setting %s is not set in %s", key, path)
		}
		return out, err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "Removed %s from %s\n", key, path)
	return err
}

// configPath prints the path of a settings file, or as JSON those of all.
func configPath(_ context.Context, env Env, o *options, words []string) error {
	if err := takes(words, 0, "config path [--scope user|project] [--json]"); err != nil {
		return err
	}
	folder, err := workingFolder(env, o)
	if err != nil {
		return err
	}
	if !o.json {
		_, err := fmt.Fprintln(env.Stdout, folder.File(session.Scope(o.scope)))
		return err
	}
	type file struct {
		Path   string `json:"path"`
		Scope  string `json:"scope"`
		Exists bool   `json:"exists"`
	}
	files := []file{}
	for _, f := range folder.Files() {
		_, err := os.Lstat(f.Path)
		files = append(files, file{f.Path, f.Scope, err == nil})
	}
	return printJSON(env.Stdout, files)
}

// configSchema prints the JSON Schema of settings files.
func configSchema(_ context.Context, env Env, _ *options, words []string) error {
	if err := takes(words, 0, "config schema"); err != nil {
		return err
	}
	schema, err := settings.Schema()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s\n", schema)
	return err
}
