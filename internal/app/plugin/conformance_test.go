package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/discover"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
)

// write writes files of a plugin. A name that ends with "*" is a program, one with " -> " a link.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(dir, strings.TrimSuffix(name, "*"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "*"):
			err = os.WriteFile(path, []byte(text), 0o755)
		default:
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func where(t *testing.T) Where {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Where{
		Home: home, Servers: filepath.Join(home, "mcp"), Project: t.TempDir(), Helper: helper,
		Lookup: func(name string) (string, bool) {
			if name == "TOKEN" {
				return "value of TOKEN", true
			}
			return os.LookupEnv(name)
		},
	}
}

// install adds a plugin with these files.
func install(t *testing.T, w Where, files map[string]string) (*Plugin, error) {
	t.Helper()
	src := t.TempDir()
	write(t, src, files)
	return installFrom(t, w, ParseSource(src, ""))
}

func installFrom(t *testing.T, w Where, from Source) (*Plugin, error) {
	t.Helper()
	var out strings.Builder
	if err := Review(t.Context(), w, from, nil, &out, func() error { return nil }); err != nil {
		return nil, err
	}
	all, notes := Load(w)
	for _, p := range all {
		if strings.HasPrefix(out.String(), "Plugin "+p.Name+" ") {
			p.Notes = nil
			for line := range strings.Lines(out.String()) {
				if note, ok := strings.CutPrefix(line, "note: "); ok {
					p.Notes = append(p.Notes, note)
				}
			}
			return p, nil
		}
	}
	t.Fatalf("it isn't loaded: %v\n%s", notes, &out)
	return nil, nil
}

func skills(p *Plugin) (names []string) {
	all, _ := contextfiles.Skills(contextfiles.Places{Plugins: []contextfiles.Plugin{p.Definitions}})
	for _, s := range all {
		if _, err := s.About(); err == nil {
			names = append(names, s.Name)
		}
	}
	return names
}

const greet = "---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n"

const (
	schemaOfPlugins = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
	schemaOfServers = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
)

func manifest(more string) string {
	return `{"$schema":"` + schemaOfPlugins + `","name":"my-plugin"` + more + `}`
}

// The cases of Agent Plugins 1.0, section 5: which manifests are rejected, and which differences are only reported.
func TestManifests(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		fails, note string
	}{
		{"minimal", manifest(""), "", ""},
		{"full", manifest(`,"version":"1.2.0","description":"d","author":{"name":"n","email":"e","url":"u"},` +
			`"homepage":"h","repository":"r","license":"l","keywords":["a"],"extensions":{"com.example":{"x":1}}`), "", ""},
		{"loose values", manifest(`,"version":"next","homepage":"no url","license":"none"`), "", ""},
		{"unknown field", manifest(`,"skills":"./elsewhere"`), "", "skills is ignored"},
		{"inline servers", manifest(`,"mcpServers":{"x":{"type":"stdio","command":"sh"}}`), "", "mcpServers is ignored"},
		{"settings", manifest(`,"permissions":{"allow":["Shell"]},"model":"m","env":{"PATH":"/x"}`), "", "permissions is ignored"},
		{"extensions not an object", manifest(`,"extensions":[1]`), "", "extensions is ignored"},
		{"no schema", `{"name":"a"}`, "$schema", ""},
		{"another version", `{"$schema":"https://agent-plugins.org/schemas/2.0.0/plugin.schema.json","name":"a"}`, "$schema", ""},
		{"no name", `{"$schema":"` + schemaOfPlugins + `"}`, "name", ""},
		{"name of another type", `{"$schema":"` + schemaOfPlugins + `","name":7}`, "name", ""},
		{"version of another type", manifest(`,"version":1`), "version", ""},
		{"null", manifest(`,"version":null`), "version", ""},
		{"keywords with a number", manifest(`,"keywords":["a",1]`), "keywords", ""},
		{"keywords with null", manifest(`,"keywords":[null]`), "keywords", ""},
		{"author is text", manifest(`,"author":"n"`), "author", ""},
		{"author with another field", manifest(`,"author":{"nick":"n"}`), "nick", ""},
		{"author with a number", manifest(`,"author":{"name":1}`), "author", ""},
		{"not an object", `[]`, "invalid JSON", ""},
		{"null object", `null`, "got null", ""},
		{"not JSON", `{"name":`, "invalid JSON", ""},
		{"10 MB", manifest(strings.Repeat(" ", 10<<20)), "too large", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := where(t)
			p, err := install(t, w, map[string]string{
				"plugin.json": c.text, "skills/greet/SKILL.md": greet, "elsewhere/other/SKILL.md": greet,
			})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("got %v, want %q", err, c.fails)
				}
				if left, _ := os.ReadDir(w.Home); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(skills(p)); got != "[my-plugin:greet]" || len(p.Servers) > 0 {
				t.Errorf("skills %s, servers %v", got, p.Servers)
			}
			if notes := strings.Join(p.Notes, "\n"); c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
				t.Errorf("notes: %q, want %q", notes, c.note)
			}
		})
	}
}

