package proc

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCredential(t *testing.T) {
	for _, n := range []string{
		"OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD", "MYSQL_PWD", "NPM_TOKEN", "npm_config__authToken",
		"GOOGLE_APPLICATION_CREDENTIALS", "db_password", "SSH_PRIVATE_KEY", "APIKEY", "MYAPIKEY", "sshKey", "KEY", "CI_JOB_TOKEN2", "PASS_WORD", "AZURE_CLIENT_SECRET", "KEYS", "x.y-key",
	} {
		if !Credential(n) {
			t.Errorf("%s passes", n)
		}
	}
	for _, n := range []string{
		"PATH", "HOME", "JAVA_HOME", "VIRTUAL_ENV", "HTTP_PROXY", "https_proxy", "MONKEY", "KEYBOARD", "KEYMAP", "GNOME_KEYRING_CONTROL", "PWD", "OLDPWD",
		"SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "LESSKEYIN", "GOFLAGS", "", "=C:", "XDG_SESSION_ID", "TURKEY", "HOTKEYS_FILE", "DATABASE_URL",
	} {
		if Credential(n) {
			t.Errorf("%s is kept back", n)
		}
	}
}

func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin", "OPENAI_API_KEY=sk-1", "NPM_TOKEN=t", "DEPLOY_TOKEN=d", "JAVA_HOME=/j", "HTTPS_PROXY=http://u:p@h", "PAGER=less", "EDITOR=vim", "TERM=xterm", "odd"}
	got := Environ(base, []string{"DEPLOY_TOKEN", "OPENAI_API_KEY"})
	want := append([]string{"PATH=/bin", "DEPLOY_TOKEN=d", "JAVA_HOME=/j", "HTTPS_PROXY=http://u:p@h", "odd"}, forced...)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, kv := range []string{"ADZE=1", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "TERM=dumb"} {
		if !slices.Contains(got, kv) {
			t.Errorf("%s is missing", kv)
		}
	}
}
