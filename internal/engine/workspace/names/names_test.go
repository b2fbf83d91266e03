package names

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestWithin(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table is written with forward slashes")
	}
	roots := []string{"/home/me/app", "/home/me/app/sub", "/srv"}
	for path, want := range map[string]string{
		"/home/me/app":           "/home/me/app",
		"/home/me/app/x":         "/home/me/app",
		"/home/me/app/sub/x":     "/home/me/app/sub",
		"/home/me/app-evil/x":    "",
		"/home/me/app/../secret": "",
		"/home/me":               "",
		"/srv/a":                 "/srv",
		"/":                      "",
	} {
		got, ok := Within(path, roots)
		if got != want || ok != (want != "") {
			t.Errorf("Within(%q) = %q, %v, want %q", path, got, ok, want)
		}
	}
	if _, ok := Within("/etc", []string{"/"}); !ok {
		t.Error("the file system's root does not hold /etc")
	}
}

func TestProtected(t *testing.T) {
	protected := []string{
		"/p/.git", "/p/.git/config", "/p/sub/.git/hooks/pre-commit", "/p/.GIT/config", "/p/.git./config", "/p/.git /x",
		"/p/.gi\u200ct/config", "/p/.git::$INDEX_ALLOCATION/config", "/p/GIT~1/config", "/p/.gitmodules",
		"/p/.adze/settings.json", "/p/.Qwen/settings.json", "/p/.adzeignore", "/p/.mcp.json", "/p/.MCP.json",
		"/p/.claude/settings.json", "/p/.cursor/mcp.json",
		"/p/.github/workflows/ci.yml", "/p/.github/Workflows", "/p/.gitlab-ci.yml", "/p/Jenkinsfile",
		"/p/.hu\u017fky/pre-push", "/p/.pre-commit-config.yaml", "/p/.vscode/tasks.json", "/p/.devcontainer/devcontainer.json",
		"/p/.vscode/c_cpp_properties.json", "/p/lefthook.toml", "/p/.lefthook-local.yml", "/p/.config/lefthook.json", "/p/.helix/languages.toml",
		"/p/.ycm_extra_conf.py", "/p/.cargo/config", "/p/.cargo/config.toml", "/p/.gitpod.yml", "/p/.idx/dev.nix", "/p/.nova/Tasks", "/p/.fleet/run.json",
		"/p/x.sublime-project", "/p/.project", "/p/.settings/x", "/p/.ripgreprc", "/p/.yarnrc", "/p/.yarnrc.yml", "/p/.yarn/releases/yarn.cjs",
		"/p/.pnpmfile.cjs", "/p/.mvn/jvm.config", "/p/.github/scripts/x.sh", "/p/.semaphore/semaphore.yml", "/p/.azure-pipelines/x.yml", "/p/.tekton/x.yaml",
		"/p/bitrise.yml", "/p/codemagic.yaml", "/p/.agents/skills/x/SKILL.md", "/p/usercustomize.py",
		"/p/.envrc", "/home/me/.bashrc", "/home/me/.\u212airo/x", "/home/me/.ssh/authorized_keys",
	}
	for _, p := range protected {
		if _, ok := Protected(p); !ok {
			t.Errorf("%q is not protected", p)
		}
	}
	free := []string{
		"/p/main.go", "/p/.github/ISSUE_TEMPLATE.md", "/p/.gitignore", "/p/.gitattributes", "/p/git/config", "/p/my.git/x", "/p/.gitx/config",
		"/p/.github/dependabot.yml", "/p/AGENTS.md", "/p/QWEN.md", "/p/adze/settings.json", "/p/workflows/ci.yml", "/", "",
	}
	for _, p := range free {
		if why, ok := Protected(p); ok {
			t.Errorf("%q is protected: %s", p, why)
		}
	}
}

