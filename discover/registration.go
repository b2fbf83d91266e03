package discover

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// registration asks, when it registers us at an authorization server, for a way to show who we are that the server
// knows. The SDK asks for none, and servers then choose one that they do not take: the official TypeScript one does.
type registration struct {
	meta *oauthex.ClientRegistrationMetadata // is sent after the server's metadata came
	next http.RoundTripper
}

func (r *registration) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
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
		r.meta.TokenEndpointAuthMethod = authMethod(server.Methods)
	}
	return resp, nil
}

func describesServer(path string) bool {
	return strings.Contains(path, "/.well-known/oauth-authorization-server") || strings.Contains(path, "/.well-known/openid-configuration")
}

// authMethod is the client authentication to request. A program on a user's machine can't keep a secret, so none is best.
func authMethod(supported []string) string {
	for _, method := range []string{"none", "client_secret_basic", "client_secret_post"} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return "" // the server has said nothing: its own choice
}
