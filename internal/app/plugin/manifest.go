package plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// format is a format of plugins. Skills, commands, agents and hooks are in the same places in all of them.
type format struct {
	name, manifest string
	servers        string // the file of MCP servers; "": only in the manifest
	portable       bool   // Agent Plugins: a closed manifest, and a format of its own for servers
	braces         bool   // see contextfiles.Plugin
}

// formats has all formats. The first whose manifest exists counts: Agent Plugins asks for that.
var formats = []format{
	{name: "Agent Plugins 1.0", manifest: "plugin.json", servers: "mcp.json", portable: true},
	{name: "Claude Code", manifest: ".claude-plugin/plugin.json", servers: ".mcp.json"},
	{name: "Qwen Code", manifest: "qwen-extension.json", braces: true},
}

const hooksFile = "hooks/hooks.json"

// maxConfig is the maximum size of a manifest and the files that it names.
const maxConfig = 1 << 20

// reading is how a plugin is read.
type reading struct {
	tree       string                           // its files
	root, data string                           // what variables for its directories stand for
	project    string                           // likewise for the working directory; "": they stay
	lookup     func(name string) (string, bool) // of other variables; nil: the plugin is only shown

	format
	p *Plugin
}

// read reads a plugin. It runs nothing.
func read(r reading) (*Plugin, error) {
	for _, r.format = range formats {
		text, err := r.file(r.manifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.manifestOf(text); err != nil {
			return nil, fmt.Errorf("%s: %w", r.manifest, err)
		}
		r.p.Definitions.Name, r.p.Definitions.Braces = r.p.Name, r.braces
		return r.p, nil
	}
	var names []string
	for _, f := range formats {
		names = append(names, f.manifest)
	}
	return nil, fmt.Errorf("not a plugin: it has no %s", strings.Join(names, ", "))
}

// file reads a file of the plugin.
func (r *reading) file(name string) ([]byte, error) {
	root, err := os.OpenRoot(r.tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readAtMost(root, name, maxConfig)
}

func (r *reading) note(format string, args ...any) {
	r.p.Notes = append(r.p.Notes, fmt.Sprintf(format, args...))
}

// manifestOf reads the manifest, and then what else the plugin has.
func (r *reading) manifestOf(text []byte) error {
	keys, err := object(text)
	if err != nil {
		return err
	}
	r.p = &Plugin{Format: r.format.name}
	all, err := portable()
	if err == nil && r.portable {
		err = conforms(text, "plugin")
	}
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var place string
		_, known := all["plugin"].Properties[key]
		_ = json.Unmarshal(keys[key], &place)
		switch key {
		case "hooks", "mcpServers", "displayName":
			known = !r.portable
		case "skills", "commands", "agents": // if it is the usual place
			known = !r.portable && path.Clean(place) == key
		case "extensions":
			known = r.portable && strings.HasPrefix(string(keys[key]), "{")
		}
		if !known {
			r.note("%s is ignored", key)
		}
	}
	_ = json.Unmarshal(keys["version"], &r.p.Version) // another type isn't shown
	if json.Unmarshal(keys["name"], &r.p.Name) != nil || !validName(r.p.Name) {
		return fmt.Errorf("invalid name %s: expected at most 64 of a-z, 0-9, - and ., which starts and ends with a "+
			"letter or digit and has no -- or ..", humanize.Shorten(string(keys["name"]), 80))
	}
	var servers map[string]discover.Server
	if r.portable {
		servers = r.portableServers()
	} else {
		servers, err = r.looseServers(keys["mcpServers"])
	}
	if err != nil {
		return err
	}
	r.p.Servers = map[string]discover.Server{}
	for name, server := range servers {
		if strings.TrimSpace(name) == "" || tool.Hidden(name) || strings.ContainsAny(name, "\n\t") {
			return fmt.Errorf("invalid name of an MCP server: %q", name)
		}
		server.Trust = false // it would approve calls
		if !r.portable && r.lookup != nil {
			server = server.Expand(r.lookup)
		}
		if server.Command != "" {
			server.Env = r.environ(server.Env)
		}
		r.p.Servers[r.p.Name+"_"+name] = server
	}
	return r.hooks(keys["hooks"])
}

// environ adds the plugin's variables to those of one of its programs.
func (r *reading) environ(own map[string]string) map[string]string {
	if r.lookup == nil {
		return own
	}
	env := map[string]string{}
	maps.Copy(env, own)
	maps.Copy(env, map[string]string{
		"PLUGIN_ROOT": r.root, "PLUGIN_DATA": r.data, "CLAUDE_PLUGIN_ROOT": r.root, "CLAUDE_PLUGIN_DATA": r.data,
		"PYTHONDONTWRITEBYTECODE": "1", // among the plugin's files, which must not change
	})
	return env
}

// config returns the configuration that a manifest has itself or in a file, with variables of the plugin replaced.
// usual is the file that is read if the manifest names none; nil: there is none. An object under the key inner may be
// around it.
func (r *reading) config(inner, usual string, raw json.RawMessage) (json.RawMessage, error) {
	var named string
	if json.Unmarshal(raw, &named) == nil && raw != nil {
		usual, raw = path.Clean(named), nil
		if !filepath.IsLocal(filepath.FromSlash(usual)) {
			return nil, fmt.Errorf("%s: %q is not a path in the plugin", inner, named)
		}
	}
	if raw == nil {
		if usual == "" {
			return nil, nil
		}
		text, err := r.file(usual)
		if errors.Is(err, fs.ErrNotExist) && named == "" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		keys, err := object(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", usual, err)
		}
		if raw = text; keys[inner] != nil {
			raw = keys[inner]
		}
	}
	pairs := []string{"${/}", "/", "${pathSeparator}", "/"}
	for value, names := range map[string]string{
		r.root: "PLUGIN_ROOT CLAUDE_PLUGIN_ROOT extensionPath", r.data: "PLUGIN_DATA CLAUDE_PLUGIN_DATA",
		cmp.Or(r.project, "${workspacePath}"): "CLAUDE_PROJECT_DIR workspacePath",
	} {
		quoted, err := humanize.JSON(value)
		if err != nil {
			return nil, err
		}
		for name := range strings.FieldsSeq(names) {
			pairs = append(pairs, "${"+name+"}", string(quoted[1:len(quoted)-1]))
		}
	}
	return json.RawMessage(strings.NewReplacer(pairs...).Replace(string(raw))), nil
}

func (r *reading) looseServers(raw json.RawMessage) (servers map[string]discover.Server, err error) {
	raw, err = r.config("mcpServers", r.servers, raw)
	if raw == nil || err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &servers); err != nil {
		return nil, fmt.Errorf("mcpServers: %s", discover.Misread(err))
	}
	return servers, nil
}

// hooks reads the plugin's hooks. They can't approve calls.
func (r *reading) hooks(raw json.RawMessage) error {
	if r.portable {
		raw = nil
	}
	raw, err := r.config("hooks", hooksFile, raw)
	if raw == nil || err != nil {
		return err
	}
	found, warnings, err := hook.Parse(raw)
	if err != nil {
		return err
	}
	for _, h := range found {
		h.NoApproval = true
		h.Env = r.environ(h.Env)
		r.p.Hooks = append(r.p.Hooks, h)
	}
	r.p.Notes = append(r.p.Notes, warnings...)
	return nil
}

// object reads a JSON object.
func object(text []byte) (keys map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(text, &keys); err == nil && keys == nil {
		err = errors.New("expected an object, got null")
	}
	if err != nil {
		err = fmt.Errorf("invalid JSON: %s", discover.Misread(err))
	}
	return keys, err
}

var pluginName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$`)

// validName reports whether a name is as Agent Plugins requires. It is the name of a directory, too.
func validName(name string) bool {
	return len(name) <= 64 && pluginName.MatchString(name) && !strings.Contains(name, "--") &&
		!strings.Contains(name, "..")
}
