package names

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Protected reports whether writing to path requires approval in every mode except yolo, and why: names of files that
// are executed later or change what Adze may do.
func Protected(path string) (why string, ok bool) {
	return protectedTable().match(parts(path))
}

var protectedTable = sync.OnceValue(func() *table { return prepare(protected) })

const (
	whyGit    = "version control's own directory: its settings and hooks run programs"
	whyOwn    = "settings that decide what Adze may do"
	whyAgents = "another agent's settings: they can start programs"
	whyMCP    = "names MCP servers, which are started as programs"
	whyCI     = "run by continuous integration"
	whyHook   = "run as a hook"
	whyEditor = "editors or shells run its content"
	whyLogin  = "run at login or by every shell"
	whyBuild  = "names programs that other tools run"
	whyHome   = "programs read or run it for you: it is in your home directory"
)

var protected = []rule{
	{".git", whyGit}, {"git~1", whyGit}, {".gitmodules", whyGit}, {".gitconfig", whyGit}, {".config/git", whyGit},
	{".hg", whyGit}, {".hgrc", whyGit}, {".svn", whyGit}, {".jj", whyGit}, {".bzr", whyGit},

	{".adze", whyOwn}, {".qwen", whyOwn}, {".agents", whyOwn},
	{".adzeignore", whyOwn}, {".qwenignore", whyOwn}, {".agentignore", whyOwn}, {".aiignore", whyOwn},

	{".claude", whyAgents}, {".claude.json", whyAgents}, {".codex", whyAgents}, {".cursor", whyAgents},
	{".gemini", whyAgents}, {".opencode", whyAgents}, {".crush", whyAgents}, {"crush.json", whyAgents},
	{".crush.json", whyAgents}, {"opencode.json", whyAgents}, {".windsurf", whyAgents}, {".continue", whyAgents},
	{".kiro", whyAgents}, {".roo", whyAgents}, {".roomodes", whyAgents}, {".amazonq", whyAgents}, {".trae", whyAgents},
	{".factory", whyAgents}, {".augment", whyAgents}, {".cline", whyAgents}, {".zencoder", whyAgents},
	{".junie", whyAgents},
	{".goose", whyAgents}, {".aider.conf.yml", whyAgents}, {".kilocode", whyAgents},

	{".mcp.json", whyMCP}, {"mcp.json", whyMCP}, {"mcp_config.json", whyMCP},

	{".github/workflows", whyCI}, {".github/actions", whyCI}, {".forgejo/workflows", whyCI},
	{".gitea/workflows", whyCI},
	{".gitlab-ci.*", whyCI}, {".gitlab/ci", whyCI}, {".circleci", whyCI}, {".travis.yml", whyCI},
	{"azure-pipelines.yml", whyCI}, {"azure-pipelines.yaml", whyCI}, {"bitbucket-pipelines.yml", whyCI},
	{"jenkinsfile", whyCI}, {".woodpecker", whyCI}, {".woodpecker.*", whyCI},
	{".buildkite", whyCI}, {"appveyor.yml", whyCI}, {".appveyor.yml", whyCI}, {".cirrus.yml", whyCI},
	{".teamcity", whyCI},
	{"cloudbuild.yaml", whyCI}, {"cloudbuild.yml", whyCI}, {"buildspec.yml", whyCI}, {".builds", whyCI},
	{".build.yml", whyCI},
	{".ci", whyCI}, {".github/scripts", whyCI}, {"jenkinsfile.*", whyCI}, {".drone.*", whyCI},
	{".semaphore", whyCI}, {".semaphore.yml", whyCI}, {".azure-pipelines", whyCI}, {".azuredevops", whyCI},
	{".tekton", whyCI},
	{"bitrise.yml", whyCI}, {"bitrise.yaml", whyCI}, {"codemagic.yaml", whyCI}, {"codemagic.yml", whyCI},
	{"wercker.yml", whyCI},
	{".onedev-buildspec.yml", whyCI}, {".dagger", whyCI}, {".screwdriver.yaml", whyCI}, {"screwdriver.yaml", whyCI},

	{".husky", whyHook}, {".githooks", whyHook}, {".lefthook*", whyHook}, {"lefthook.y*", whyHook},
	{"lefthook.toml", whyHook}, {"lefthook.json*", whyHook}, {"lefthook-local.*", whyHook},
	{".config/lefthook*", whyHook},
	{".pre-commit-config.*", whyHook}, {".pre-commit-hooks.*", whyHook}, {".overcommit.yml", whyHook},
	{"huskyrc*", whyHook},
	{".huskyrc*", whyHook}, {".simple-git-hooks.*", whyHook}, {"simple-git-hooks.*", whyHook},
	{".lintstagedrc*", whyHook},
	{"lint-staged.config.*", whyHook},

	{".vscode", whyEditor}, {".vs", whyEditor}, {".helix", whyEditor}, {".nova", whyEditor}, {".fleet", whyEditor},
	{".idx", whyEditor}, {".gitpod*", whyEditor}, {".codesandbox", whyEditor}, {".stackblitzrc", whyEditor},
	{".replit", whyEditor},
	{"*.sublime-project", whyEditor}, {".project", whyEditor}, {".settings", whyEditor},
	{".ycm_extra_conf.py", whyEditor},
	{".vim", whyEditor}, {".nvim", whyEditor}, {".lvimrc", whyEditor}, {".local.vimrc", whyEditor},
	{".vimrc.local", whyEditor},
	{".lazy.lua", whyEditor}, {".neoconf.json", whyEditor}, {".projections.json", whyEditor}, {".emacs*", whyEditor},
	{"*.code-workspace", whyEditor}, {".zed", whyEditor}, {".idea", whyEditor}, {".run", whyEditor},
	{".devcontainer", whyEditor}, {".devcontainer.json", whyEditor}, {".envrc", whyEditor},
	{".nvim.*", whyEditor}, {".nvimrc", whyEditor}, {".exrc", whyEditor}, {".vimrc", whyEditor},
	{".dir-locals*.el", whyEditor},

	{".cargo/config", whyBuild}, {".cargo/config.toml", whyBuild}, {".ripgreprc", whyBuild}, {".yarnrc*", whyBuild},
	{".yarn/releases", whyBuild}, {".yarn/plugins", whyBuild}, {".npmrc", whyBuild}, {".pnpmfile.*", whyBuild},
	{".mvn", whyBuild},
	{".direnvrc", whyBuild}, {".direnv", whyBuild}, {".rprofile", whyBuild}, {".renviron", whyBuild},
	{".pnp.*", whyBuild},
	{"rust-toolchain*", whyBuild}, {".sl", whyGit}, {".mise*", whyBuild}, {"mise.toml", whyBuild},
	{"mise.local.toml", whyBuild}, {".config/mise*", whyBuild},
	{".gdbinit", whyBuild}, {".lldbinit", whyBuild}, {".pdbrc", whyBuild}, {".irbrc", whyBuild},
	{"sitecustomize.py", whyBuild}, {"usercustomize.py", whyBuild},

	{".bashrc", whyLogin}, {".bash_profile", whyLogin}, {".bash_login", whyLogin}, {".bash_logout", whyLogin},
	{".bash_aliases", whyLogin}, {".bash_env", whyLogin}, {".profile", whyLogin}, {".zshrc", whyLogin},
	{".zshenv", whyLogin}, {".zprofile", whyLogin},
	{".zlogin", whyLogin}, {".zlogout", whyLogin}, {".config/fish", whyLogin}, {".config/autostart", whyLogin},
	{".config/systemd", whyLogin}, {"library/launchagents", whyLogin}, {"library/launchdaemons", whyLogin},
	{".ssh", whyLogin}, {".xprofile", whyLogin}, {".xinitrc", whyLogin}, {".pam_environment", whyLogin},
}

