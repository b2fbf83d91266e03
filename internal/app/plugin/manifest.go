package plugin

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// format is a format of plugins. Skills, commands, subagents and hooks are in the same places in all of them.
type format struct {
	name, manifest string
	schema         string // of its manifest
	servers        string // the file of MCP servers; "": only in the manifest
	braces         bool   // its commands have placeholders in braces
}

// formats has all formats. The first whose manifest exists counts: Agent Plugins asks for that.
var formats = [...]format{
	{"Agent Plugins 1.0", "plugin.json", portable, "mcp.json", false},
	{"Claude Code", ".claude-plugin/plugin.json", "loose", ".mcp.json", false},
	{"Qwen Code", "qwen-extension.json", "loose", "", true},
}

// portable is the schema of Agent Plugins: an invalid manifest is rejected, servers have schemas, too, and there is
// nothing of them and of hooks in the manifest.
const portable = "portable"

// formatsJSON has the schemas: loose and portable for manifests, servers for mcp.json, stdio and remote for each of its
// servers. The last four are written from the specification: the published ones have patterns that Go doesn't support.
//
//go:embed formats.json
var formatsJSON []byte

var schemas = sync.OnceValues(func() (all map[string]*jsonschema.Schema, err error) {
	return all, json.Unmarshal(formatsJSON, &all)
})

