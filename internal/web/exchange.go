package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Exchange is a request to an API, such as a search engine's, and what it answers.
type Exchange struct {
	Method string // GET if empty
	Target Target
	Header http.Header // may hold a key: it is sent to the target and nowhere else
	Body   []byte
}

// Answer is what an API answers, whatever its status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes one request, as guarded as Fetch. It follows no redirect: a key must not travel on. Nothing is cached.
func (c *Client) Do(ctx context.Context, x Exchange) (*Answer, error) {
	late := &TimeoutError{x.Target.Host(), c.options.Timeout}
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, late)
	defer cancel()
	answer, err := c.exchange(ctx, x)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), late):
		return nil, late
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return answer, err
}

func (c *Client) exchange(ctx context.Context, x Exchange) (*Answer, error) {
	header := x.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	method := x.Method
	if method == "" {
		method = http.MethodGet
	}
	resp, err := c.send(ctx, method, x.Target, header, bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if redirects(resp.StatusCode) {
		next, err := x.Target.follow(resp.Header.Get("Location"))
		if err != nil {
			return nil, fmt.Errorf("request to %s: it redirects to an address that can't be fetched", x.Target.Host())
		}
		return nil, fmt.Errorf("request to %s: it redirects to %s, which Adze doesn't follow because the request contains a key. Set the base URL to the final address", x.Target.Host(), next.Host())
	}
	var p Page
	if err := p.read(ctx, resp, c.options.MaxBody); err != nil {
		return nil, fmt.Errorf("request to %s: %w", x.Target.Host(), err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if p.Incomplete != "" {
		return nil, fmt.Errorf("request to %s: unusable response: %s", x.Target.Host(), p.Incomplete)
	}
	return &Answer{resp.StatusCode, resp.Header, p.Body}, nil
}