// instructions are files that agents obey in a project.
var instructions = []rule{
	{"agents.md", ""}, {"agents.*.md", ""}, {"agent.md", ""}, {"qwen.md", ""}, {"claude.md", ""}, {"claude.*.md", ""},
	{"gemini.md", ""},
	{"warp.md", ""}, {".cursorrules", ""}, {".windsurfrules", ""}, {".clinerules*", ""}, {".roorules*", ""},
	{".goosehints", ""}, {"crush.md", ""}, {".augment-guidelines", ""},
	{".rules", ""}, {".github/copilot-instructions.md", ""}, {".github/instructions", ""}, {".github/prompts", ""},
	{".github/agents", ""}, {".github/chatmodes", ""},
}

var instructionTable = sync.OnceValue(func() *table { return prepare(instructions) })

// Instructs reports whether a file has a name that agents read their instructions from, at any depth. further are more
// names.
func Instructs(path string, further []string) bool {
	comps := parts(path)
	if _, ok := instructionTable().match(comps); ok || len(comps) == 0 {
		return ok
	}
	last := comps[len(comps)-1]
	return slices.ContainsFunc(further, func(name string) bool { return fold(filepath.Base(name)) == last })
}

// homeCaches are caches in a home directory: what is in them isn't protected. homePrograms are directories in PATH.
var (
	homeCaches = []string{
		".cache/go-build", ".cache/pip", ".cache/uv", ".cache/yarn", ".cache/pnpm", ".cache/node", ".cache/node-gyp",
		".cache/typescript",
		".cache/ccache", ".cache/sccache", ".cache/bazel", ".cache/deno", ".cache/golangci-lint", ".cache/mypy",
		".cache/ruff",
		".cache/pypoetry", ".cache/composer", ".cache/turbo", ".ccache", ".npm/_cacache", ".npm/_logs",
		".cargo/registry", ".cargo/git",
		".gradle/caches", ".m2/repository", ".local/share/pnpm/store", ".local/share/trash", ".yarn/berry/cache",
		".nuget/packages",
		".ivy2/cache", ".bundle/cache", ".trash",
	}
	homePrograms = []string{"bin", "go/bin"}
)

