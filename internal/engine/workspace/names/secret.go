package names

import (
	"slices"
	"strings"
	"sync"
)

// Secret reports whether path, by its name, has credentials or keys, and of which kind. Templates that are meant to be
// shared (.env.example) and public keys are not secret.
func Secret(path string) (why string, ok bool) {
	comps := parts(path)
	if len(comps) == 0 {
		return "", false
	}
	last := &comps[len(comps)-1]
	swap := strings.HasSuffix(*last, ".swp") || strings.HasSuffix(*last, ".swo")
	*last = original(*last)
	if why, ok = secret(comps); !ok && swap && len(*last) > 1 {
		*last = strings.TrimPrefix(*last, ".") // .id_rsa.swp
		return secret(comps)
	}
	return why, ok
}

// secret is Secret for the folded components of a path that isn't a backup.
func secret(comps []string) (why string, ok bool) {
	last := comps[len(comps)-1]
	if shared(last) && !underSecretDirectory(comps) {
		return "", false
	}
	if rest, ok := strings.CutPrefix(last, ".env"); ok && (rest == "" || strings.IndexByte(".-_~", rest[0]) >= 0) {
		return whyEnv, true
	}
	t := secretTables()
	if i := t.system.matchAt(comps, 0); i < len(t.system.rules) {
		return t.system.rules[i].why, true
	}
	if why, ok := t.directories.match(comps); ok {
		return why, true
	}
	if why, ok := t.files.match(comps[len(comps)-1:]); ok {
		return why, true
	}
	return t.named.match(comps[len(comps)-1:])
}

var secretTables = sync.OnceValue(func() (t struct{ system, directories, files, named *table }) {
	t.system, t.directories, t.files, t.named = prepare(systemSecrets), prepare(secretDirectories),
		prepare(secretFiles), prepare(namedSecrets)
	return t
})

// SecretWhenNamed is Secret for a file that a call reads or searches. Git stores tokens in the URLs of its
// configuration, but it is never hidden from git itself.
func SecretWhenNamed(path string) (why string, ok bool) {
	comps := parts(path)
	if n := len(comps); n > 1 && (comps[n-1] == "config" || comps[n-1] == "config.worktree") &&
		slices.Contains(comps[:n-1], ".git") {
		return whyToken, true
	}
	return Secret(path)
}

// backups are suffixes that editors and users add to the name of a copy.
var backups = [...]string{"~", "#", ".bak", ".old", ".orig", ".save", ".swp", ".swo", ".backup", ".copy", ".rej"}

// original returns the name of the file that a folded name is a backup of: server.pem for server.pem.bak. Other names
// are unchanged.
func original(name string) string {
	for i := 0; i < len(backups); i++ {
		if own, is := strings.CutSuffix(name, backups[i]); is && strings.Trim(own, "#") != "" {
			name, i = strings.TrimPrefix(own, "#"), -1 // #server.pem#; or the backup of a backup
		}
	}
	return name
}

// shared reports whether a name is that of a sample or a public key.
func shared(last string) bool {
	for _, end := range []string{".example", ".sample", ".template", ".tmpl", ".dist", ".pub", "-example", "-sample",
		"-template", "_example", "_sample", "_template"} {
		if strings.HasSuffix(last, end) && (end[0] == '.' || strings.HasPrefix(last, ".env")) {
			return true
		}
	}
	return false
}

func underSecretDirectory(comps []string) bool {
	_, ok := secretTables().directories.match(comps)
	return ok
}

const (
	whyEnv     = "environment file with credentials"
	whyKey     = "private key or key store"
	whyToken   = "stored credentials"
	whyBrowser = "browser or keyring store"
	whyHistory = "what was typed, passwords included"
	whySystem  = "the system's own secrets"
	whyProcess = "a process's environment or memory"
)

