// Package oauth logs in to MCP servers: it saves and refreshes tokens, and receives the redirect of a browser.
package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// grant is a login to a server, as stored on disk.
type grant struct {
	URL          string           `json:"url"` // of the server: a token is never sent to another one
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	TokenURL     string           `json:"tokenUrl"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"`
	Access       string           `json:"accessToken"`
	Refresh      string           `json:"refreshToken,omitempty"`
	Type         string           `json:"tokenType,omitempty"`
	Expiry       time.Time        `json:"expiry"`
}

func (g *grant) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: g.Access, RefreshToken: g.Refresh, TokenType: g.Type, Expiry: g.Expiry}
}

func (g *grant) take(t *oauth2.Token) {
	g.Access, g.Type, g.Expiry = t.AccessToken, t.TokenType, t.Expiry
	if t.RefreshToken != "" { // without a new one, the old one stays valid
		g.Refresh = t.RefreshToken
	}
}

// grants is the file of logins: only its owner can read it, and one process changes it at a time.
type grants struct {
	dir   string
	write func(path string, data []byte) error
}

func (g grants) path() string { return filepath.Join(g.dir, "mcp-tokens.json") }

// Saved reports whether a directory has logins.
func Saved(dir string) bool {
	_, err := os.Lstat(grants{dir: dir}.path())
	return err == nil
}

// lockWait is how long to wait for another process that has locked the file: it may be refreshing a token.
const lockWait = 30 * time.Second

// edit reads the file, calls f to change it, and writes it if f returns true. Other processes wait meanwhile.
func (g grants) edit(ctx context.Context, f func(map[string]*grant) (changed bool, err error)) error {
	if g.dir == "" {
		return errors.New("no directory to save logins in")
	}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := filelock.Open(ctx, filepath.Join(g.dir, "mcp-tokens.lock"))
	if err != nil {
		return fmt.Errorf("lock the login file: %w", err)
	}
	defer filelock.Close(lock)
	all, err := g.read()
	if err != nil {
		return err
	}
	changed, err := f(all)
	if !changed {
		return err
	}
	raw, merr := json.MarshalIndent(all, "", "  ")
	if merr != nil {
		return errors.Join(err, merr)
	}
	return errors.Join(err, g.write(g.path(), raw))
}

func (g grants) read() (map[string]*grant, error) {
	f, err := os.Open(g.path())
	if errors.Is(err, os.ErrNotExist) {
		return map[string]*grant{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = private(info)
	}
	if err != nil {
		return nil, fmt.Errorf("read logins from %s: %w. Delete the file and log in again", g.path(), err)
	}
	all := map[string]*grant{}
	if err := json.NewDecoder(f).Decode(&all); err != nil {
		return nil, fmt.Errorf("read logins from %s: %w. Delete the file and log in again", g.path(), err)
	}
	for alias, one := range all {
		if one == nil {
			delete(all, alias)
		}
	}
	return all, nil
}

// Source provides the token of a server, and refreshes it without a new login.
type Source struct {
	Dir    string                               // directory of the file of logins; "": none
	Alias  string                               // name of the server
	URL    string                               // of the server
	Client func() *http.Client                  // for refreshing
	Write  func(path string, data []byte) error // replaces a file, readable only by its owner
	mu     sync.Mutex
	last   *oauth2.Token
	lost   error // why the server didn't renew the login
}

func (s *Source) grants() grants { return grants{s.Dir, s.Write} }

// Token implements [oauth2.TokenSource]. It returns nil without a login.
func (s *Source) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.Valid() {
		return s.last, nil
	}
	return s.fetch("")
}

// Renew returns a token other than the rejected one, if possible.
func (s *Source) Renew(refused string) (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
	return s.fetch(refused)
}

// fetch reads the token from the file, and refreshes it there if it has expired or was rejected. One of several
// processes refreshes it and the others read the new token: a refresh token works only once. The caller holds mu.
func (s *Source) fetch(refused string) (*oauth2.Token, error) {
	if s.Dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(s.grants().path()); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	err := s.grants().edit(ctx, func(all map[string]*grant) (bool, error) {
		s.last = nil
		g := all[s.Alias]
		if g == nil || g.URL != s.URL {
			return false, nil
		}
		if t := g.token(); t.Valid() && t.AccessToken != refused {
			s.last = t
			return false, nil
		}
		if g.Refresh == "" {
			return false, nil
		}
		t, err := g.refreshed(ctx, s.Client())
		if refused := new(oauth2.RetrieveError); errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
			s.lost = errors.New(cmp.Or(refused.ErrorDescription, refused.ErrorCode))
			delete(all, s.Alias) // it won't work again
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("refresh the login to %s: %w", s.Alias, err)
		}
		g.take(t)
		s.last = g.token()
		return true, nil
	})
	return s.last, err
}

// Lost returns why a saved login is no longer valid; nil if it is valid or there was none.
func (s *Source) Lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

func (g *grant) refreshed(ctx context.Context, client *http.Client) (*oauth2.Token, error) {
	cfg := oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle},
	}
	defer client.CloseIdleConnections()
	t := g.token()
	t.Expiry = time.Unix(1, 0) // in any case: it was rejected, or has expired
	return cfg.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client), t).Token()
}

// Keep saves a login.
func (s *Source) Keep(ctx context.Context, cfg *oauth2.Config, t *oauth2.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.lost = t, nil
	return s.grants().edit(ctx, func(all map[string]*grant) (bool, error) {
		g := &grant{
			URL: s.URL, ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret, TokenURL: cfg.Endpoint.TokenURL,
			AuthStyle: cfg.Endpoint.AuthStyle, Scopes: cfg.Scopes,
		}
		g.take(t)
		all[s.Alias] = g
		return true, nil
	})
}

// Forget deletes a login.
func (s *Source) Forget(ctx context.Context) (found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
	err = s.grants().edit(ctx, func(all map[string]*grant) (bool, error) {
		_, found = all[s.Alias]
		delete(all, s.Alias)
		return found, nil
	})
	return found, err
}