// Section 5.5.
func TestNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"my-plugin": true, "acme.tools": true, "lint3r": true, "a": true, strings.Repeat("a", 64): true,
		"My-Plugin": false, "-start": false, "end-": false, ".a": false, "has--double": false, "too.many..dots": false,
		"": false, "..": false, "a/b": false, "a_b": false, "a\n": false, "é": false, strings.Repeat("a", 65): false,
	} {
		raw, _ := json.Marshal(name)
		_, err := install(t, where(t), map[string]string{"plugin.json": `{"$schema":"` + schemaOfPlugins + `","name":` + string(raw) + `}`})
		if (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Sections 4.1, 7.2 and 9: one invalid server doesn't prevent the others, and the paths of all stay in the plugin.
func TestServers(t *testing.T) {
	w := where(t)
	root := filepath.Join(w.Home, "plugins", "my-plugin", "tree")
	data := filepath.Join(w.Home, "plugins", "my-plugin", "data")
	for _, c := range []struct {
		name, entry string
		want        *discover.Server // nil: it is ignored
	}{
		{"bare", `{"type":"stdio","command":"npx","args":["-y","${PLUGIN_ROOT}/a b","${PLUGIN_DATA}","${HOME}","$TOKEN","${PLUGIN_ROOT"]}`,
			&discover.Server{Command: "npx", Args: []string{"-y", root + "/a b", data, "${HOME}", "$TOKEN", "${PLUGIN_ROOT"}, Cwd: root}},
		{"in the plugin", `{"type":"stdio","command":"./bin/server"}`, &discover.Server{Command: root + "/bin/server", Cwd: root}},
		{"by a link in it", `{"type":"stdio","command":"./bin/link"}`, &discover.Server{Command: root + "/bin/link", Cwd: root}},
		{"relative cwd", `{"type":"stdio","command":"a","cwd":"./bin"}`, &discover.Server{Command: "a", Cwd: root + "/bin"}},
		{"root cwd", `{"type":"stdio","command":"a","cwd":"${PLUGIN_ROOT}"}`, &discover.Server{Command: "a", Cwd: root}},
		{"below root cwd", `{"type":"stdio","command":"a","cwd":"${PLUGIN_ROOT}/bin"}`, &discover.Server{Command: "a", Cwd: root + "/bin"}},
		{"data cwd", `{"type":"stdio","command":"a","cwd":"${PLUGIN_DATA}"}`, &discover.Server{Command: "a", Cwd: data}},
		{"below data cwd", `{"type":"stdio","command":"a","cwd":"${PLUGIN_DATA}/x"}`, &discover.Server{Command: "a", Cwd: data + "/x"}},
		{"env", `{"type":"stdio","command":"a","env":{"A":"${PLUGIN_DATA}/x","B":"${TOKEN}","${PLUGIN_ROOT}":"c"}}`,
			&discover.Server{Command: "a", Cwd: root, Env: map[string]string{"A": data + "/x", "B": "${TOKEN}", "${PLUGIN_ROOT}": "c"}}},
		{"http", `{"type":"streamable-http","url":"https://example.com/${PLUGIN_ROOT}?a=$TOKEN","headers":{"X-A":"${TOKEN}"}}`,
			&discover.Server{Type: "streamable-http", URL: "https://example.com/${PLUGIN_ROOT}?a=$TOKEN", Headers: map[string]string{"X-A": "${TOKEN}"}}},
		{"loopback", `{"type":"streamable-http","url":"http://127.0.0.1:80/mcp"}`, &discover.Server{Type: "streamable-http", URL: "http://127.0.0.1:80/mcp"}},
		{"loopback by name", `{"type":"streamable-http","url":"http://localhost/mcp"}`, &discover.Server{Type: "streamable-http", URL: "http://localhost/mcp"}},
		{"loopback 6", `{"type":"sse","url":"http://[::1]/sse"}`, &discover.Server{Type: "sse", URL: "http://[::1]/sse"}},

		{"command line", `{"type":"stdio","command":"sh -c /bin/true"}`, nil},
		{"escaping command", `{"type":"stdio","command":"../bin/server"}`, nil},
		{"escaping command below", `{"type":"stdio","command":"./../../x"}`, nil},
		{"absolute command", `{"type":"stdio","command":"/bin/sh"}`, nil},
		{"command with a variable", `{"type":"stdio","command":"${PLUGIN_ROOT}/bin/server"}`, nil},
		{"command by a link out", `{"type":"stdio","command":"./bin/out"}`, nil},
		{"missing program", `{"type":"stdio","command":"./bin/none"}`, nil},
		{"empty command", `{"type":"stdio","command":""}`, nil},
		{"no command", `{"type":"stdio"}`, nil},
		{"no type", `{"command":"a"}`, nil},
		{"unknown type", `{"type":"http","url":"https://example.com"}`, nil},
		{"unknown field", `{"type":"stdio","command":"a","trust":true}`, nil},
		{"field in another case", `{"type":"stdio","Command":"a","command":"b"}`, nil},
		{"field of another kind", `{"type":"stdio","command":"a","url":"https://example.com"}`, nil},
		{"null field", `{"type":"stdio","command":"a","args":null}`, nil},
		{"numeric arg", `{"type":"stdio","command":"a","args":[1]}`, nil},
		{"null arg", `{"type":"stdio","command":"a","args":[null]}`, nil},
		{"reserved root", `{"type":"stdio","command":"a","env":{"PLUGIN_ROOT":"/"}}`, nil},
		{"reserved data", `{"type":"stdio","command":"a","env":{"PLUGIN_DATA":"/"}}`, nil},
		{"numeric env", `{"type":"stdio","command":"a","env":{"A":1}}`, nil},
		{"bare cwd", `{"type":"stdio","command":"a","cwd":"bin"}`, nil},
		{"absolute cwd", `{"type":"stdio","command":"a","cwd":"/"}`, nil},
		{"escaping cwd", `{"type":"stdio","command":"a","cwd":"./.."}`, nil},
		{"escaping data cwd", `{"type":"stdio","command":"a","cwd":"${PLUGIN_DATA}/.."}`, nil},
		{"escaping root cwd", `{"type":"stdio","command":"a","cwd":"${PLUGIN_ROOT}/../data"}`, nil},
		{"glued cwd", `{"type":"stdio","command":"a","cwd":"${PLUGIN_ROOT}x"}`, nil},
		{"cwd by a link out", `{"type":"stdio","command":"a","cwd":"./outside"}`, nil},
		{"cwd is a file", `{"type":"stdio","command":"a","cwd":"./bin/server"}`, nil},
		{"http elsewhere", `{"type":"streamable-http","url":"http://example.com/mcp"}`, nil},
		{"not loopback", `{"type":"streamable-http","url":"http://127.0.0.1.example.com/mcp"}`, nil},
		{"fragment", `{"type":"streamable-http","url":"https://example.com/mcp#"}`, nil},
		{"user", `{"type":"streamable-http","url":"https://me@example.com/mcp"}`, nil},
		{"another scheme", `{"type":"streamable-http","url":"ftp://example.com/mcp"}`, nil},
		{"no host", `{"type":"streamable-http","url":"https:///mcp"}`, nil},
		{"relative url", `{"type":"streamable-http","url":"/mcp"}`, nil},
		{"repeated header", `{"type":"streamable-http","url":"https://example.com","headers":{"X-A":"1","x-a":"2"}}`, nil},
		{"header name", `{"type":"streamable-http","url":"https://example.com","headers":{"X A":"1"}}`, nil},
		{"header value", `{"type":"streamable-http","url":"https://example.com","headers":{"X-A":"1\r\nB: 2"}}`, nil},
		{"not an object", `"sh"`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := install(t, w, map[string]string{
				"plugin.json": manifest(""), "skills/greet/SKILL.md": greet, "bin/server*": "#!/bin/sh\n",
				"bin/link -> server": "", "bin/out -> /bin/sh": "", "outside -> ..": "",
				"mcp.json": `{"$schema":"` + schemaOfServers + `","mcpServers":{"other":{"type":"stdio","command":"true"},"it":` + c.entry + `}}`,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer Remove(t.Context(), w, "my-plugin")
			if _, ok := p.Servers["my-plugin_other"]; !ok || len(skills(p)) != 1 {
				t.Errorf("the rest isn't loaded: %v, %v", p.Servers, skills(p))
			}
			got, ok := p.Servers["my-plugin_it"]
			if c.want == nil {
				if ok || !strings.Contains(strings.Join(p.Notes, "\n"), `MCP server "it" is ignored`) {
					t.Errorf("got %+v; notes %q", got, p.Notes)
				}
				return
			}
			if c.want.Command != "" {
				if c.want.Type = "stdio"; c.want.Env == nil {
					c.want.Env = map[string]string{}
				}
				maps.Copy(c.want.Env, map[string]string{
					"PLUGIN_ROOT": root, "PLUGIN_DATA": data, "CLAUDE_PLUGIN_ROOT": root, "CLAUDE_PLUGIN_DATA": data,
					"PYTHONDONTWRITEBYTECODE": "1",
				})
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", *c.want) {
				t.Errorf("got %+v\nwant %+v\nnotes %q", got, *c.want, p.Notes)
			}
		})
	}
}

// Section 7.2.2: an invalid mcp.json disables servers only. Sections 6.2 and 7.1: so for other places, and skills are
// not searched for in deeper directories.
func TestPlaces(t *testing.T) {
	server := `"mcpServers":{"a":{"type":"stdio","command":"true"}}`
	for _, c := range []struct {
		name    string
		files   map[string]string
		servers int
		skills  string
	}{
		{"valid", map[string]string{"mcp.json": `{"$schema":"` + schemaOfServers + `",` + server + `}`}, 1, "[my-plugin:greet]"},
		{"no servers", map[string]string{"mcp.json": `{"$schema":"` + schemaOfServers + `","mcpServers":{}}`}, 0, "[my-plugin:greet]"},
		{"invalid JSON", map[string]string{"mcp.json": `{`}, 0, "[my-plugin:greet]"},
		{"no schema", map[string]string{"mcp.json": `{` + server + `}`}, 0, "[my-plugin:greet]"},
		{"another version", map[string]string{"mcp.json": `{"$schema":"https://agent-plugins.org/schemas/1.1.0/mcp.schema.json",` + server + `}`}, 0, "[my-plugin:greet]"},
		{"another field", map[string]string{"mcp.json": `{"$schema":"` + schemaOfServers + `","x":1,` + server + `}`}, 0, "[my-plugin:greet]"},
		{"servers are a list", map[string]string{"mcp.json": `{"$schema":"` + schemaOfServers + `","mcpServers":[]}`}, 0, "[my-plugin:greet]"},
		{"a directory", map[string]string{"mcp.json/x": ``}, 0, "[my-plugin:greet]"},
		{"a link out", map[string]string{"mcp.json -> /etc/hostname": ``}, 0, "[my-plugin:greet]"},
		{"another file", map[string]string{".mcp.json": `{` + server + `}`}, 0, "[my-plugin:greet]"},
		{"an invalid skill", map[string]string{"skills/bad/SKILL.md": "no front matter"}, 0, "[my-plugin:greet]"},
		{"a skill without a name", map[string]string{"skills/bad/SKILL.md": "---\ndescription: x\n---\n"}, 0, "[my-plugin:greet]"},
		{"a skill with another name", map[string]string{"skills/bad/SKILL.md": "---\nname: good\ndescription: x\n---\n"}, 0, "[my-plugin:greet]"},
		{"a skill in upper case", map[string]string{"skills/Bad/SKILL.md": "---\nname: Bad\ndescription: x\n---\n"}, 0, "[my-plugin:greet]"},
		{"a skill with two hyphens", map[string]string{"skills/b--ad/SKILL.md": "---\nname: b--ad\ndescription: x\n---\n"}, 0, "[my-plugin:greet]"},
		{"a skill that ends with one", map[string]string{"skills/bad-/SKILL.md": "---\nname: bad-\ndescription: x\n---\n"}, 0, "[my-plugin:greet]"},
		{"a skill without a description", map[string]string{"skills/bad/SKILL.md": "---\nname: bad\n---\n"}, 0, "[my-plugin:greet]"},
		{"a skill with a long description", map[string]string{"skills/bad/SKILL.md": "---\nname: bad\ndescription: " + strings.Repeat("é", 1025) + "\n---\n"}, 0, "[my-plugin:greet]"},
		{"a full skill", map[string]string{"skills/f-1/SKILL.md": "---\nname: f-1\ndescription: " + strings.Repeat("é", 1024) +
			"\nlicense: MIT\ncompatibility: git\nmetadata:\n  a: \"1\"\nallowed-tools: Bash(git:*) Read\n---\n"}, 0, "[my-plugin:f-1 my-plugin:greet]"},
		{"a skill by a link out", map[string]string{"skills/out/SKILL.md -> /etc/hostname": ""}, 0, "[my-plugin:greet]"},
		{"deeper skills", map[string]string{"skills/greet/more/deep/SKILL.md": greet, "skills/none/README.md": ""}, 0, "[my-plugin:greet]"},
		{"skills is a file", map[string]string{"plugin.json": manifest(""), "skills": "x"}, 0, "[]"},
		{"skills is a link out", map[string]string{"plugin.json": manifest(""), "skills -> ../..": ""}, 0, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"plugin.json": manifest("")}
			if c.skills != "[]" {
				files["skills/greet/SKILL.md"] = greet
			}
			maps.Copy(files, c.files)
			p, err := install(t, where(t), files)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(skills(p)); len(p.Servers) != c.servers || got != c.skills {
				t.Errorf("servers %v, skills %s, notes %q", p.Servers, got, p.Notes)
			}
			if strings.HasPrefix(c.name, "a skill ") && len(p.Notes) == 0 {
				t.Error("nothing is reported")
			}
		})
	}
}

// Section 9: the root is a resolved path, and what replaces a variable isn't read again.
func TestVariablesInPaths(t *testing.T) {
	w := where(t)
	real := filepath.Join(w.Home, "${PLUGIN_DATA}")
	write(t, w.Home, map[string]string{"${PLUGIN_DATA}/x": "", "link -> ${PLUGIN_DATA}": ""})
	w.Home = filepath.Join(w.Home, "link")
	p, err := install(t, w, map[string]string{"plugin.json": manifest(""),
		"mcp.json": `{"$schema":"` + schemaOfServers + `","mcpServers":{"it":{"type":"stdio","command":"a","args":["${PLUGIN_ROOT}"]}}}`})
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(real, "plugins", "my-plugin", "tree")
	if s := p.Servers["my-plugin_it"]; s.Args[0] != root || s.Env["PLUGIN_ROOT"] != root || s.Cwd != root {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(p.Servers["my-plugin_it"].Env["PLUGIN_DATA"]); err != nil {
		t.Error(err)
	}
}

// The plugin's directory is in the text of its commands, as in its hooks and servers; a review shows the variable.
func TestRootInCommands(t *testing.T) {
	w := where(t)
	p, err := install(t, w, map[string]string{".claude-plugin/plugin.json": `{"name":"my-plugin"}`,
		"commands/look.md": "See ${CLAUDE_PLUGIN_ROOT}/a.md.\n!`cat ${CLAUDE_PLUGIN_ROOT}/b`\n"})
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(w.Home, "plugins", "my-plugin", "tree")
	commands, notes := contextfiles.Commands(contextfiles.Places{Plugins: []contextfiles.Plugin{p.Definitions}})
	if parts := commands[0].Parts; parts[0].Text != "See "+root+"/a.md.\n" || parts[1].Text != "cat "+root+"/b" {
		t.Errorf("%+v, notes %q", parts, notes)
	}
	p.Definitions.Seals = nil
	review := contextfiles.Places{Plugins: []contextfiles.Plugin{p.Definitions}}.Sealed()
	if len(review) != 1 || review[0].Runs[0] != "!{cat ${CLAUDE_PLUGIN_ROOT}/b}" {
		t.Errorf("%+v", review)
	}
}

// The formats have different manifests, and variables; the rest is the same code.
func TestFormats(t *testing.T) {
	common := map[string]string{
		"skills/greet/SKILL.md": greet, "commands/git/st.md": "Look at $ARGUMENTS and {{args}}.",
		"agents/rev.md":    "---\ndescription: Reviews.\ncapabilities: [\"task1\"]\nmodel: opus\n---\nReview.\n",
		"hooks/hooks.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"${CLAUDE_PLUGIN_ROOT}/start.sh"}]}]}}`,
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		all   []string // servers, skills, commands, agents, hooks
		args  string   // of the server
	}{
		{"Agent Plugins 1.0", map[string]string{"plugin.json": manifest(""), ".claude-plugin/plugin.json": `{"name":"other"}`,
			"mcp.json": `{"$schema":"` + schemaOfServers + `","mcpServers":{"s":{"type":"stdio","command":"a","args":["$TOKEN"]}}}`},
			[]string{"my-plugin_s", "my-plugin:greet", "my-plugin:git:st", "my-plugin:rev", "ROOT/start.sh"}, "[$TOKEN]"},
		{"Claude Code", map[string]string{".claude-plugin/plugin.json": `{"name":"my-plugin","version":"1.0.0","commands":["./more"],"lspServers":{}}`,
			"more/x.md": "Not read.", ".mcp.json": `{"mcpServers":{"s":{"command":"a","args":["${CLAUDE_PLUGIN_ROOT}","${TOKEN}"],"trust":true}}}`},
			[]string{"my-plugin_s", "my-plugin:greet", "my-plugin:git:st", "my-plugin:rev", "ROOT/start.sh"}, "[ROOT value of TOKEN]"},
		{"Qwen Code", map[string]string{"qwen-extension.json": `{"name":"my-plugin","version":"1.0.0","skills":"skills","contextFileName":"X.md",
			"mcpServers":{"s":{"command":"a","args":["${extensionPath}${/}x","${workspacePath}"],"cwd":"${extensionPath}"}}}`, ".mcp.json": `{"t":{"command":"b"}}`},
			[]string{"my-plugin_s", "my-plugin:greet", "my-plugin:git:st", "my-plugin:rev", "ROOT/start.sh"}, "[ROOT/x PROJECT]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := where(t)
			files := maps.Clone(common)
			maps.Copy(files, c.files)
			p, err := install(t, w, files)
			if err != nil {
				t.Fatal(err)
			}
			root := filepath.Join(w.Home, "plugins", "my-plugin", "tree")
			got := slices.Concat(slices.Sorted(maps.Keys(p.Servers)), skills(p))
			places := contextfiles.Places{Plugins: []contextfiles.Plugin{p.Definitions}}
			commands, _ := contextfiles.Commands(places)
			for _, one := range commands {
				got = append(got, one.Name)
			}
			agents, _ := contextfiles.Agents(places)
			for _, one := range agents {
				got = append(got, one.Name)
				if one.Model != "" {
					t.Errorf("the plugin sets a model: %s", one.Model)
				}
			}
			for _, h := range p.Hooks {
				if got = append(got, strings.ReplaceAll(h.Command, "${CLAUDE_PLUGIN_ROOT}", "ROOT")); !h.NoApproval || h.Env["CLAUDE_PLUGIN_ROOT"] != root {
					t.Errorf("hook %+v", h)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.all) || p.Format != c.name {
				t.Errorf("%s: got %q\nwant %q\nnotes %q", p.Format, got, c.all, p.Notes)
			}
			server := p.Servers["my-plugin_s"]
			args := strings.NewReplacer(root, "ROOT", w.Project, "PROJECT").Replace(fmt.Sprint(server.Args))
			if args != c.args || server.Trust {
				t.Errorf("args %s, want %s; trust %v", args, c.args, server.Trust)
			}
			argument := commands[0].Parts[1].Kind == contextfiles.ArgumentsPart
			if !argument || p.Definitions.Braces != (len(commands[0].Parts) == 5) {
				t.Errorf("the placeholders of %s: %+v", c.name, commands[0].Parts)
			}
		})
	}
}