// secretFiles are matched by the last component.
var secretFiles = []rule{
	{".envrc", whyEnv}, {"*.env", whyEnv},

	{"*.pem", whyKey}, {"*.key", whyKey}, {"*.p12", whyKey}, {"*.pfx", whyKey}, {"*.p8", whyKey}, {"*.pkcs12", whyKey},
	{"*.jks", whyKey}, {"*.keystore", whyKey}, {"*.kdbx", whyKey}, {"*.kdb", whyKey}, {"*.ppk", whyKey},
	{"*.keytab", whyKey},
	{"*.agekey", whyKey}, {"id_rsa*", whyKey}, {"id_dsa*", whyKey}, {"id_ecdsa*", whyKey}, {"id_ed25519*", whyKey},
	{"ssh_host_*_key", whyKey},

	{".netrc", whyToken}, {"_netrc", whyToken}, {".npmrc", whyToken}, {".pypirc", whyToken},
	{".git-credentials", whyToken},
	{".pgpass", whyToken}, {".my.cnf", whyToken}, {".mylogin.cnf", whyToken}, {".htpasswd", whyToken},
	{".dockercfg", whyToken},
	{".vault-token", whyToken}, {".boto", whyToken}, {".s3cfg", whyToken}, {".terraformrc", whyToken},
	{"credentials.tfrc.json", whyToken},
	{"oauth_creds.json", whyToken}, {".credentials.json", whyToken}, {"credentials.json", whyToken},
	{"client_secret*.json", whyToken},
	{"application_default_credentials.json", whyToken}, {"rclone.conf", whyToken},
	{".credentials", whyToken}, {".dockerconfigjson", whyToken},
	{".databrickscfg", whyToken}, {".sentryclirc", whyToken}, {".smbcredentials", whyToken}, {".msmtprc", whyToken},
	{".fetchmailrc", whyToken},
	{".ftpconfig", whyToken}, {"*.publishsettings", whyToken},

	{".bash_history", whyHistory}, {".zsh_history", whyHistory}, {".psql_history", whyHistory},
	{".mysql_history", whyHistory},
	{".python_history", whyHistory}, {".node_repl_history", whyHistory}, {".rediscli_history", whyHistory},
	{"fish_history", whyHistory},
	{".sqlite_history", whyHistory}, {".irb_history", whyHistory}, {".rhistory", whyHistory},
	{".mongosh_history", whyHistory},
}

// namedSecrets are matched by the last component too, but only if they are named or found: *.yml doesn't mean
// secrets.yml.
var namedSecrets = []rule{
	{"secrets.yml", whyToken}, {"secrets.yaml", whyToken}, {"secrets.json", whyToken}, {"secrets.toml", whyToken},
	{".secrets", whyToken},
	{"credentials.yml", whyToken}, {"credentials.yaml", whyToken}, {"credentials.toml", whyToken},
	{"credentials.ini", whyToken},
	{"service-account*.json", whyToken}, {"service_account*.json", whyToken}, {"serviceaccount*.json", whyToken},
	{"local.settings.json", whyToken},
	{"kubeconfig", whyToken}, {"*.kubeconfig", whyToken}, {"*.tfstate", whyToken}, {"*.tfstate.backup", whyToken},
	{"*.tfvars", whyToken}, {"*.tfvars.json", whyToken},
	{".vault_pass*", whyToken}, {"vault_pass*", whyToken}, {".vault-pass*", whyToken}, {"wp-config.php", whyToken},
	{"*.ovpn", whyKey},
	{"auth.json", whyToken}, {"kaggle.json", whyToken}, {"token.json", whyToken}, {"gha-creds-*.json", whyToken},
	{"google-credentials*.json", whyToken},
	{"pip.conf", whyToken}, {"pip.ini", whyToken}, {"nuget.config", whyToken}, {"terraform.rc", whyToken},
	{"ngrok.yml", whyToken}, {"sftp.json", whyToken},
	{".yarnrc.yml", whyToken}, {".secrets.*", whyToken}, {".envrc.*", whyEnv}, {".dev.vars", whyEnv},
	{".flaskenv", whyEnv}, {".renviron", whyEnv},
}