// ProtectedIn returns Protected for a workspace. If it contains the home directory, every name at its top that begins
// with a dot is protected too, except caches: shells, editors and other programs read these, whatever they are called.
func ProtectedIn(roots []string, home string) func(path string) (why string, ok bool) {
	if _, ok := Within(home, roots); home == "" || !ok {
		return Protected
	}
	home = filepath.Clean(home)
	return func(path string) (why string, ok bool) {
		if why, ok := Protected(path); ok || path == home || !Below(path, home) {
			return why, ok
		}
		if ofHome(strings.Join(parts(path[len(home):]), "/")) {
			return whyHome, true
		}
		return "", false
	}
}

// ofHome reports whether programs obey a path in the home directory. A directory that contains a cache is not
// protected, but everything else in it is.
func ofHome(rel string) bool {
	in := func(rel, dir string) bool { return rel == dir || strings.HasPrefix(rel, dir+"/") }
	if !strings.HasPrefix(rel, ".") {
		return slices.ContainsFunc(homePrograms, func(dir string) bool { return in(rel, dir) })
	}
	return !slices.ContainsFunc(homeCaches, func(cache string) bool { return in(rel, cache) || in(cache, rel) })
}

// Ordinary reports whether no table here has a component's name, in any directory. In one directory all ordinary names
// are judged alike.
func Ordinary(name string) bool {
	name = original(fold(name))
	if name == "" || name[0] == '.' {
		return false
	}
	t := special()
	first := &t.byFirst[name[0]]
	if first.lengths&bit(name) != 0 && t.names[name] {
		return false
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && t.endings[name[dot:]] {
		return false
	}
	return !anyMatch(first.starred, name) && !anyMatch(t.headless, name)
}

func anyMatch(patterns []starred, name string) bool {
	for i := range patterns {
		if patterns[i].match(name) {
			return true
		}
	}
	return false
}

// bit represents the length of a name.
func bit(name string) uint64 { return 1 << min(len(name), 63) }

// specials are the components of all tables: whole names, the suffixes of those like *.pem, and others with a star.
// Names with a leading dot are omitted, because none of them is ordinary, and so is a star that matches any name.
type specials struct {
	names, endings map[string]bool
	headless       []starred // that begin with the star
	byFirst        [256]struct {
		lengths uint64 // lengths of the whole names that begin with this byte, a bit each
		starred []starred
	}
}

var special = sync.OnceValue(func() *specials {
	t := &specials{names: map[string]bool{}, endings: map[string]bool{}}
	for _, table := range [][]rule{protected, secretFiles, namedSecrets, secretDirectories, systemSecrets} {
		for _, r := range table {
			for c := range strings.SplitSeq(r.chain, "/") {
				t.add(c)
			}
		}
	}
	return t
})

func (t *specials) add(c string) {
	first := &t.byFirst[c[0]]
	switch s := newStarred(c); {
	case c[0] == '.' || c == "*":
	case !s.star:
		t.names[c] = true
		first.lengths |= bit(c)
	case s.head == "" && strings.LastIndexByte(s.tail, '.') == 0:
		t.endings[s.tail] = true
	case s.head == "":
		t.headless = append(t.headless, s)
	default:
		first.starred = append(first.starred, s)
	}
}