func TestSecret(t *testing.T) {
	secret := []string{
		"/p/.env", "/p/prod.env", "/p/.env.local", "/p/.ENV", "/p/sub/.env.production", "/p/server.pem", "/p/tls/server.KEY", "/p/id_rsa", "/p/id_ed25519",
		"/p/store.kdbx", "/home/me/.ssh/config", "/home/me/.ssh/id_rsa.pub", "/home/me/.aws/credentials", "/home/me/.config/gcloud/x",
		"/home/me/.azure/msal.json", "/home/me/.kube/config", "/home/me/.docker/config.json", "/home/me/.netrc", "/home/me/.npmrc",
		"/p/.npmrc", "/home/me/.pypirc", "/home/me/.git-credentials", "/home/me/.gnupg/secring.gpg", "/etc/shadow", "/etc/shadow-",
		"/etc/gshadow", "/proc/1/environ", "/proc/self/environ", "/proc/12/task/12/environ", "/proc/1/mem", "/proc/1/root/etc/passwd",
		"/run/secrets/kubernetes.io/serviceaccount/token", "/home/me/.mozilla/firefox/x/logins.json", "/home/me/.config/google-chrome/Default/Cookies",
		"/home/me/.local/share/keyrings/login.keyring", "/Users/me/Library/Keychains/login.keychain-db", "/home/me/.bash_history",
		"/home/me/.qwen/oauth_creds.json", "/home/me/.claude/.credentials.json", "/home/me/.aws/config.example",
		"/p/auth.json", "/p/.yarnrc.yml", "/p/pip.conf", "/p/NuGet.Config", "/p/.secrets.toml", "/p/kaggle.json", "/p/server.pem.bak", "/p/.envrc.private",
		"/etc/gitlab-runner/config.toml", "/etc/containers/auth.json", "/p/server.key~", "/p/tls.key.old", "/p/prod.env.orig", "/p/.server.pem.swp", "/p/..env.swp",
		"/p/#server.pem#", "/p/.netrc.save", "/p/.netrc~", "/p/.pypirc.bak", "/p/.npmrc.bak.old", "/p/terraform.tfstate.bak", "/home/me/.docker/config.json.bak",
		"/home/me/.config/git/credentials", "/home/me/.cache/huggingface/token", "/p/secrets.yml~", "/p/service-account-prod.json.bak", "/p/.env~", "/p/.env.swp", "/p/.id_rsa.swp", "/p/.id_rsa.swo",
	}
	for _, p := range secret {
		if _, ok := Secret(p); !ok {
			t.Errorf("%q is not secret", p)
		}
	}
	open := []string{
		"/p/.env.example", "/p/prod.env.example", "/p/.env.sample", "/p/.env.template", "/p/.env.local.example", "/p/env", "/p/.environment", "/p/main.go",
		"/p/id_rsa.pub", "/p/etc/shadow", "/etc/passwd", "/etc/hosts", "/proc/cpuinfo", "/proc/1/status", "/p/keyboard.go", "/p/aws/x", "/", "",
		"/p/.git/config", "/p/README.md.bak", "/p/main.go~", "/p/.env.example.bak", "/p/id_rsa.pub~", "/p/.bak", "/p/~", "/p/#", "/p/##", "/p/.swp", "/p/yarnrc.yml", "/p/authjson",
	}
	for _, p := range open {
		if why, ok := Secret(p); ok {
			t.Errorf("%q is secret: %s", p, why)
		}
	}
}

// Every rule is written in folded form; otherwise it could never match.
func TestRulesAreFolded(t *testing.T) {
	for _, table := range [][]rule{protected, secretFiles, namedSecrets, secretDirectories, systemSecrets} {
		for _, r := range table {
			comps := parts("/" + r.chain)
			got := ""
			for i, c := range comps {
				if i > 0 {
					got += "/"
				}
				got += c
			}
			if got != r.chain {
				t.Errorf("rule %q folds to %q", r.chain, got)
			}
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("/p/.git/config")
	f.Add("/p/.ENV. ")
	f.Fuzz(func(t *testing.T, path string) {
		Secret(path)
		if _, ok := Protected("/x/" + path + "/.git/y"); !ok {
			t.Errorf("%q hides .git", path)
		}
		if _, ok := Within("/root/"+path, []string{"/rooted"}); ok {
			t.Errorf("%q looks like /rooted", path)
		}
	})
}

// Git's own configuration may contain a token, but git must be able to read it, and a search may come across it.
func TestSecretWhenNamed(t *testing.T) {
	for path, want := range map[string]bool{
		"/p/.git/config": true, "/p/.GIT/Config": true, "/p/.git/modules/sub/config": true, "/p/.git/config.worktree": true, "/p/.env": true,
		"/p/git/config": false, "/p/.git/HEAD": false, "/p/.git": false, "/config": false, "": false,
	} {
		if _, ok := SecretWhenNamed(path); ok != want {
			t.Errorf("SecretWhenNamed(%q) = %v", path, ok)
		}
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	if filepath.Separator == '/' {
		for path, want := range map[string]string{"/a b/c#d": "file:///a%20b/c%23d", "/größe": "file:///gr%C3%B6%C3%9Fe"} {
			if uri := URI(path); uri != want || FromURI(uri) != path {
				t.Errorf("%s: %s, and back %q", path, uri, FromURI(uri))
			}
		}
		if path := FromURI("file://localhost/a/../b"); path != "/b" {
			t.Errorf("on this machine: %q", path)
		}
	}
	for _, uri := range []string{"", "/a", "http://localhost/a", "file://other/a", "file:a", "file:///a%00b", "file://%"} {
		if path := FromURI(uri); path != "" {
			t.Errorf("%q names %q", uri, path)
		}
	}
}

// A deny rule on a file didn't hold for file tools that named it \\?\C:\..., and they looked for files on other machines
// before anything was approved.
func TestElsewhere(t *testing.T) {
	roots := []string{`C:\work`, `\\server\share\project`}
	for path, want := range map[string]bool{
		`C:\x`: false, `C:/x`: false, `x`: false, `/x`: false, `\\Server\share\project\x`: false, `//server/share/PROJECT`: false,
		`\\server\share\project2\x`: true, `\\server\share`: true, `//server/share/x`: true, `\/server\share`: true,
		`\\?\C:\work\x`: true, `//?/C:/work/x`: true, `\\.\C:\work\x`: true, `\\?\UNC\server\share\project\x`: true, `\??\C:\work\x`: true,
	} {
		if got := Elsewhere(path, roots); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