// secretDirectories are chains anywhere in a path; everything below them is secret.
var secretDirectories = []rule{
	{".ssh", whyKey}, {".gnupg", whyKey}, {".password-store", whyKey}, {".config/sops", whyKey},
	{".config/age", whyKey},

	{".aws", whyToken}, {".azure", whyToken}, {".config/gcloud", whyToken}, {".kube/config*", whyToken},
	{".docker/config.json", whyToken}, {".config/containers/auth.json", whyToken}, {".config/gh/hosts.yml", whyToken},
	{".config/glab-cli", whyToken}, {".config/hub", whyToken}, {".config/doctl", whyToken}, {".config/op", whyToken},
	{".cargo/credentials*", whyToken}, {".gem/credentials", whyToken}, {".composer/auth.json", whyToken},
	{".config/composer/auth.json", whyToken}, {".m2/settings.xml", whyToken}, {".m2/settings-security.xml", whyToken},
	{".gradle/gradle.properties", whyToken}, {".oci", whyToken}, {".fly", whyToken},
	{".config/github-copilot", whyToken},
	{".codex/auth.json", whyToken}, {".local/share/opencode/auth.json", whyToken}, {".git/credentials", whyToken},
	{".config/git/credentials", whyToken}, {".gitlab-runner/config.toml", whyToken}, {".huggingface/token", whyToken},
	{".cache/huggingface/token", whyToken},
	{".cloudflared", whyToken}, {".config/.wrangler", whyToken}, {".wrangler/config", whyToken},
	{".config/hcloud", whyToken}, {".config/linode-cli", whyToken},
	{".config/filezilla", whyToken}, {".snowsql/config", whyToken}, {".supabase/access-token", whyToken},
	{".config/netlify/config.json", whyToken},
	{".railway/config.json", whyToken}, {".bundle/config", whyToken},

	{".mozilla", whyBrowser}, {".thunderbird", whyBrowser}, {".config/google-chrome*", whyBrowser},
	{".config/chromium", whyBrowser},
	{".config/bravesoftware", whyBrowser}, {".config/microsoft-edge*", whyBrowser}, {"snap/firefox", whyBrowser},
	{"snap/chromium", whyBrowser},
	{"library/application support/google/chrome*", whyBrowser}, {"library/application support/firefox", whyBrowser},
	{"library/application support/bravesoftware", whyBrowser}, {"library/cookies", whyBrowser},
	{"library/safari", whyBrowser},
	{"library/keychains", whyBrowser}, {".local/share/keyrings", whyBrowser}, {".local/share/kwalletd", whyBrowser},
	{"google/chrome/user data", whyBrowser}, {"microsoft/edge/user data", whyBrowser},
	{"appdata/roaming/mozilla", whyBrowser},
	{"appdata/roaming/microsoft/credentials", whyBrowser}, {"appdata/local/microsoft/credentials", whyBrowser},
	{"appdata/roaming/microsoft/protect", whyBrowser}, {"appdata/local/microsoft/vault", whyBrowser},
}

// systemSecrets are at the root of the file system.
var systemSecrets = []rule{
	{"etc/shadow*", whySystem}, {"etc/gshadow*", whySystem}, {"etc/security/opasswd", whySystem},
	{"etc/sudoers*", whySystem},
	{"etc/master.passwd", whySystem}, {"etc/ssl/private", whySystem}, {"etc/pki/tls/private", whySystem},
	{"etc/wireguard", whySystem},
	{"etc/networkmanager/system-connections", whySystem}, {"etc/letsencrypt", whySystem}, {"run/secrets", whySystem},
	{"var/run/secrets", whySystem}, {"private/etc/master.passwd", whySystem}, {"private/var/db/dslocal", whySystem},
	{"var/db/dslocal", whySystem}, {"etc/docker/key.json", whySystem}, {"etc/kubernetes", whySystem},
	{"etc/rancher", whySystem},
	{"etc/ppp/chap-secrets", whySystem}, {"etc/ppp/pap-secrets", whySystem}, {"etc/ipsec.secrets", whySystem},
	{"etc/ipsec.d/private", whySystem},
	{"etc/openvpn", whySystem}, {"etc/wpa_supplicant", whySystem}, {"etc/netplan", whySystem},
	{"etc/postfix/sasl_passwd", whySystem},
	{"etc/exim4/passwd.client", whySystem}, {"etc/msmtprc", whySystem}, {"etc/apt/auth.conf", whySystem},
	{"etc/apt/auth.conf.d", whySystem},
	{"etc/mysql/debian.cnf", whySystem}, {"etc/ldap.secret", whySystem}, {"etc/pam_ldap.secret", whySystem},
	{"etc/libnss-ldap.secret", whySystem},
	{"etc/sssd", whySystem}, {"etc/samba/private", whySystem}, {"etc/vault.d", whySystem},
	{"etc/cloudflared", whySystem}, {"etc/restic", whySystem},
	{"etc/gitlab-runner", whySystem}, {"etc/containers/auth.json", whySystem},
	{"etc/gitlab/gitlab-secrets.json", whySystem}, {"etc/gitlab/gitlab.rb", whySystem},
	{"etc/cryptsetup-keys.d", whySystem}, {"etc/crypttab", whySystem}, {"etc/boto.cfg", whySystem},
	{"etc/iscsi", whySystem}, {"etc/davfs2/secrets", whySystem},

	{"proc/*/environ", whyProcess}, {"proc/*/mem", whyProcess}, {"proc/*/task/*/environ", whyProcess},
	{"proc/*/task/*/mem", whyProcess},
	{"proc/*/auxv", whyProcess}, {"proc/*/fd", whyProcess}, {"proc/*/task/*/fd", whyProcess},
	{"proc/*/map_files", whyProcess}, {"proc/*/root", whyProcess}, {"proc/*/cwd", whyProcess},
	{"proc/*/task/*/root", whyProcess},
	{"proc/*/task/*/cwd", whyProcess}, {"proc/kcore", whyProcess},
	{"dev/mem", whyProcess}, {"dev/kmem", whyProcess}, {"dev/port", whyProcess},
}
