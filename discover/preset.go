package discover

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// preset answers questions for OAuth metadata from the configuration, in the place of a server that does not. The SDK
// knows no other way to be told.
type preset struct {
	conf     OAuth
	endpoint string
	next     http.RoundTripper
}

func (p *preset) RoundTrip(req *http.Request) (*http.Response, error) {
	base := req.URL.Scheme + "://" + req.URL.Host
	path := req.URL.Path
	switch {
	case strings.HasPrefix(path, "/.well-known/oauth-protected-resource"):
		return answerJSON(req, map[string]any{"resource": p.endpoint, "authorization_servers": []string{base}})
	case strings.HasPrefix(path, "/.well-known/oauth-authorization-server"):
		return answerJSON(req, map[string]any{
			"issuer":                   base + strings.TrimPrefix(path, "/.well-known/oauth-authorization-server"),
			"authorization_endpoint":   p.conf.AuthorizationURL,
			"token_endpoint":           p.conf.TokenURL,
			"registration_endpoint":    p.conf.RegistrationURL,
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		})
	}
	return p.next.RoundTrip(req)
}

func answerJSON(req *http.Request, v any) (*http.Response, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)),
	}, nil
}
