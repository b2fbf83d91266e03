package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Exporter sends spans. A nil Exporter sends nothing.
type Exporter struct {
	url     string
	headers map[string]string
	service string
}

// FromEnv reads the variables of OpenTelemetry; nil if none names an endpoint.
func FromEnv(getenv func(string) string) *Exporter {
	x := &Exporter{url: getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), headers: map[string]string{}, service: getenv("OTEL_SERVICE_NAME")}
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); x.url == "" && base != "" {
		x.url = strings.TrimRight(base, "/") + "/v1/traces"
	}
	if x.url == "" {
		return nil
	}
	if x.service == "" {
		x.service = "adze-fleet"
	}
	for _, list := range []string{getenv("OTEL_EXPORTER_OTLP_HEADERS"), getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS")} {
		for pair := range strings.SplitSeq(list, ",") {
			name, value, ok := strings.Cut(pair, "=")
			if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
				x.headers[strings.TrimSpace(name)] = plain
			}
		}
	}
	return x
}

type (
	scope struct {
		Name string `json:"name"`
	}
	scopeSpans struct {
		Scope scope   `json:"scope"`
		Spans []*Span `json:"spans"`
	}
	resource struct {
		Attributes []Attribute `json:"attributes"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
)

// sendTime bounds a request to the collector.
const sendTime = 10 * time.Second

// Send sends spans to the collector, once.
func (x *Exporter) Send(ctx context.Context, spans []*Span) error {
	if x == nil || len(spans) == 0 {
		return nil
	}
	raw, err := json.Marshal(request{[]resourceSpans{{
		Resource:   resource{[]Attribute{text("service.name", x.service)}},
		ScopeSpans: []scopeSpans{{scope{"adze"}, spans}},
	}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range x.headers {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("send traces to %s: %s", x.url, answer.Status)
	}
	return nil
}
