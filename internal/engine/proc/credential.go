package proc

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
)

// SecretVariable reports whether a variable (NAME=value) has a credential, by its name or its value. Commands that run
// without approval never get it.
func SecretVariable(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	return Credential(name) || SecretValue(value)
}

// OfProvider reports whether a variable configures a model provider, by its name. It is Adze's, not a build's.
func OfProvider(name string) bool { return slices.Contains(providers, words(name)[0]) }

// SecretValue reports whether a text contains a credential in a form that is known: a token with a well-known prefix, a
// private key, a connection string with a password, or a URL with user information. It is less strict than
// [gitconfig.LooksLikeToken], which decides what is masked: withholding one variable too many costs little.
func SecretValue(value string) bool {
	return secretForms().MatchString(value)
}

var secretForms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		gitconfig.TokenStart() + `[A-Za-z0-9_-]{6}`,
		`-----BEGIN [A-Z ]*PRIVATE KEY`, `AGE-SECRET-KEY-`,
		`(?i)(password|passwd|passphrase|pwd|secret|token|accountkey|accesskey|apikey|api_key|signature)=[^\s;&]`,
		`(?i)\bauthorization:\s*\S`, `(?i)\b(basic|bearer)\s+[A-Za-z0-9+/_.=-]{8}`,
		`://[^\s/?#@]+@`, `://[^\s/@]*:[^\s@]*@`,
	}, "|"))
})
