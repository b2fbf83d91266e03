package secretvalues

import (
	"encoding/base64"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/redact"
)

// homeFiles are files with credentials, in the home directory.
var homeFiles = []string{
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".npmrc", ".pypirc", ".docker/config.json",
	".config/containers/auth.json", ".config/gh/hosts.yml", ".config/glab-cli/config.yml", ".aws/credentials",
	".cargo/credentials.toml", ".cargo/credentials",
}

// stateFiles are those in Adze's own directory.
var stateFiles = []string{"settings.json", "mcp/mcp-tokens.json"}

func (l *List) credentialFiles() []string {
	var out []string
	if l.o.Home != "" {
		for _, name := range homeFiles {
			out = append(out, filepath.Join(l.o.Home, filepath.FromSlash(name)))
		}
	}
	if l.o.State != "" {
		for _, name := range stateFiles {
			out = append(out, filepath.Join(l.o.State, filepath.FromSlash(name)))
		}
	}
	return out
}

// userConfigs returns the files of the system's and the user's git configuration.
func (l *List) userConfigs() []string {
	out := []string{"/etc/gitconfig"}
	if l.o.Home != "" {
		out = append(out, filepath.Join(l.o.Home, ".gitconfig"), filepath.Join(l.o.Home, ".config", "git", "config"))
	}
	for _, kv := range l.o.Environ {
		switch name, value, _ := strings.Cut(kv, "="); {
		case value == "" || !filepath.IsAbs(value):
		case name == "GIT_CONFIG_SYSTEM", name == "GIT_CONFIG_GLOBAL":
			out = append(out, value)
		case name == "XDG_CONFIG_HOME":
			out = append(out, filepath.Join(value, "git", "config"))
		}
	}
	return out
}

// inEnviron returns the secrets of variables: values whose name is that of a credential, credentials in URLs and
// connection strings, values that look like a token, and settings for git.
func inEnviron(environ []string) []redact.Secret {
	var out []redact.Secret
	values := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		values[name] = value
		out = append(out, inText(value)...)
		for _, word := range strings.FieldsFunc(value,
			func(r rune) bool { return strings.ContainsRune(" \t\n\"';,=", r) }) {
			if gitconfig.LooksLikeToken(word) {
				out = append(out, redact.Secret{Value: word, Sure: true})
			}
		}
		isURL := strings.Contains(value, "://")
		if path, ok := secretPath(name, value); ok {
			out = append(out, redact.Secret{Value: path, Sure: true})
		}
		if (proc.Credential(name) || secretWord(name)) && !isURL && !strings.HasPrefix(value, "{") {
			out = append(out, redact.Secret{Value: value})
			out = append(out, decoded(value)...)
			out = append(out, longLines(value)...)
		}
	}
	for name, key := range values {
		if n, ok := strings.CutPrefix(name, "GIT_CONFIG_KEY_"); ok {
			s := gitconfig.Setting{Key: gitconfig.SplitKey(key), Value: values["GIT_CONFIG_VALUE_"+n], Valued: true}
			out = append(out, sure(append(s.Credentials(), gitconfig.InURLs(s.Key.Sub)...))...)
		}
	}
	return out
}

// secretWord reports whether a word in the name of a variable is one that only matters for masking: such a variable may
// be passed on.
func secretWord(name string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r < 'A' || r > 'Z' })
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"PASS", "PGPASS", "PAT", "JWT", "AUTH", "SK"}, w)
	})
}

// secretPath returns the path of a webhook's URL: everyone who has it can post.
func secretPath(name, value string) (string, bool) {
	if !strings.Contains(strings.ToUpper(name), "WEBHOOK") {
		return "", false
	}
	_, rest, ok := strings.Cut(value, "://")
	_, path, ok2 := strings.Cut(rest, "/")
	return path, ok && ok2 && len(path) >= 16
}

// longLines returns the long lines of a value with several, such as a private key.
func longLines(value string) []redact.Secret {
	var out []redact.Secret
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, l := range lines {
			if l = strings.TrimSpace(l); len(l) >= 16 && !strings.HasPrefix(l, "-----") {
				out = append(out, redact.Secret{Value: l})
			}
		}
	}
	return out
}

// named is a name and a value in JSON, YAML, TOML, an INI file or a connection string.
var named = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z_][\w-]*)["']?[ \t]*[:=][ \t]*["']?([^\s"',;}\]]+)`)
})

// inText returns the credentials in URLs, headers, and values whose name is that of a credential.
func inText(text string) []redact.Secret {
	out := sure(gitconfig.InURLs(text))
	if strings.Contains(text, "PRIVATE KEY-----") {
		ends := func(r rune) bool { return strings.ContainsRune(" \n\r\"'", r) }
		for _, line := range strings.FieldsFunc(strings.ReplaceAll(text, `\n`, "\n"), ends) {
			if len(line) >= 40 {
				out = append(out, redact.Secret{Value: line, Sure: true})
			}
		}
	}
	if !strings.ContainsAny(text, ":=") {
		return out
	}
	for _, m := range named().FindAllStringSubmatch(text, -1) {
		name, value := m[1], m[2]
		if !secretName(name) || strings.Contains(value, "://") || strings.ContainsRune("${[/~-", rune(value[0])) ||
			variable(value) {
			continue // also a reference, a list, a path, or the first line of a key
		}
		out = append(out, redact.Secret{Value: value})
		out = append(out, decoded(value)...)
	}
	return out
}

// secretName reports whether a name in a file is that of a credential, and not of where it is or which kind it has.
func secretName(name string) bool {
	if name == "auth" || name == "auths" || name == "_auth" || strings.EqualFold(name, "accountkey") {
		return true
	}
	about := []string{"store", "helper", "helpers", "process", "path", "file", "type", "limit", "env", "envkey",
		"expiry", "endpoint"}
	return proc.Credential(name) && !slices.ContainsFunc(about, func(end string) bool {
		return strings.HasSuffix(strings.ToLower(name), end)
	})
}

// variable reports whether a value is the name of a variable.
func variable(value string) bool {
	return strings.Contains(value, "_") && strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// inFile returns the credentials in a file of credentials.
func inFile(path, text string) []redact.Secret {
	if !strings.HasSuffix(path, "netrc") {
		out := inText(text)
		for i := range out {
			out[i].Sure = true
		}
		return out
	}
	var out []redact.Secret
	user := ""
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "machine", "default":
			user = ""
		case "login":
			user = words[i+1]
		case "password":
			out = append(out, redact.Secret{User: user, Value: strings.Trim(words[i+1], `"`), Sure: true})
		}
	}
	return out
}

// decoded returns the password in the base64 form of user:password.
func decoded(value string) []redact.Secret {
	plain, err := base64.StdEncoding.DecodeString(value)
	user, password, ok := strings.Cut(string(plain), ":")
	binary := func(r rune) bool { return r < ' ' || r > '~' }
	if err != nil || !ok || password == "" || strings.ContainsFunc(string(plain), binary) {
		return nil
	}
	return []redact.Secret{{Value: password, User: user, Sure: true}}
}

func sure(found []gitconfig.Credential) []redact.Secret {
	var out []redact.Secret
	for _, c := range found {
		out = append(out, redact.Secret{Value: c.Value, User: c.User, Sure: true})
	}
	return out
}
