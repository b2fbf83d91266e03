package broker

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/internal/engine/table"
)

// Credential is a header that is added to HTTPS requests for a host. The command that sends them never sees its value.
type Credential struct {
	Host          string // a name; its port is 443 unless it has another one
	Header, Value string
	Methods       []string // of the requests; nil: GET and HEAD
	Secrets       []string `json:"-"` // parts of Value
}

// Credentials are the credentials of a session. For their hosts, and no others, TLS ends in the broker.
type Credentials struct {
	Secrets []string // what answers must not contain
	hosts   map[Target][]Credential
	mask    *redact.Mask
	key     func() (tls.Certificate, error)
	bundle  string // once there is a key: the path of a file with the certificates that commands trust
}

// NewCredentials checks a list of credentials. environ has the authorities that commands trust otherwise. save saves
// these and the broker's certificate in a file, before the first command.
func NewCredentials(list []Credential, environ []string, save func(string) (string, error)) (*Credentials, error) {
	c := &Credentials{hosts: map[Target][]Credential{}}
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	for _, one := range list {
		t, err := target(one.Host, "443")
		if err == nil && (t.Addr.IsValid() || t.Port == "80") {
			err = fmt.Errorf("%q is not the name of a host with HTTPS", one.Host)
		}
		name := strings.Trim(strings.ToLower(one.Header), "abcdefghijklmnopqrstuvwxyz0123456789-_")
		words := append([]string{""}, strings.Fields(one.Value)...)
		secret := words[len(words)-1]
		switch {
		case err != nil:
			return nil, err
		case name != "" || one.Header == "" || strings.ContainsFunc(one.Value, unprintable):
			return nil, fmt.Errorf("the header for %s is empty, or has invalid characters", one.Host)
		case redact.NewValues([]redact.Secret{{Value: secret}}).String(secret) == secret:
			return nil, fmt.Errorf("the value for %s is too short or too common to be masked in answers", one.Host)
		}
		if len(one.Methods) == 0 {
			one.Methods = []string{http.MethodGet, http.MethodHead}
		}
		basic := http.Request{Header: http.Header{"Authorization": {one.Value}}}
		_, password, _ := basic.BasicAuth()
		c.Secrets = append(append(c.Secrets, secret, password), one.Secrets...)
		c.hosts[t] = append(c.hosts[t], one)
	}
	var secrets []redact.Secret
	for _, s := range c.Secrets {
		secrets = append(secrets, redact.Secret{Value: s})
	}
	c.mask = redact.NewValues(secrets)
	c.key = sync.OnceValues(func() (tls.Certificate, error) {
		var names []string
		for t := range c.hosts {
			names = append(names, t.Host)
		}
		certificate, key, err := certify(names)
		if err == nil {
			c.bundle, err = save(roots(environ) + certificate)
		}
		return key, err
	})
	return c, nil
}

// certify makes a key for some hosts. Its certificate is its own authority, and can't be that of others.
func certify(hosts []string) (certificate string, key tls.Certificate, err error) {
	own, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // it can't fail
	from := time.Now().Add(-time.Hour)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: "Adze " + rand.Text()},
		NotBefore: from, NotAfter: from.AddDate(1, 0, 0), DNSNames: hosts, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certificate, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}, err
}

//go:embed authorities.txt
var authoritiesText string

// authorities returns the variables that name files with authorities, and the files of systems with them.
var authorities = sync.OnceValue(func() (words []string) {
	for _, line := range table.Must(table.Lines(authoritiesText, 2)) {
		words = append(words, strings.Fields(line.Text)...)
	}
	return words
})

// roots returns the authorities that commands trust otherwise: the system's, and those that variables name.
func roots(environ []string) string {
	paths := slices.Clone(authorities())
	for _, kv := range environ {
		if name, path, _ := strings.Cut(kv, "="); slices.Contains(paths, name) {
			paths = append(paths, path)
		}
	}
	texts := map[string]bool{"": true}
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && filepath.IsAbs(path) {
			texts[string(b)] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(texts)), "\n") + "\n"
}

// Bundle returns the file of authorities that commands trust; "": there are no credentials.
func (c *Credentials) Bundle() string {
	if c == nil {
		return ""
	}
	_, _ = c.key() // the broker reports the error
	return c.bundle
}

// Environ returns an environment with the variables that make programs trust the broker.
func (c *Credentials) Environ(env []string) []string {
	bundle := c.Bundle()
	if bundle == "" {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(authorities(), name)
	})
	for _, name := range authorities() {
		if name[0] != '/' {
			env = append(env, name+"="+bundle)
		}
	}
	return env
}

// has reports whether a target has credentials.
func (c *Credentials) has(t Target) bool { return c != nil && c.hosts[t] != nil }

// add adds the headers for a host to a request, and removes what would make its answer unreadable here.
func (c *Credentials) add(t Target, r *http.Request, u *use) (added bool) {
	for _, name := range []string{"Range", "If-Range", // a value could come in two parts
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		r.Header.Del(name)
	}
	r.Header.Set("Accept-Encoding", "identity")
	r.Close = true // what its body hides is no second request
	note := ""
	for _, one := range c.hosts[t] {
		if slices.Contains(one.Methods, r.Method) {
			r.Header.Set(one.Header, one.Value)
			added = true
		} else {
			note = fmt.Sprintf("%s requests don't get the %s of network.credentials, which is for %s", r.Method,
				one.Header, strings.Join(one.Methods, ", "))
		}
	}
	if !added {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.Note = note
	}
	return added
}

// clean masks an answer. An answer that can't be read here is an error.
func (c *Credentials) clean(r *http.Response, added bool) error {
	coded := func(e string) bool { return e != "" && !strings.EqualFold(e, "identity") }
	if r.StatusCode == http.StatusSwitchingProtocols || r.StatusCode == http.StatusPartialContent ||
		slices.ContainsFunc(r.Header["Content-Encoding"], coded) {
		r.Body.Close()
		return errors.New("its answer is compressed, a part or no HTTP, so it can't be checked for credentials")
	}
	r.Status, r.Trailer = c.mask.String(r.Status), nil
	if added {
		r.Header.Del("Set-Cookie") // it would be a credential, too
	}
	for name, values := range r.Header {
		if c.mask.String(name) != name {
			delete(r.Header, name)
		}
		for i, v := range values {
			values[i] = c.mask.String(v)
		}
	}
	if r.Body != http.NoBody && r.Request.Method != http.MethodHead {
		r.Header.Del("Content-Length")
		r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
		r.Body = &maskedBody{ReadCloser: r.Body, stream: c.mask.Stream()}
	}
	return nil
}

// maskedBody is the body of an answer, without secrets.
type maskedBody struct {
	io.ReadCloser
	stream redact.Stream
	out    bytes.Buffer
	err    error
}

func (m *maskedBody) Read(p []byte) (int, error) {
	give := func(piece []byte) { m.out.Write(piece) }
	for m.out.Len() == 0 && m.err == nil {
		b := make([]byte, 32<<10)
		var n int
		n, m.err = m.ReadCloser.Read(b)
		if m.stream.Write(b[:n], give); m.err == io.EOF {
			m.stream.Flush(give)
		}
	}
	if m.out.Len() > 0 {
		return m.out.Read(p)
	}
	return 0, m.err
}
