package lsp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/proc"
)

// Server is a language server: a row of the table of known ones, or one of the user's.
type Server struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	// Files are the languages, by the extensions of their files: ".go" is "go".
	Files map[string]string `json:"files"`
	// Init are the options of the initialization, and Settings those that the server asks for, by section.
	Init     json.RawMessage            `json:"init"`
	Settings map[string]json.RawMessage `json:"settings"`
	// TSServer means that diagnostics are asked from TypeScript's own server.
	TSServer bool `json:"tsserver"`
	// Version are the arguments with which it prints its version.
	Version []string `json:"version"`
	// Install is how users install it.
	Install string `json:"install"`
	Program string `json:"-"` // that was found; "": it isn't installed
}

//go:embed servers.json
var serversText []byte

// Known returns the known servers, with those of the user: one with the name of a known one replaces what it names, and
// null turns it off.
func Known(own map[string]json.RawMessage) (list []Server, err error) {
	if err := json.Unmarshal(serversText, &list); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		i := slices.IndexFunc(list, func(s Server) bool { return s.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, Server{Version: []string{"--version"}})
		}
		s, off := &list[i], string(own[name]) == "null"
		known := s.Files
		s.Files = nil
		err := json.Unmarshal(own[name], s)
		if s.Files == nil && !off {
			s.Files = known
		}
		if s.Name = name; !off && (err != nil || len(s.Command) == 0 || s.Command[0] == "" || len(s.Files) == 0) {
			return nil, fmt.Errorf(`%s: expected {"command": ["program", …], "files": {".ext": "language"}}`, name)
		}
	}
	return slices.DeleteFunc(list, func(s Server) bool { return s.Files == nil }), nil
}

// language returns the language of a file; "": the server isn't for it.
func (s Server) language(path string) string { return s.Files[strings.ToLower(filepath.Ext(path))] }

// Find returns the servers for the files in a directory. Those that are installed have a Program: found in path, the
// directories of PATH, of which those below a root are skipped. Without missing, only these are returned.
func Find(list []Server, path string, roots []string, missing bool) []Server {
	for i := range list {
		list[i].Program = proc.Program(list[i].Command[0], path, roots)
	}
	list = slices.DeleteFunc(list, func(s Server) bool { return s.Program == "" && !missing })
	if len(list) == 0 { // looking at the files takes longer
		return nil
	}
	found := extensions(roots[0])
	return slices.DeleteFunc(list, func(s Server) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(s.Files)), func(ext string) bool { return found[ext] })
	})
}

// The limits of looking for languages: it happens at every start.
const (
	maxDirs    = 12
	maxEntries = 2000
)

// extensions returns the extensions of the files in a directory, and in the directories in it.
func extensions(root string) map[string]bool {
	found, dirs := map[string]bool{}, []string{root}
	for i := 0; i < min(len(dirs), maxDirs); i++ {
		f, err := os.Open(dirs[i])
		if err != nil {
			continue
		}
		list, _ := f.ReadDir(maxEntries)
		f.Close()
		for _, e := range list {
			name := e.Name()
			if !e.IsDir() {
				found[strings.ToLower(filepath.Ext(name))] = true
			} else if i == 0 && name[0] != '.' && name != "node_modules" && name != "vendor" {
				dirs = append(dirs, filepath.Join(root, name))
			}
		}
	}
	return found
}
