package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Server is a language server: a row of the table of known ones, or one of the user's.
type Server struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	// Files are the languages, by the extensions of their files: ".go" is "go".
	Files map[string]string `json:"files"`
	// Init are the options of the initialization, and Settings those that the server asks for, by section.
	Init     json.RawMessage            `json:"init,omitempty"`
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
	// TSServer means that diagnostics are asked from TypeScript's own server.
	TSServer bool `json:"tsserver,omitempty"`
	// Version are the arguments with which it prints its version; nil: --version.
	Version []string `json:"version,omitempty"`
	// Install is how users install it.
	Install string `json:"install,omitempty"`
	Off     bool   `json:"off,omitempty"` // the user doesn't want it

	Program string `json:"-"` // that was found; "": it isn't installed
}

// Known returns the known servers, with those of the user: one with the name of a known one replaces what it names, and
// null turns it off.
func Known(own map[string]json.RawMessage) ([]Server, error) {
	list := known()
	for name, raw := range own {
		i := slices.IndexFunc(list, func(s Server) bool { return s.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, Server{})
		}
		s := list[i]
		if s.Files = nil; string(raw) == "null" {
			s.Off = true
		} else if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if s.Files == nil {
			s.Files = list[i].Files
		}
		if s.Name = name; !s.Off && (len(s.Command) == 0 || s.Command[0] == "" || len(s.Files) == 0) {
			return nil, fmt.Errorf(`%s: expected {"command": ["program", …], "files": {".ext": "language"}}`, name)
		}
		list[i] = s
	}
	return list, nil
}

// language returns the language of a file; "": the server isn't for it.
func (s Server) language(path string) string { return s.Files[strings.ToLower(filepath.Ext(path))] }

// The limits of looking for languages: it happens at every start.
const (
	maxDirs    = 12
	maxEntries = 2000
)

// Languages returns the extensions of the files in some directories, and in the directories in these.
func Languages(roots []string) map[string]bool {
	found := map[string]bool{}
	level := slices.Clone(roots)
	for depth, left := 0, maxDirs; depth < 2; depth++ {
		var below []string
		for _, dir := range level {
			if left--; left < 0 {
				return found
			}
			for _, e := range entries(dir) {
				if name := e.Name(); !e.IsDir() {
					found[strings.ToLower(filepath.Ext(name))] = true
				} else if !strings.HasPrefix(name, ".") && name != "node_modules" && name != "vendor" {
					below = append(below, filepath.Join(dir, name))
				}
			}
		}
		level = below
	}
	return found
}

// entries returns the first entries of a directory.
func entries(dir string) []os.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.ReadDir(maxEntries)
	return list
}

// For returns the servers for files with these extensions.
func For(list []Server, extensions map[string]bool) (out []Server) {
	for _, s := range list {
		for ext := range s.Files {
			if extensions[ext] && !s.Off {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// Find sets the Program of servers that are installed: found in path, the directories of PATH, of which those below a
// root are skipped.
func Find(list []Server, path string, roots []string) []Server {
	list = slices.Clone(list)
	for i := range list {
		if !list[i].Off {
			list[i].Program = lookUp(list[i].Command[0], path, roots)
		}
	}
	return list
}

// lookUp finds a program.
func lookUp(name, path string, roots []string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if filepath.IsAbs(name) {
			file = name
		}
		info, err := os.Stat(file)
		if !filepath.IsAbs(file) || err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		inside := func(root string) bool {
			return below(file, root) || below(real, root)
		}
		if err == nil && !slices.ContainsFunc(roots, inside) {
			return file
		}
	}
	return ""
}

// below reports whether a path is a directory or in it.
func below(path, dir string) bool {
	const sep = string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, sep)+sep)
}
