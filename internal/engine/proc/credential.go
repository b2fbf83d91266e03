package proc

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/internal/engine/redact"
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
// gitconfig.LooksLikeToken, which decides what is masked: withholding one variable too many costs little.
func SecretValue(value string) bool {
	return hasToken(value) || strings.ContainsAny(value, "=-:@ \t\n\f\r") && secretForms().MatchString(value)
}

// hasToken reports whether a text has a word that begins as the tokens of a well-known service do, and goes on. There
// are many beginnings: an expression with all of them takes most of the time that judging an environment takes.
func hasToken(value string) bool {
	const more = 6
	ends := func(c rune) bool { return c > 'z' || c != '-' && !isWord(byte(c)) }
	for _, start := range redact.Starts() {
		for from := 0; ; {
			i := strings.Index(value[from:], start)
			if i < 0 {
				break
			}
			i += from
			rest := value[i+len(start):]
			if (i > 0 && isWord(value[i-1])) != isWord(start[0]) && len(rest) >= more &&
				!strings.ContainsFunc(rest[:more], ends) {
				return true
			}
			from = i + 1
		}
	}
	return false
}

// isWord reports whether a byte is a letter, a digit or an underscore.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// secretForms are the other forms. Each has one of the characters that SecretValue looks for.
var secretForms = lazy.Regexp(strings.Join([]string{
	`-----BEGIN [A-Z ]*PRIVATE KEY`, `AGE-SECRET-KEY-`,
	`(?i)(password|passwd|passphrase|pwd|secret|token|accountkey|accesskey|apikey|api_key|signature)=[^\s;&]`,
	`(?i)\bauthorization:\s*\S`, `(?i)\b(basic|bearer)\s+[A-Za-z0-9+/_.=-]{8}`,
	`://[^\s/?#@]+@`, `://[^\s/@]*:[^\s@]*@`,
}, "|"))
