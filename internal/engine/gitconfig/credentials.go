package gitconfig

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/redact"
)

// Credential is a password or token, and the user that it belongs to, if that is known.
type Credential struct{ User, Value string }

// Credentials returns the credentials in a file: in URLs, HTTP headers, and settings such as sendemail.smtpPass. Of a
// file that git rejects, and of comments, it finds those in URLs and headers.
func Credentials(text []byte) []Credential {
	out := append(InURLs(string(text)), inHeaders(string(text))...)
	settings, err := Parse(text)
	if err != nil {
		return unique(out)
	}
	for _, s := range settings {
		out = append(out, inURLs(s.Key.Sub, userinfo)...)
		out = append(out, s.Credentials()...)
	}
	return unique(out)
}

// Credentials returns the credentials in the value of a setting.
func (s Setting) Credentials() []Credential {
	out := append(inURLs(s.Value, userinfo), inHeaders(s.Value)...)
	switch {
	case s.Key.Name == "extraheader":
		out = append(out, inHeader(s.Value)...)
	case s.Key.Section == "credential" && s.Key.Name == "helper":
		for _, m := range inHelper().FindAllStringSubmatch(s.Value, -1) {
			out = append(out, Credential{Value: m[1]})
		}
	case secretName(s.Key.Name) && s.Value != "" && !strings.HasPrefix(s.Value, "!") &&
		!strings.Contains(s.Value, "://"):
		out = append(out, Credential{Value: s.Value})
	}
	return unique(out)
}

// inHelper finds the password in a credential helper that is a line of a shell.
var inHelper = compiled(`(?i)\b(?:password|token|credential)=([^\s"';|&)\\]+)`)

// secretName reports whether a setting is a password or a token by its name.
func secretName(name string) bool {
	if name == "pass" || name == "smtppass" || name == "apikey" {
		return true
	}
	return slices.ContainsFunc([]string{"password", "passwd", "token", "secret"}, func(part string) bool {
		return strings.HasSuffix(name, part) // not passwordCommand, tokenPath
	})
}

// userinfo is the part of a URL before the host, in a text or in a value. A password may contain an @.
var (
	userinfoInText = compiled(`(?i)[a-z][a-z0-9+.-]*://([^\s/?#"'<>` + "`" + `]+)@`)
	userinfo       = compiled(`(?i)[a-z][a-z0-9+.-]*://([^\s/?#]+)@`)
)

// compiled compiles an expression at its first use: most files don't need it.
func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// InURLs returns the credentials of the URLs in a text, as they are there and decoded. The user of a URL without a
// password counts if it looks like a token.
func InURLs(text string) []Credential { return inURLs(text, userinfoInText) }

func inURLs(text string, userinfo func() *regexp.Regexp) []Credential {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return nil
	}
	out := inQueries(rest)
	if !strings.Contains(rest, "@") {
		return out
	}
	for _, m := range userinfo().FindAllStringSubmatch(text, -1) {
		user, password, _ := strings.Cut(m[1], ":")
		if password != "" && password != "x-oauth-basic" {
			out = append(out, decoded(user, password)...)
		}
		if tokenAsUser(user) {
			out = append(out, decoded("", user)...)
		}
	}
	return out
}

// queried is a parameter of a URL with a credential: ?private_token=…
var queried = compiled(`(?i)[?&]([a-z0-9_.-]*(?:token|secret|password|passwd|api_?key|signature|sig))=([^\s&#"'<>]{8,})`)

// inQueries returns the credentials in the parameters of URLs.
func inQueries(text string) (out []Credential) {
	if !strings.Contains(text, "=") {
		return nil
	}
	for _, m := range queried().FindAllStringSubmatch(text, -1) {
		out = append(out, decoded("", m[2])...)
	}
	return out
}

// decoded returns a credential as it is in a URL and, if that differs, decoded.
func decoded(user, value string) []Credential {
	out := []Credential{{user, value}}
	plainUser, err := url.PathUnescape(user)
	if err != nil {
		plainUser = user
	}
	if plain, err := url.PathUnescape(value); err == nil && (plain != value || plainUser != user) {
		out = append(out, Credential{plainUser, plain})
	}
	return out
}

// tokenAsUser reports whether the user of a URL is a token: https://TOKEN@host, https://TOKEN:x-oauth-basic@host.
func tokenAsUser(user string) bool {
	const shortest = 16
	mixed := strings.ContainsAny(user, "0123456789") && !strings.ContainsAny(user, "%@.")
	return len(user) >= shortest && mixed || LooksLikeToken(user)
}

// LooksLikeToken reports whether a value has the form of a token of a well-known service. It is less strict than what
// is masked in every text: the value is one word, and something else says that it may be a secret.
func LooksLikeToken(value string) bool {
	for _, start := range redact.Starts() {
		rest, ok := strings.CutPrefix(value, start)
		if ok && len(rest) >= 12 && strings.ContainsAny(rest, "0123456789") &&
			!strings.ContainsAny(rest, " \t\n/\\:;,") {
			return true
		}
	}
	return false
}

// authorization is a header with credentials.
var authorization = compiled(`(?i)\bauthorization:[ \t]*((?:[a-z]+[ \t]+)?[^\s"']+)`)

// inHeaders returns the credentials of the Authorization headers in a text.
func inHeaders(text string) []Credential {
	if !strings.Contains(strings.ToLower(text), "authorization:") {
		return nil
	}
	var out []Credential
	for _, m := range authorization().FindAllStringSubmatch(text, -1) {
		out = append(out, inHeader("authorization: "+m[1])...)
	}
	return out
}

// inHeader returns the credentials of a header: all that follows its name and scheme. Basic ones are decoded too.
func inHeader(header string) []Credential {
	_, value, ok := strings.Cut(header, ":")
	if value = strings.TrimSpace(value); !ok || value == "" {
		return nil
	}
	if scheme, rest, ok := strings.Cut(value, " "); ok && len(scheme) <= 10 && !strings.ContainsAny(scheme, "=;,") {
		value = strings.TrimSpace(rest)
	}
	out := []Credential{{Value: value}}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if plain, err := e.DecodeString(strings.TrimRight(value, "=")); err == nil {
			if user, password, ok := strings.Cut(string(plain), ":"); ok && password != "" {
				return append(out, Credential{user, password})
			}
		}
	}
	return out
}

func unique(list []Credential) []Credential {
	var out []Credential
	for _, c := range list {
		if c.Value != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