// conforms returns an error if a value doesn't conform to a schema; nil without one.
func conforms(schema *jsonschema.Schema, raw json.RawMessage) error {
	if schema == nil {
		return errors.New("unknown")
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}

const (
	hooksFile = "hooks/hooks.json"
	maxConfig = 1 << 20 // bytes of a manifest, and of the files that it names
)

// reading is how a plugin is read.
type reading struct {
	tree       string                           // its files
	root, data string                           // where they and the plugin's own files are when it runs
	project    string                           // the working directory
	lookup     func(name string) (string, bool) // of variables; nil: the plugin is shown as it is written

	format
	dir     *os.Root
	schemas map[string]*jsonschema.Schema
	p       *Plugin
}

// read reads a plugin. It runs nothing.
func read(r reading) (_ *Plugin, err error) {
	if r.schemas, err = schemas(); err != nil {
		return nil, err
	}
	if r.dir, err = os.OpenRoot(r.tree); err != nil {
		return nil, err
	}
	defer r.dir.Close()
	var names []string
	for _, r.format = range formats {
		text, err := readAtMost(r.dir, r.manifest, maxConfig)
		if err == nil {
			err = r.all(text)
		}
		if err == nil {
			return r.p, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", r.manifest, err)
		}
		names = append(names, r.manifest)
	}
	return nil, fmt.Errorf("not a plugin: it has no %s", strings.Join(names, ", "))
}

func (r *reading) note(format string, args ...any) {
	r.p.Notes = append(r.p.Notes, fmt.Sprintf(format, args...))
}

// all reads the manifest, and then what else the plugin has.
func (r *reading) all(manifest []byte) error {
	r.p = &Plugin{Format: r.format.name, Servers: map[string]discover.Server{}}
	keys, err := object(manifest)
	if err != nil {
		return err
	}
	schema, strict := r.schemas[r.schema], r.schema == portable
	for _, key := range schema.Required {
		if keys[key] == nil {
			return fmt.Errorf("it has no %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		property := schema.Properties[key]
		if err := conforms(property, keys[key]); err != nil && strict && property != nil && key != "extensions" {
			return fmt.Errorf("%s: %w", key, err)
		} else if err != nil {
			r.note("%s is ignored", key)
			delete(keys, key)
		}
	}
	_ = json.Unmarshal(keys["version"], &r.p.Version) // another type isn't shown
	if json.Unmarshal(keys["name"], &r.p.Name) != nil || !validName(r.p.Name) {
		return fmt.Errorf("invalid name %s: expected at most 64 of a-z, 0-9, - and ., which starts and ends with a "+
			"letter or digit and has no -- or ..", humanize.Shorten(string(keys["name"]), 80))
	}
	d := &r.p.Definitions
	d.Name, d.Strict, d.Braces = r.p.Name, strict, r.braces
	if err := r.servers(keys["mcpServers"]); err != nil {
		r.note("mcpServers is ignored: %v", err)
	}
	return r.hooks(keys["hooks"])
}

// config returns the configuration that a manifest has itself or in a file; nil without one. usual is the file that
// is read if the manifest names none. An object under the key name may be around it.
func (r *reading) config(name, usual string, raw json.RawMessage) (json.RawMessage, error) {
	if raw != nil && json.Unmarshal(raw, &usual) != nil {
		return raw, nil
	}
	file := filepath.FromSlash(usual)
	switch {
	case file == "":
		return nil, nil
	case !filepath.IsLocal(file):
		return nil, fmt.Errorf("%s: %q is not a path in the plugin", name, usual)
	}
	text, err := readAtMost(r.dir, file, maxConfig)
	if errors.Is(err, fs.ErrNotExist) && raw == nil {
		return nil, nil
	}
	if err == nil && name == "mcpServers" && r.schema == portable {
		err = conforms(r.schemas["servers"], text)
	}
	var keys map[string]json.RawMessage
	if err == nil {
		keys, err = object(text)
	}
	if keys[name] != nil {
		text = keys[name]
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", usual, err)
	}
	return text, err
}

// hooks reads the plugin's hooks. They can't approve calls. Invalid ones are an error, because they may be meant to
// protect something.
func (r *reading) hooks(raw json.RawMessage) error {
	raw, err := r.config("hooks", hooksFile, raw)
	if raw == nil || err != nil {
		return err
	}
	found, warnings, err := hook.Parse(raw)
	for _, h := range found {
		h.NoApproval = true
		h.Env = r.environ(h.Env)
		r.p.Hooks = append(r.p.Hooks, h)
	}
	r.p.Notes = append(r.p.Notes, warnings...)
	return err
}

// servers reads the plugin's MCP servers. Invalid ones are ignored, and the others are used.
func (r *reading) servers(raw json.RawMessage) error {
	raw, err := r.config("mcpServers", r.format.servers, raw)
	if raw == nil || err != nil {
		return err
	}
	all, err := object([]byte(strings.ReplaceAll(string(raw), "${/}", "/"))) // Qwen Code's separator
	for _, name := range slices.Sorted(maps.Keys(all)) {
		server, err := r.server(all[name])
		if strings.TrimSpace(name) == "" || tool.Hidden(name) || strings.ContainsAny(name, "\n\t") {
			err = errors.New("invalid name")
		}
		if err != nil {
			r.note("MCP server %q is ignored: %v", name, err)
			continue
		}
		r.p.Servers[r.p.Name+"_"+name] = server
	}
	return err
}

func (r *reading) server(raw json.RawMessage) (s discover.Server, err error) {
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, errors.New(discover.Misread(err))
	}
	s.Trust = false // it would approve calls
	switch {
	case r.schema == portable:
		err = r.portable(&s, raw)
	case r.lookup != nil:
		s = s.Expand(r.variable)
	}
	if s.Command != "" {
		s.Env = r.environ(s.Env)
	}
	return s, err
}

// portable checks a server of Agent Plugins. Only args, env and cwd have variables.
func (r *reading) portable(s *discover.Server, raw json.RawMessage) error {
	schema := "remote"
	if s.Type == "stdio" {
		schema = s.Type
	}
	if err := conforms(r.schemas[schema], raw); err != nil {
		return err
	}
	seen := map[string]bool{}
	for name := range s.Headers {
		seen[strings.ToLower(name)] = true
	}
	if len(seen) < len(s.Headers) {
		return errors.New("repeated header")
	}
	if s.Command == "" {
		return nil
	}
	expand := strings.NewReplacer("${PLUGIN_ROOT}", r.root, "${PLUGIN_DATA}", r.data).Replace
	for i := range s.Args {
		s.Args[i] = expand(s.Args[i])
	}
	for name, value := range s.Env {
		s.Env[name] = expand(value)
	}
	if strings.HasPrefix(s.Command, "./") {
		if info, err := r.dir.Stat(s.Command[2:]); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("command %q is not a file in the plugin", s.Command)
		}
		s.Command = filepath.Join(r.root, s.Command)
	}
	rel, isData := strings.CutPrefix(s.Cwd, "${PLUGIN_DATA}")
	rel = filepath.Join(".", strings.TrimPrefix(rel, "${PLUGIN_ROOT}"))
	base, dir := r.root, r.tree
	if isData {
		base, dir = r.data, r.data
	}
	info, err := stat(dir, rel)
	missing := isData && errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(rel) // it isn't approved, or made yet
	if !missing && (err != nil || !info.IsDir()) {
		return fmt.Errorf("cwd %q is not a directory in the plugin or its data", s.Cwd)
	}
	s.Cwd = filepath.Join(base, rel)
	return nil
}

// stat follows links that stay in a directory.
func stat(dir, path string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(path)
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

// variable returns a variable in the files of Claude Code and Qwen Code.
func (r *reading) variable(name string) (string, bool) {
	own := r.environ(map[string]string{
		"extensionPath": r.root, "workspacePath": r.project, "CLAUDE_PROJECT_DIR": r.project, "pathSeparator": "/",
	})
	if value, ok := own[name]; ok {
		return value, true
	}
	return r.lookup(name)
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

// validName reports whether a name is as Agent Plugins requires. It is the name of a directory, too.
func validName(name string) bool {
	shape := regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	return len(name) <= 64 && shape.MatchString(name) && !strings.Contains(name, "--") && !strings.Contains(name, "..")
}
