package discover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/adze-dev/adze/discover/internal/oauth"
)

// loginNeeded is the error of a server that requires a login.
type loginNeeded struct {
	alias string
	lost  error // why the saved login is no longer valid; nil: there was none
}

func (e *loginNeeded) Error() string {
	if e.lost != nil {
		return fmt.Sprintf("login expired: the server rejected the refresh token (%v). Run 'adze mcp login %s'", e.lost,
			e.alias)
	}
	return fmt.Sprintf("login required: run 'adze mcp login %s'", e.alias)
}

// authority manages the tokens of one server: it reads them from the file, refreshes them, and logs in if allowed.
type authority struct {
	link   *link
	source *oauth.Source
	mu     sync.Mutex
	may    bool // a login may start
	flow   *auth.AuthorizationCodeHandler
}

// authority returns the authority for the server; nil if its configuration has its own authorization.
func (l *link) authority() *authority {
	if l.kind == launched || l.kind == dialed || hasHeader(l.conf.Headers, "Authorization") || l.conf.OAuth.disabled() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.auth == nil {
		l.auth = &authority{link: l, may: l.opt.Login, source: &oauth.Source{
			Dir: l.opt.State, Alias: l.alias, URL: l.conf.endpoint(), Write: writeFile,
			Client: func() *http.Client { return httpClient(nil, nil) },
		}}
	}
	return l.auth
}

// noLogin explains why a server without an authority has no login.
func (l *link) noLogin() string {
	switch {
	case l.kind == launched || l.kind == dialed:
		return "uses " + string(l.kind) + "; login applies only to HTTP servers"
	case l.conf.OAuth.disabled():
		return "has oauth.enabled set to false"
	}
	return "uses the Authorization header in its settings, not a login"
}

func (o *OAuth) disabled() bool { return o != nil && o.Enabled != nil && !*o.Enabled }

// token returns the token for a transport without OAuth; "" for none.
func (a *authority) token() (string, error) {
	t, err := a.source.Token()
	if err != nil || t == nil {
		return "", err
	}
	return t.AccessToken, nil
}

// another returns a token other than the rejected one.
func (a *authority) another(refused string) (string, error) {
	t, err := a.source.Renew(refused)
	if err == nil && t == nil {
		err = &loginNeeded{a.link.alias, a.source.Lost()}
	}
	if err != nil {
		return "", err
	}
	return t.AccessToken, nil
}

// TokenSource implements [auth.OAuthHandler].
func (a *authority) TokenSource(context.Context) (oauth2.TokenSource, error) { return a.source, nil }

// Authorize implements [auth.OAuthHandler]: it is called when a server rejects a request.
func (a *authority) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	refused := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if resp.StatusCode == http.StatusUnauthorized && refused != "" {
		if t, err := a.source.Renew(refused); err == nil && t != nil {
			return closeBody(resp)
		}
	}
	a.mu.Lock()
	may := a.may
	a.mu.Unlock()
	if !may {
		closeBody(resp)
		return &loginNeeded{a.link.alias, a.source.Lost()}
	}
	flow, err := a.login()
	if err != nil {
		closeBody(resp)
		return err
	}
	return flow.Authorize(ctx, req, resp)
}

func closeBody(resp *http.Response) error {
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
	return nil
}

// login prepares the login in a browser, with a redirect to loopback.
func (a *authority) login() (*auth.AuthorizationCodeHandler, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flow != nil {
		return a.flow, nil
	}
	conf := OAuth{}
	if a.link.conf.OAuth != nil {
		conf = *a.link.conf.OAuth
	}
	back, err := oauth.Redirect(conf.RedirectURI)
	if err != nil {
		return nil, err
	}
	client := &oauthex.ClientRegistrationMetadata{
		ClientName: a.link.opt.name(), RedirectURIs: []string{back},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back, RequestRefreshToken: true, Client: httpClient(nil, nil), AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult,
			error) {
			return a.browse(ctx, back, args.URL)
		},
		NewTokenSource: func(ctx context.Context, cfg *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			if err := a.source.Keep(ctx, cfg, t); err != nil {
				a.link.log.Printf("save the login: %v", err)
			}
			return a.source, nil
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: client},
	}
	cfg.Client.Transport = &oauth.Registration{Meta: client, Next: cfg.Client.Transport}
	if conf.AuthorizationURL != "" && conf.TokenURL != "" {
		cfg.Client.Transport = &oauth.Preset{
			Endpoint: a.link.conf.endpoint(), AuthorizationURL: conf.AuthorizationURL, TokenURL: conf.TokenURL,
			RegistrationURL: conf.RegistrationURL, Next: cfg.Client.Transport,
		}
	}
	if len(conf.Scopes) > 0 {
		cfg.ScopeFilter = func([]string) []string { return conf.Scopes }
	}
	switch {
	case strings.HasPrefix(conf.ClientID, "https://"):
		cfg.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: conf.ClientID}
	case conf.ClientID != "":
		cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: conf.ClientID}
		if conf.ClientSecret != "" {
			cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: conf.ClientSecret}
		}
	}
	a.flow, err = auth.NewAuthorizationCodeHandler(cfg)
	return a.flow, err
}

// browse opens address in the browser and waits for the redirect.
func (a *authority) browse(ctx context.Context, back, address string) (*auth.AuthorizationResult, error) {
	if err := checkURL(address); err != nil {
		return nil, err
	}
	return oauth.Browse(ctx, back, address, a.link.opt.OpenURL)
}

// withLogin returns a server that one can log in to.
func (s *Servers) withLogin(alias string) (*link, *authority, error) {
	l, err := s.link(alias)
	if err != nil {
		return nil, nil, err
	}
	a := l.authority()
	if a == nil {
		return nil, nil, fmt.Errorf("MCP server %s %s", alias, l.noLogin())
	}
	return l, a, nil
}

// Login logs in to a server, in a browser that Options.OpenURL opens, and saves the login.
func (s *Servers) Login(ctx context.Context, alias string) error {
	l, a, err := s.withLogin(alias)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.conf.endpoint(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream, application/json")
	client := httpClient(l.conf.Headers, nil)
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("MCP server %s: %w", alias, err)
	}
	if resp.StatusCode != http.StatusUnauthorized {
		resp.Body.Close()
		return fmt.Errorf("MCP server %s doesn't require a login (%s)", alias, resp.Status)
	}
	flow, err := a.login()
	if err != nil {
		resp.Body.Close()
		return fmt.Errorf("log in to %s: %w", alias, err)
	}
	if err := flow.Authorize(ctx, req, resp); err != nil {
		hint := ""
		if strings.Contains(err.Error(), "register client") {
			hint = "\nIf the provider requires manual registration, set oauth.clientId to your client ID"
		}
		return fmt.Errorf("log in to %s: %w%s", alias, err, hint)
	}
	if err := l.settled(ctx); err != nil {
		return err
	}
	return s.Reconnect(ctx, alias)
}

// Logout deletes the saved login to a server.
func (s *Servers) Logout(ctx context.Context, alias string) error {
	_, a, err := s.withLogin(alias)
	if err != nil {
		return err
	}
	found, err := a.source.Forget(ctx)
	if err == nil && !found {
		err = errors.New("not logged in")
	}
	if err != nil {
		return fmt.Errorf("log out of %s: %w", alias, err)
	}
	return nil
}
