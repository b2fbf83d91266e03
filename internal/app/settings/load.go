package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sources are the sources of settings. Empty ones are skipped.
type Sources struct {
	UserHome string   // the user's home directory, for .qwen
	AdzeHome string   // see Home
	System   []string // the directories of the machine's settings: see SystemDirs
	Project  string   // the working directory
	// the user trusts Project: its settings apply in full; otherwise they can only add restrictions
	Trusted bool
	Getenv  func(name string) string // the environment
	Flags   []Flag                   // from the command line; the last of a key wins
}

// Flag is a setting from the command line.
type Flag struct {
	Name  string // as typed, "--yolo"
	Key   string // "tools.approvalMode"
	Value string
	List  []string // instead of Value, for a setting that is a list
}

// layer is one file and how far it is trusted.
type layer struct {
	path          string
	qwen, project bool
	system        bool   // of the machine
	servers       string // the key of MCP servers, if only these are read
}

func (src Sources) layers() []layer {
	var ls []layer
	add := func(dir, sub string, qwen, project bool) {
		if dir != "" {
			ls = append(ls, layer{path: filepath.Join(dir, sub, "settings.json"), qwen: qwen, project: project})
		}
	}
	system := func(variable, name string) {
		for i, dir := range src.System {
			path := filepath.Join(dir, name)
			if v := src.getenv(variable); i == 0 && filepath.IsAbs(v) {
				path = v
			}
			ls = append(ls, layer{path: path, qwen: i == 0, system: true})
		}
	}
	system("QWEN_CODE_SYSTEM_DEFAULTS_PATH", "system-defaults.json")
	if dir := src.getenv("QWEN_HOME"); filepath.IsAbs(dir) {
		add(dir, "", true, false)
	} else {
		add(src.UserHome, ".qwen", true, false)
	}
	add(src.AdzeHome, "", false, false)
	if src.Project != "" {
		ls = append(ls,
			layer{path: filepath.Join(src.Project, ".vscode", "mcp.json"), project: true, servers: vscodeKey},
			layer{path: filepath.Join(src.Project, ".mcp.json"), project: true, servers: serversKey})
	}
	add(src.Project, ".qwen", true, true)
	add(src.Project, ".adze", false, true)
	system("QWEN_CODE_SYSTEM_SETTINGS_PATH", "settings.json")
	return ls
}

// SystemDirs returns the directories of settings for all users of a machine: Qwen Code's, then Adze's.
func SystemDirs(goos string) []string {
	switch goos {
	case "darwin":
		return []string{"/Library/Application Support/QwenCode", "/Library/Application Support/Adze"}
	case "windows":
		return []string{`C:\ProgramData\qwen-code`, `C:\ProgramData\adze`}
	}
	return []string{"/etc/qwen-code", "/etc/adze"}
}

// File is a settings file.
type File struct {
	Path  string
	Scope string // system, user or project
}

// Files returns the settings files that Load reads, weakest first, whether they exist or not.
func (src Sources) Files() []File {
	var files []File
	for _, l := range src.layers() {
		scope := "user"
		switch {
		case l.servers != "":
			continue
		case l.system:
			scope = "system"
		case l.project:
			scope = "project"
		}
		files = append(files, File{l.path, scope})
	}
	return files
}

func (src Sources) getenv(name string) string {
	if src.Getenv == nil {
		return ""
	}
	return src.Getenv(name)
}

