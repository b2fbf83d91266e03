package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Exporter sends to a collector. A nil Exporter sends nothing.
type Exporter struct {
	url      string
	resource Pairs
	header   http.Header
	client   http.Client
}

// Headers is the variable with headers for the collector, such as credentials.
const Headers = "OTEL_EXPORTER_OTLP_HEADERS"

// New returns an exporter with the variables of OpenTelemetry; nil if they disable it, or without an endpoint. service
// is the default for its name.
func New(endpoint string, getenv func(string) string, service, version string) (*Exporter, error) {
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the collector's endpoint is not a URL such as http://127.0.0.1:4318\n" +
			"Check OTEL_EXPORTER_OTLP_ENDPOINT, or otel.endpoint in settings.")
	}
	if p := getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/json" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, and Adze only has http/json\n"+
			"Set it to http/json, or set OTEL_SDK_DISABLED=true.", p)
	}
	x := &Exporter{url: strings.TrimRight(endpoint, "/"), header: http.Header{"Content-Type": {"application/json"}}}
	for pair := range strings.SplitSeq(getenv(Headers), ",") {
		name, text, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(text)); ok && err == nil {
			x.header.Set(strings.TrimSpace(name), plain)
		}
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		service = name
	}
	x.resource = Pairs{"service.name", service, "service.version", version}
	x.client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	x.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return x, nil
}

// sendTime bounds a request to the collector.
const sendTime = 10 * time.Second

// Send sends spans to the collector, once.
func (x *Exporter) Send(ctx context.Context, spans []*Span) error {
	if x == nil || len(spans) == 0 {
		return nil
	}
	_, err := x.post(ctx, "/v1/traces", "Spans", spans)
	return err
}

// post sends the items of a signal. again reports that the collector may accept the same request later.
func (x *Exporter) post(ctx context.Context, path, kind string, items any) (again bool, err error) {
	var body bytes.Buffer
	err = json.NewEncoder(&body).Encode(map[string]any{"resource" + kind: []any{map[string]any{
		"resource": map[string]any{"attributes": x.resource},
		"scope" + kind: []any{map[string]any{
			"scope": map[string]any{"name": "adze"}, strings.ToLower(kind): items,
		}},
	}}})
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url+path, &body)
	if err != nil {
		return false, err
	}
	r.Header = x.header.Clone()
	answer, err := x.client.Do(r)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	again = answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests
	return again, fmt.Errorf("%s: %s", r.URL.Redacted(), answer.Status)
}
