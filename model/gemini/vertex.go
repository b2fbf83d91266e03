package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/adze-dev/adze/model"
)

// credentials is the key file of a service account, or the application default credentials of gcloud.
type credentials struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	QuotaProject string `json:"quota_project_id"`
	TokenURI     string `json:"token_uri"`

	ClientID     string `json:"client_id"` // authorized_user
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	ClientEmail  string `json:"client_email"` // service_account
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`

	mu   sync.Mutex
	last *oauth2.Token
}

// Vertex returns the options with the address and the login of Vertex AI, which has the same API. file is the key file
// of a service account, or the one that gcloud writes for applications. Without a project, it is that of the file;
// without a location such as "europe-west4", it is "global". o.BaseURL replaces the server of the location.
func Vertex(o Options, file []byte, project, location string) (Options, error) {
	c := &credentials{}
	if err := json.Unmarshal(file, c); err != nil {
		return o, model.Errorf(model.ErrCredentials, "read the Google credentials: invalid JSON: %w", err)
	}
	if c.Type != "authorized_user" && c.Type != "service_account" {
		return o, model.Errorf(model.ErrCredentials, "Google credentials of type %q are not supported\n"+
			"Use a service account, or run 'gcloud auth application-default login'.", c.Type)
	}
	project, location = cmp.Or(project, c.ProjectID, c.QuotaProject), cmp.Or(location, "global")
	if project == "" {
		return o, model.Errorf(model.ErrCredentials, "no Google Cloud project is set\nSet GOOGLE_CLOUD_PROJECT.")
	}
	server := "https://aiplatform.googleapis.com"
	if location != "global" {
		server = "https://" + location + "-aiplatform.googleapis.com"
	}
	o.BaseURL = fmt.Sprintf("%s/v1/projects/%s/locations/%s/publishers/google",
		strings.TrimRight(cmp.Or(o.BaseURL, server), "/"), project, location)
	o.Key, o.Token = "", c.token
	return o, nil
}

// tokenTime bounds a request for a token.
const tokenTime = 30 * time.Second

// token returns a token, and the same one until it expires.
func (c *credentials) token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.Valid() {
		return c.last.AccessToken, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	at := cmp.Or(c.TokenURI, "https://oauth2.googleapis.com/token")
	source := (&oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: at, AuthStyle: oauth2.AuthStyleInParams},
	}).TokenSource(ctx, &oauth2.Token{RefreshToken: c.RefreshToken})
	if c.Type == "service_account" {
		source = (&jwt.Config{
			Email: c.ClientEmail, PrivateKey: []byte(c.PrivateKey), PrivateKeyID: c.PrivateKeyID, TokenURL: at,
			Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"},
		}).TokenSource(ctx)
	}
	token, err := source.Token()
	var rejected *oauth2.RetrieveError
	switch {
	case errors.As(err, &rejected):
		return "", model.Errorf(model.ErrCredentials, "log in to Google Cloud: status %d: %s\n"+
			"Run 'gcloud auth application-default login', or check the service account's key.",
			rejected.Response.StatusCode, cmp.Or(rejected.ErrorDescription, rejected.ErrorCode, string(rejected.Body)))
	case err != nil:
		return "", fmt.Errorf("log in to Google Cloud: %w", err)
	}
	c.last = token
	return token.AccessToken, nil
}