// Load reads all sources. Its error is an *Error.
func Load(src Sources) (*Settings, error) {
	l := loader{settings: builtin(), keys: keys()}
	if err := l.files(src); err != nil {
		return nil, err
	}
	for _, k := range l.keys {
		for _, name := range k.env {
			if said := src.getenv(name); said != "" {
				if err := l.put(k, given{value: value{text: said}, from: Place{Source: "$" + name}},
					false); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, flag := range src.Flags {
		from := Place{Source: flag.Name}
		i := slices.IndexFunc(l.keys, func(k key) bool { return k.name == flag.Key })
		if i < 0 {
			return nil, &Error{From: from, Key: flag.Key, Reason: "is not a known setting"}
		}
		if err := l.put(l.keys[i], given{value: value{text: flag.Value, texts: flag.List}, from: from},
			false); err != nil {
			return nil, err
		}
	}
	if err := l.settings.Model.enforce(); err != nil {
		return nil, err
	}
	return &l.settings, nil
}

type loader struct {
	settings Settings
	keys     []key
}

func (l *loader) files(src Sources) error {
	var seen []os.FileInfo
	for _, layer := range src.layers() {
		f, info, err := readFile(layer.path)
		if err != nil && layer.servers != "" {
			l.ignore(err)
			continue
		}
		if err != nil {
			return err
		}
		// In the home directory, the project's files are the user's own, and count as those.
		if f == nil || slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		seen = append(seen, info)
		if layer.servers != "" {
			l.serversOf(f, layer, !src.Trusted)
			continue
		}
		if err := l.file(f, layer, layer.project && !src.Trusted); err != nil {
			return err
		}
	}
	return nil
}

// file reads the known keys of a file, and lists the others.
func (l *loader) file(f *file, from layer, tightenOnly bool) error {
	found := map[string][]member{} // by spelling
	if err := l.sort(f.root(), "", from.qwen, found); err != nil {
		return err
	}
	for _, k := range l.keys {
		for _, spelling := range k.spellings() {
			for _, m := range found[spelling] {
				if k.own && from.project {
					if from.qwen && strings.HasPrefix(k.name, "ui.") { // appearance of another program
						continue
					}
					note := Note{f.place(m.start), k.name, "ignored (allowed only in user settings)"}
					l.settings.notes = append(slices.Clip(l.settings.notes), note)
					continue
				}
				if err := l.put(k, given{m.value, f.place(m.start), from.qwen, from.project}, tightenOnly); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sort walks the objects that contain known keys. A duplicate key is found twice, so that the second doesn't hide rules
// of the first.
func (l *loader) sort(object value, prefix string, qwen bool, found map[string][]member) error {
	for _, m := range object.members() {
		name := prefix + m.name
		holds, known := l.meaning(name)
		if strings.Contains(m.name, ".") {
			holds, known = false, false // "tools.x" as one name isn't x in tools
		}
		switch kind := m.kind(); {
		case kind == "null" && (holds || known): // as if it were missing
		case holds && kind == "an object":
			if err := l.sort(m.value, name+".", qwen, found); err != nil {
				return err
			}
		case known:
			found[name] = append(found[name], m)
		case holds:
			return &Error{From: m.file.place(m.start), Key: name, Reason: "must be an object, got " + kind}
		case name != "$schema" && name != "$version":
			l.settings.unknown = append(l.settings.unknown,
				UnknownKey{m.file.place(m.at), name, qwen, string(m.json())})
		}
	}
	return nil
}

// meaning reports whether there are known keys below name, and whether it is one itself.
func (l *loader) meaning(name string) (holds, known bool) {
	for _, k := range l.keys {
		for _, s := range k.spellings() {
			holds = holds || strings.HasPrefix(s, name+".")
			known = known || s == name
		}
	}
	return holds, known
}

// put sets a value, unless it comes from a project that may only add restrictions and doesn't.
func (l *loader) put(k key, g given, tightenOnly bool) error {
	after := l.settings
	note, err := k.put(&after, g)
	if err != nil {
		return &Error{From: g.from, Key: k.name, Reason: err.Error()}
	}
	if tightenOnly && (k.tightens == nil || !k.tightens(&l.settings, &after)) {
		note = "ignored (untrusted project; run adze trust)"
		after = l.settings
		after.withheld = append(slices.Clip(after.withheld), Withheld{g.from, k.name, string(g.json())})
	} else {
		after.record(k, g)
	}
	if note != "" {
		after.notes = append(slices.Clip(after.notes), Note{g.from, k.name, note})
	}
	l.settings = after
	return nil
}
