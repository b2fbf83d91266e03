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
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/adze-dev/adze/discover"
)

// portableJSON has schemas for Agent Plugins 1.0: plugin, servers, and for each entry of servers stdio and remote.
// They are written from the specification, because the published ones have patterns that Go doesn't support.
//
//go:embed portable.json
var portableJSON []byte

var portable = sync.OnceValues(func() (all map[string]*jsonschema.Schema, err error) {
	return all, json.Unmarshal(portableJSON, &all)
})

// conforms returns an error if raw doesn't conform to a schema of portableJSON.
func conforms(raw []byte, name string) error {
	all, err := portable()
	if err != nil {
		return err
	}
	schema, err := all[name].Resolve(nil)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("invalid JSON: %w", err)
	}
	return schema.Validate(value)
}

// portableServers reads mcp.json. An invalid file or server is ignored, and the others are used.
func (r *reading) portableServers() map[string]discover.Server {
	text, err := r.file(r.servers)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var all struct{ MCPServers map[string]json.RawMessage }
	if err == nil {
		err = conforms(text, "servers")
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		r.note("%s is ignored: %v", r.servers, err)
	}
	servers := map[string]discover.Server{}
	for _, name := range slices.Sorted(maps.Keys(all.MCPServers)) {
		server, err := r.portableServer(all.MCPServers[name])
		if err != nil {
			r.note("MCP server %q is ignored: %v", name, err)
			continue
		}
		servers[name] = server
	}
	return servers
}

// portableServer reads one entry of mcp.json. Only args, env and cwd have variables.
func (r *reading) portableServer(raw json.RawMessage) (s discover.Server, err error) {
	err = conforms(raw, "stdio")
	if err != nil && conforms(raw, "remote") != nil {
		return s, err
	}
	if err = json.Unmarshal(raw, &s); err != nil {
		return s, err
	}
	seen := map[string]bool{}
	for name := range s.Headers {
		lower := strings.ToLower(name)
		if seen[lower] {
			return s, fmt.Errorf("repeated header %q", name)
		}
		seen[lower] = true
	}
	if s.Command == "" {
		return s, nil
	}
	expand := strings.NewReplacer("${PLUGIN_ROOT}", r.root, "${PLUGIN_DATA}", r.data).Replace
	for i := range s.Args {
		s.Args[i] = expand(s.Args[i])
	}
	for name, value := range s.Env {
		s.Env[name] = expand(value)
	}
	if rel, ok := strings.CutPrefix(s.Command, "./"); ok {
		if info, err := stat(r.tree, rel); err != nil || !info.Mode().IsRegular() {
			return s, fmt.Errorf("command %q is not a file in the plugin", s.Command)
		}
		s.Command = filepath.Join(r.root, rel)
	}
	written, base, dir := s.Cwd, r.root, r.tree
	switch s.Cwd = expand(written); {
	case strings.HasPrefix(written, "${PLUGIN_DATA}"):
		base, dir = r.data, r.data
	case !strings.HasPrefix(written, "${PLUGIN_ROOT}"):
		s.Cwd = filepath.Join(base, s.Cwd)
	}
	rel, err := filepath.Rel(base, s.Cwd)
	if err == nil {
		var info fs.FileInfo
		info, err = stat(dir, rel)
		if base == r.data && errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(rel) { // it isn't approved, or made yet
			err = nil
		} else if err == nil && !info.IsDir() {
			err = fs.ErrInvalid
		}
	}
	if err != nil {
		err = fmt.Errorf("cwd %q is not a directory in the plugin or its data", written)
	}
	return s, err
}

// stat follows links that stay in a directory.
func stat(dir, rel string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(rel)
}
