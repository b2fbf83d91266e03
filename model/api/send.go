package api

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/adze-dev/adze/model"
)

// send sends one request and returns the response if it is 200 OK.
func (c *Client) send(ctx context.Context, method, path string, payload []byte) (*http.Response, *Failure) {
	target := *c.base
	path, query, _ := strings.Cut(path, "?")
	target.Path += path
	target.RawPath = ""
	about := method + " " + c.Address() + path
	if query != "" {
		target.RawQuery = strings.Trim(target.RawQuery+"&"+query, "&")
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(payload))
	if err != nil {
		return nil, &Failure{Err: model.Errorf(model.ErrRejected, "%s: %w", about, err)}
	}
	req.Header.Set("Accept", "text/event-stream, application/json")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, c.header)
	if err := c.authorize(req); err != nil {
		return nil, c.dialFailure(about, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, c.dialFailure(about, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, c.statusFailure(about, resp, time.Now())
	}
	return resp, nil
}

// authorize adds the token, if requests have one.
func (c *Client) authorize(req *http.Request) error {
	if c.Options.Token == nil {
		return nil
	}
	token, err := c.Options.Token(req.Context())
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
	return nil
}

func (c *Client) currentPrefix() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.prefix
}

// nextPrefix reports whether the path was wrong and another one is left to try. If all are wrong, the first is used
// again.
func (c *Client) nextPrefix(f *Failure) bool {
	if len(c.prefixes) == 1 || !f.wrongPath() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prefix != f.prefix {
		return true // another request found it
	}
	if f.prefix+1 < len(c.prefixes) {
		c.prefix++
		return true
	}
	c.prefix = 0
	return false
}

// wrongPath reports whether nothing is served at the path. LM Studio reports that with status 200.
func (f *Failure) wrongPath() bool {
	var e *model.Error
	if !errors.As(f.Err, &e) || e.Kind == model.ErrUnknownModel {
		return false
	}
	return e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || errors.Is(f.Err, errWebPage) ||
		strings.Contains(strings.ToLower(e.Err.Error()), "unexpected endpoint")
}

// minSecret is the minimum length of a secret: replacing shorter texts would garble errors.
const minSecret = 6

// secrets returns the credentials in the options.
func secrets(o Options, base *url.URL) []string {
	all := []string{o.Key}
	for _, value := range o.Headers {
		all = append(all, value)
		all = append(all, strings.Fields(value)...)
	}
	for _, values := range base.Query() {
		all = append(all, values...)
	}
	if password, ok := base.User.Password(); ok {
		all = append(all, password)
	}
	var out []string
	for _, s := range all {
		if len(s) >= minSecret {
			out = append(out, s)
		}
	}
	return out
}

// hidden returns the error without credentials: some servers repeat them.
func (c *Client) hidden(err error) error {
	text := err.Error()
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "[hidden]")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" {
		text = strings.ReplaceAll(text, c.token, "[hidden]")
	}
	var known *model.Error
	if text == err.Error() || !errors.As(err, &known) {
		return err
	}
	return &model.Error{Kind: known.Kind, Status: known.Status, Err: errors.New(text)}
}
