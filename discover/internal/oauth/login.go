package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// loginWait bounds a login in the browser.
const loginWait = 5 * time.Minute

// Redirect returns the redirect URL of the login: the configured one, or one with a free port.
func Redirect(configured string) (string, error) {
	if configured != "" {
		u, err := url.Parse(configured)
		if err != nil {
			return "", err
		}
		if ip := net.ParseIP(u.Hostname()); u.Scheme != "http" || u.Hostname() != "localhost" &&
			(ip == nil || !ip.IsLoopback()) {
			return "", fmt.Errorf("redirectUri %s is not a loopback address", configured)
		}
		return configured, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return fmt.Sprintf("http://%s/callback", l.Addr()), nil
}

// Browse opens address in a browser and waits for the redirect to back.
func Browse(ctx context.Context, back, address string, open func(address string) error) (*auth.AuthorizationResult,
	error) {
	u, err := url.Parse(back)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	came := make(chan url.Values, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path != u.Path || q.Get("code") == "" && q.Get("error") == "" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, "Login complete. You can close this window.\n")
			select {
			case came <- q:
			default:
			}
		})}
	go server.Serve(l)
	defer func() { // the browser still gets its response
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
	}()
	if open == nil {
		return nil, errors.New("can't open a browser")
	}
	if err := open(address); err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	select {
	case q := <-came:
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("login denied: %s %s", e, q.Get("error_description"))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("login in the browser: %w", ctx.Err())
	}
}

// Registration adds to the registration at an authorization server a client authentication method that the server
// supports. The SDK requests none, and then some servers, such as the official TypeScript one, choose a method that
// they don't accept.
type Registration struct {
	Meta *oauthex.ClientRegistrationMetadata // sent after the server's metadata was received
	Next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (r *Registration) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.Next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK || !describesServer(req.URL.Path) {
		return resp, err
	}
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(raw))
	var server struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if json.Unmarshal(raw, &server) == nil {
		r.Meta.TokenEndpointAuthMethod = authMethod(server.Methods)
	}
	return resp, nil
}

func describesServer(path string) bool {
	return strings.Contains(path, "/.well-known/oauth-authorization-server") ||
		strings.Contains(path, "/.well-known/openid-configuration")
}

// authMethod returns the client authentication to request. A program on a user's machine can't keep a secret, so none
// is best.
func authMethod(supported []string) string {
	for _, method := range []string{"none", "client_secret_basic", "client_secret_post"} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return "" // unknown: the server chooses
}

// Preset answers requests for OAuth metadata from the configuration, for servers that don't answer them. The SDK has no
// other way to set it.
type Preset struct {
	Endpoint         string // of the MCP server
	AuthorizationURL string
	TokenURL         string
	RegistrationURL  string
	Next             http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (p *Preset) RoundTrip(req *http.Request) (*http.Response, error) {
	base := req.URL.Scheme + "://" + req.URL.Host
	path := req.URL.Path
	switch {
	case strings.HasPrefix(path, "/.well-known/oauth-protected-resource"):
		return answerJSON(req, map[string]any{"resource": p.Endpoint, "authorization_servers": []string{base}})
	case strings.HasPrefix(path, "/.well-known/oauth-authorization-server"):
		return answerJSON(req, map[string]any{
			"issuer":                   base + strings.TrimPrefix(path, "/.well-known/oauth-authorization-server"),
			"authorization_endpoint":   p.AuthorizationURL,
			"token_endpoint":           p.TokenURL,
			"registration_endpoint":    p.RegistrationURL,
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		})
	}
	return p.Next.RoundTrip(req)
}

func answerJSON(req *http.Request, v any) (*http.Response, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)),
		ContentLength: int64(len(raw)),
	}, nil
}
