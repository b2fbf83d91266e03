package names

import (
	"strings"
	"sync"
)

// Protected reports whether writing to path requires approval in every mode except yolo, and why: names of files that are
// executed later or change what Adze may do.
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
)

var protected = []rule{
	{".git", whyGit}, {"git~1", whyGit}, {".gitmodules", whyGit}, {".gitconfig", whyGit}, {".config/git", whyGit},
	{".hg", whyGit}, {".hgrc", whyGit}, {".svn", whyGit}, {".jj", whyGit}, {".bzr", whyGit},

	{".adze", whyOwn}, {".qwen", whyOwn},
	{".adzeignore", whyOwn}, {".qwenignore", whyOwn}, {".agentignore", whyOwn}, {".aiignore", whyOwn},

	{".claude", whyAgents}, {".claude.json", whyAgents}, {".codex", whyAgents}, {".cursor", whyAgents},
	{".gemini", whyAgents}, {".opencode", whyAgents}, {".crush", whyAgents}, {"crush.json", whyAgents},
	{".crush.json", whyAgents}, {"opencode.json", whyAgents}, {".windsurf", whyAgents}, {".continue", whyAgents},
	{".kiro", whyAgents}, {".roo", whyAgents},

	{".mcp.json", whyMCP}, {"mcp.json", whyMCP}, {"mcp_config.json", whyMCP},

	{".github/workflows", whyCI}, {".github/actions", whyCI}, {".forgejo/workflows", whyCI}, {".gitea/workflows", whyCI},
	{".gitlab-ci.yml", whyCI}, {".gitlab-ci.yaml", whyCI}, {".gitlab/ci", whyCI}, {".circleci", whyCI}, {".travis.yml", whyCI},
	{"azure-pipelines.yml", whyCI}, {"azure-pipelines.yaml", whyCI}, {"bitbucket-pipelines.yml", whyCI},
	{"jenkinsfile", whyCI}, {".drone.yml", whyCI}, {".woodpecker", whyCI}, {".woodpecker.yml", whyCI}, {".woodpecker.yaml", whyCI},
	{".buildkite", whyCI}, {"appveyor.yml", whyCI}, {".appveyor.yml", whyCI}, {".cirrus.yml", whyCI}, {".teamcity", whyCI},
	{"cloudbuild.yaml", whyCI}, {"cloudbuild.yml", whyCI}, {"buildspec.yml", whyCI}, {".builds", whyCI}, {".build.yml", whyCI},
	{".ci", whyCI},

	{".husky", whyHook}, {".githooks", whyHook}, {".lefthook", whyHook}, {"lefthook.yml", whyHook}, {".lefthook.yml", whyHook},
	{"lefthook.yaml", whyHook}, {".pre-commit-config.yaml", whyHook}, {".pre-commit-hooks.yaml", whyHook},
	{".overcommit.yml", whyHook}, {"huskyrc*", whyHook}, {".huskyrc*", whyHook},

	{".vscode/tasks.json", whyEditor}, {".vscode/settings.json", whyEditor}, {".vscode/launch.json", whyEditor},
	{"*.code-workspace", whyEditor}, {".zed", whyEditor}, {".idea", whyEditor}, {".run", whyEditor},
	{".devcontainer", whyEditor}, {".devcontainer.json", whyEditor}, {".envrc", whyEditor},
	{".nvim.lua", whyEditor}, {".nvimrc", whyEditor}, {".exrc", whyEditor}, {".vimrc", whyEditor}, {".dir-locals.el", whyEditor},

	{".bashrc", whyLogin}, {".bash_profile", whyLogin}, {".bash_login", whyLogin}, {".bash_logout", whyLogin},
	{".bash_aliases", whyLogin}, {".profile", whyLogin}, {".zshrc", whyLogin}, {".zshenv", whyLogin}, {".zprofile", whyLogin},
	{".zlogin", whyLogin}, {".zlogout", whyLogin}, {".config/fish", whyLogin}, {".config/autostart", whyLogin},
	{".config/systemd", whyLogin}, {"library/launchagents", whyLogin}, {"library/launchdaemons", whyLogin},
	{".ssh", whyLogin}, {".xprofile", whyLogin}, {".xinitrc", whyLogin}, {".pam_environment", whyLogin},
}

// Ordinary reports whether no table here has a component's name, in any directory. In one directory all ordinary names are
// judged alike.
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

// specials are the components of all tables: whole names, the suffixes of those like *.pem, and others with a star. Names
// with a leading dot are omitted, because none of them is ordinary, and so is a star that matches any name.
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
