package discover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// httpClient reaches a server: with the configured headers, to its own host only, and with bounded answers.
func httpClient(headers map[string]string, auth *authority) *http.Client {
	return &http.Client{
		Transport: &dressed{
			headers: headers, auth: auth,
			next: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
				TLSHandshakeTimeout:   10 * time.Second,
				MaxIdleConnsPerHost:   4,
				IdleConnTimeout:       60 * time.Second,
				ForceAttemptHTTP2:     true,
				ResponseHeaderTimeout: 0, // a call answers when it is done
			},
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 5 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
				return fmt.Errorf("the server redirects to %s. If that is correct, configure that URL", req.URL.Redacted())
			}
			return nil
		},
	}
}

// dressed adds headers to requests and bounds what comes back.
type dressed struct {
	headers map[string]string
	auth    *authority // nil: no tokens, or the SDK sees to them
	next    http.RoundTripper
}

func (d *dressed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range d.headers {
		req.Header.Set(name, value)
	}
	resp, err := d.send(req)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // events are bounded one by one
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: maxFrame}
	}
	return resp, nil
}

// send sends a request with the token, and again with a new one if that is refused.
func (d *dressed) send(req *http.Request) (*http.Response, error) {
	if d.auth == nil || req.Header.Get("Authorization") != "" {
		return d.next.RoundTrip(req)
	}
	token, err := d.auth.token()
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := d.next.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || again || req.Body != nil && req.GetBody == nil {
			return resp, err
		}
		closeBody(resp)
		if token, err = d.auth.another(token); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// limitedBody is an answer that may not be longer than a message.
type limitedBody struct {
	io.ReadCloser
	left int64
}

var errLongAnswer = errors.New("the response is larger than 10 MB. Request less data")

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errLongAnswer
	}
	return n, err
}

// hasHeader reports whether a header is configured, in any case.
func hasHeader(headers map[string]string, name string) bool {
	for h := range headers {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}
