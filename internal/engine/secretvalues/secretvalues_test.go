package secretvalues

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/redact"
)

// tree creates files below a directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// isMask reports whether a text is a placeholder between two texts.
func isMask(text, before, after string) bool {
	name := redact.Placeholder(text)
	return name != "" && text == before+name+after
}

func remote(token string) string { return "[remote \"o\"]\n\turl = https://u:" + token + "@h/x\n" }

// Every source of values is read, and values that aren't secret aren't changed.
func TestSources(t *testing.T) {
	dir := tree(t, map[string]string{
		"home/.gitconfig":                     "[include]\n\tpath = ~/more\n[includeIf \"onbranch:x\"]\n\tpath = inc/rel\n" + remote("home-t0ken1"),
		"home/more":                           remote("more-t0ken1"),
		"home/inc/rel":                        remote("rel-t0ken11"),
		"xdg/git/config":                      remote("xdg-t0ken11"),
		"global":                              remote("glob-t0ken1"),
		"home/.netrc":                         "machine a login u1 password netrc-t0ken\nmachine b\n  login u2\n  password netrc-t0ken2\n",
		"home/.git-credentials":               "https://me:stored-t0k%2Fen@github.com\n",
		"home/.npmrc":                         "//registry.example.test/:_authToken=npm-t0ken11\nemail=a@b\n",
		"home/.pypirc":                        "[pypi]\nusername = __token__\npassword = pypi-t0ken1\n",
		"home/.docker/config.json":            `{"auths":{"h":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("me:docker-t0ken")) + `"}},"credsStore":"ecr-login"}`,
		"home/.config/gh/hosts.yml":           "github.com:\n    user: me\n    oauth_token: gh-t0ken1111\n    git_protocol: https\n",
		"home/.aws/credentials":               "[default]\naws_access_key_id = aws-id-t0ken\naws_secret_access_key = aws/t0ken+1\n",
		"home/.cargo/credentials.toml":        "[registry]\ntoken = \"cargo-t0ken1\"\n",
		"state/settings.json":                 "{\n  // mine\n  \"model\": {\"apiKey\": \"adze-t0ken11\"}, \"envKey\": \"MY_OPENAI_KEY1\", \"theme\": \"solarized-dark9\"}",
		"state/mcp/mcp-tokens.json":           `{"s":{"access_token":"mcp-t0ken111","token_endpoint":"https://login.example.com/t0ken"}}`,
		"ws/.git/HEAD":                        "ref: refs/heads/main\n",
		"ws/.git/config":                      "[include]\n\tpath = ../local.inc\n" + remote("repo-t0ken1"),
		"ws/.gitmodules":                      "[submodule \"s\"]\n\turl = https://u:subm-t0ken1@h/x\n",
		"ws/local.inc":                        remote("inc-t0ken11"),
		"ws/.git/config.worktree":             remote("tree-t0ken1"),
		"ws/.git/worktrees/w/config.worktree": remote("link-t0ken1"),
		"ws/.git/modules/a/b/HEAD":            "ref: refs/heads/main\n",
		"ws/.git/modules/a/b/config":          remote("mod-t0ken11"),
		"ws2/.git":                            "gitdir: ../elsewhere/wt\n",
		"elsewhere/wt/commondir":              "../common\n",
		"elsewhere/wt/config.worktree":        remote("wt-t0ken111"),
		"elsewhere/common/config":             remote("comm-t0ken1"),
		"ws/sub/n/.git/config":                remote("nest-t0ken1"),
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhki\nshort\n-----END KEY-----"
	l := New(Options{
		Environ: []string{
			"PATH=/bin", "XDG_CONFIG_HOME=" + at("xdg"), "GIT_CONFIG_GLOBAL=" + at("global"), "A_TOKEN=env-t0ken11", "HTTPS_PROXY=http://u:proxypass1@h:1",
			"DATABASE_URL=postgres://u:s3vench@db/x", "DB_URL=postgres://user@h/database1", "TOKEN_URL=https://h.example.com/t0ken", "SSH_KEY=" + pem,
			"GITHUB_PAT=ghp_0123456789abcdefABCDEF", "WHATEVER=x sk_live_0123456789abcdef", "JWT=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
			"AZURE=DefaultEndpointsProtocol=https;AccountName=me;AccountKey=azur3Key/abc+def==;EndpointSuffix=core.windows.net", "DB_PASS=dbpass-99",
			"SLACK_WEBHOOK_URL=https://hooks.slack.com/services/T00/B00/XXXXyyyy", "SENTRY_DSN=https://0123456789abcdef0123@sentry.example.com/1",
			"DOCKER_AUTH_CONFIG=" + `{"auths":{"h":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("me:dac-t0ken11")) + `"}}}`,
			`GCP_CREDENTIALS={"type": "service_account", "private_key_id": "gcp-t0ken11", "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj/t0ken\n-----END PRIVATE KEY-----\n", "token_uri": "https://oauth2.example.com/t0ken"}`, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.https://h/.extraheader", "GIT_CONFIG_VALUE_0=Authorization: Bearer gcv-t0ken11",
			"SSH_AUTH_SOCK=/tmp/ssh-x/agent.1", "EDITOR=vim", "PGPASSWORD=postgres", "LANG=C.UTF-8", "CI=true",
		},
		Home: at("home"), State: at("state"), Roots: []string{at("ws"), at("ws2")},
	})
	l.Configs([]string{at("ws/sub/n/.git/config")})
	for _, secret := range []string{
		"home-t0ken1", "more-t0ken1", "rel-t0ken11", "xdg-t0ken11", "glob-t0ken1", "netrc-t0ken", "netrc-t0ken2", "stored-t0k/en", "stored-t0k%2Fen", "npm-t0ken11", "pypi-t0ken1",
		"docker-t0ken", "gh-t0ken1111", "aws/t0ken+1", "aws-id-t0ken", "cargo-t0ken1", "adze-t0ken11", "mcp-t0ken111", "repo-t0ken1", "inc-t0ken11", "tree-t0ken1", "link-t0ken1", "mod-t0ken11",
		"wt-t0ken111", "comm-t0ken1", "nest-t0ken1", "subm-t0ken1", "env-t0ken11", "proxypass1", "MIIEvQIBADANBgkqhki", "ghp_0123456789abcdefABCDEF", "sk_live_0123456789abcdef",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "azur3Key/abc+def==", "dbpass-99", "services/T00/B00/XXXXyyyy", "0123456789abcdef0123", "dac-t0ken11", "gcp-t0ken11", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj/t0ken", "gcv-t0ken11",
	} {
		if got := l.Mask().String("<" + secret + ">"); !isMask(got, "<", ">") {
			t.Errorf("%s is shown: %s", secret, got)
		}
	}
	for _, plain := range []string{
		"postgres://postgres:postgres@localhost/x", "solarized-dark9", "https://h.example.com/t0ken", "https://login.example.com/t0ken", "/tmp/ssh-x/agent.1", "database1", "ecr-login", "service_account", "-----BEGIN PRIVATE KEY-----", "https://oauth2.example.com/t0ken", "MY_OPENAI_KEY1",
		"__token__", "core.windows.net", "a@b", "true", "main", "s3vench", "https://hooks.slack.com/", "C.UTF-8",
	} {
		if got := l.Mask().String(plain); got != plain {
			t.Errorf("%s became %s", plain, got)
		}
	}
	if got := l.Mask().String("postgres://u:s3vench@db/x"); !isMask(got, "postgres://u:", "@db/x") {
		t.Error(got)
	}
	for _, c := range l.Configs(nil) {
		if strings.Contains(string(c.Clean), "t0ken") {
			t.Errorf("%s: %s", c.Path, c.Clean)
		}
	}
	if n := len(l.Configs(nil)); n != 13 {
		t.Errorf("%d files of git's configuration contain credentials", n)
	}
}

// The list follows changes, and forgets no value.
func TestChanges(t *testing.T) {
	dir := tree(t, map[string]string{"ws/f": ""})
	l := New(Options{Home: filepath.Join(dir, "home"), Roots: []string{filepath.Join(dir, "ws")}})
	known := func(secret string) bool { return isMask(l.Mask().String(secret), "", "") }
	if known("first-t0ken") {
		t.Fatal("something is masked")
	}
	for i, c := range []struct{ path, secret string }{
		{"ws/.git/config", "first-t0ken"}, {"ws/.git/config", "second-t0ken"}, {"home/.gitconfig", "home-t0ken1"},
		{"ws/.git/modules/m/config", "module-t0ken"}, {"ws/.git/worktrees/w/config.worktree", "tree-t0ken1"}, {"ws/.git/config.worktree", "own-t0ken11"},
	} {
		if strings.Contains(c.path, "modules") {
			put(t, filepath.Join(dir, "ws/.git/modules/m/HEAD"), "ref: refs/heads/main\n")
		}
		put(t, filepath.Join(dir, c.path), remote(c.secret)+strings.Repeat("#", i)+"\n")
		if l.Known().String(c.secret) != c.secret {
			t.Errorf("%s: Known looked at the disk", c.path)
		}
		if !known(c.secret) {
			t.Errorf("%s: %s is shown", c.path, c.secret)
		}
		if l.Known() != l.Mask() {
			t.Errorf("%s: Known doesn't know what Mask found", c.path)
		}
	}
	if !known("first-t0ken") {
		t.Error("a value was forgotten")
	}
	before := l.Mask()
	if l.Mask() != before {
		t.Error("the mask is made again without a change")
	}
}

// BenchmarkList measures a session with an ordinary ~/.gitconfig and repository.
func BenchmarkList(b *testing.B) {
	dir := tree(b, map[string]string{
		"home/.gitconfig": "[user]\n\tname = A\n\temail = a@b\n[core]\n\teditor = vim\n[alias]\n\tst = status\n\tlg = log --graph\n[pull]\n\trebase = true\n[init]\n\tdefaultBranch = main\n",
		"ws/.git/HEAD":    "ref: refs/heads/main\n",
		"ws/.git/config":  "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://github.com/x/y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
	})
	o := Options{Environ: []string{"PATH=/bin", "HOME=/h", "OPENAI_API_KEY=sk-0123456789abcdef0123456789abcdef", "LANG=C.UTF-8", "TERM=xterm"}, Home: filepath.Join(dir, "home"), Roots: []string{filepath.Join(dir, "ws")}}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			New(o).Mask()
		}
	})
	b.Run("later", func(b *testing.B) {
		l := New(o)
		for b.Loop() {
			l.Mask()
		}
	})
}
