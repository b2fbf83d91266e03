package main

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// collector takes spans as OTLP's JSON defines them, and nothing else.
type collector struct {
	*httptest.Server
	t     *testing.T
	mu    sync.Mutex
	spans []otlpSpan
}

type otlpAttribute struct {
	Key   string `json:"key"`
	Value struct {
		StringValue *string  `json:"stringValue"`
		IntValue    *string  `json:"intValue"`
		DoubleValue *float64 `json:"doubleValue"`
	} `json:"value"`
}

type otlpSpan struct {
	TraceID           string          `json:"traceId"`
	SpanID            string          `json:"spanId"`
	ParentSpanID      string          `json:"parentSpanId"`
	Name              string          `json:"name"`
	Kind              int             `json:"kind"`
	StartTimeUnixNano string          `json:"startTimeUnixNano"`
	EndTimeUnixNano   string          `json:"endTimeUnixNano"`
	Attributes        []otlpAttribute `json:"attributes"`
	Events            []struct {
		TimeUnixNano string          `json:"timeUnixNano"`
		Name         string          `json:"name"`
		Attributes   []otlpAttribute `json:"attributes"`
	} `json:"events"`
	Status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
}

func collect(t *testing.T) *collector {
	c := &collector{t: t}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	var q struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []otlpAttribute `json:"attributes"`
			} `json:"resource"`
			ScopeSpans []struct {
				Scope struct {
					Name string `json:"name"`
				} `json:"scope"`
				Spans []otlpSpan `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		http.Error(w, "invalid", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range q.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	_, _ = w.Write([]byte("{}"))
}

// Each task has a trace with spans for its turns, model requests and tool calls.
func TestTraces(t *testing.T) {
	t.Parallel()
	m, c := newMachine(t, serveModel(t)), collect(t)
	m.vars = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}
	if out, problems, code := m.run("run", m.tasks("tasks.jsonl", 2, 2)); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, problems)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	names, traces, ids := map[string]int{}, map[string]bool{}, map[string]otlpSpan{}
	for _, s := range c.spans {
		names[s.Name]++
		traces[s.TraceID], ids[s.SpanID] = true, s
	}
	if len(traces) != 2 || names["task"] != 2 || names["turn"] != 8 || names["chat scripted"] != 8 || names["execute_tool run_shell_command"] != 6 || len(ids) != 24 {
		t.Errorf("%d traces with %v", len(traces), names)
	}
	for _, s := range c.spans {
		trace, err := hex.DecodeString(s.TraceID)
		id, err2 := hex.DecodeString(s.SpanID)
		start, err3 := strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
		end, err4 := strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
		if err != nil || err2 != nil || err3 != nil || err4 != nil || len(trace) != 16 || len(id) != 8 || end < start || s.Kind == 0 || s.Status.Code != 0 {
			t.Errorf("invalid span: %+v", s)
		}
		parent, ok := ids[s.ParentSpanID]
		if ok != (s.Name != "task") || ok && (parent.TraceID != s.TraceID || parent.StartTimeUnixNano > s.StartTimeUnixNano) {
			t.Errorf("%s has the parent %+v", s.Name, parent)
		}
	}
}
