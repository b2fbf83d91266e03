// Package otlptest tests what Adze sends to an OpenTelemetry collector with the collector's own types. It is a
// separate module, so that Adze doesn't depend on them.
package otlptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// program is the program that the tests run.
var program string

func TestMain(m *testing.M) {
	if log := os.Getenv("OTLPTEST_SERVER"); log != "" {
		serve(log)
		return
	}
	dir, err := os.MkdirTemp("", "otlptest")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "adze")
	build := exec.Command("go", "-C", "../../..", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/adze")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// serve is an MCP server with one tool. It logs calls.
func serve(log string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
			continue
		}
		reply := `"error":{"code":-32601,"message":"unknown method"}`
		switch q.Method {
		case "initialize":
			reply = fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}`, q.Params.ProtocolVersion)
		case "tools/list":
			reply = `"result":{"tools":[{"name":"ping","description":"Answers.","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			_ = os.WriteFile(log, lines.Bytes(), 0o600)
			reply = `"result":{"content":[{"type":"text","text":"pong"}]}`
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", q.ID, reply)
	}
}

// collector reads what it gets as OTLP's JSON: unknown fields and wrong types are errors.
type collector struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	raw     string // everything that came
	headers []string
	spans   []*trace.Span
	metrics map[string][]*metrics.Metric
}

func collect(t *testing.T) *collector {
	c := &collector{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ids are the IDs, which OTLP's JSON has in hexadecimal, and protobuf's in base64.
var ids = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"`)

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw += string(raw)
	c.headers = append(c.headers, r.Header.Get("X-Team"))
	raw = ids.ReplaceAllFunc(raw, func(found []byte) []byte {
		m := ids.FindSubmatch(found)
		id, err := hex.DecodeString(string(m[2]))
		if want := map[string]int{"traceId": 16}[string(m[1])]; err != nil || len(id) != max(want, 8) {
			c.t.Errorf("invalid ID: %s", found)
		}
		return fmt.Appendf(nil, `"%s":"%s"`, m[1], base64.StdEncoding.EncodeToString(id))
	})
	switch r.URL.Path {
	case "/v1/traces":
		var all trace.TracesData
		c.decode(raw, &all)
		for _, of := range all.ResourceSpans {
			c.service(of.Resource.Attributes)
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var all metrics.MetricsData
		c.decode(raw, &all)
		c.metrics = map[string][]*metrics.Metric{} // they are cumulative
		for _, of := range all.ResourceMetrics {
			c.service(of.Resource.Attributes)
			for _, scope := range of.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = append(c.metrics[m.Name], m)
				}
			}
		}
	default:
		c.t.Errorf("unknown path %s", r.URL.Path)
	}
	_, _ = w.Write([]byte("{}"))
}

func (c *collector) decode(raw []byte, to proto.Message) {
	if err := protojson.Unmarshal(raw, to); err != nil {
		c.t.Errorf("%v\n%s", err, raw)
	}
}

func (c *collector) service(of []*common.KeyValue) {
	if got := attributes(of); got["service.name"] != "adze" {
		c.t.Errorf("resource: %v", got)
	}
}

func attributes(of []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range of {
		all[kv.Key] = strings.ReplaceAll(strings.Trim(protojson.MarshalOptions{}.Format(kv.Value), "{}"), `"`, "")
		_, all[kv.Key], _ = strings.Cut(all[kv.Key], ":")
	}
	return all
}

// tree prints the spans below a parent.
func (c *collector) tree(parent []byte, indent string) string {
	var lines []string
	for _, s := range c.spans {
		if bytes.Equal(s.ParentSpanId, parent) {
			line := indent + s.Name
			if s.Status != nil && s.Status.Code == trace.Status_STATUS_CODE_ERROR {
				line += " failed: " + s.Status.Message
			}
			lines = append(lines, line+"\n"+c.tree(s.SpanId, indent+"  "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (c *collector) span(t *testing.T, name string) *trace.Span {
	t.Helper()
	i := slices.IndexFunc(c.spans, func(s *trace.Span) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no span %s in\n%s", name, c.tree(nil, ""))
	}
	return c.spans[i]
}

// token is the second half of a token.
const token = "w9Kz3mQ7xR2vT8bN5cL1pD6hF4jS0gYaUeIo"

// run runs a prompt in a directory with secrets, and returns what Adze prints to stderr.
func run(t *testing.T, dir string, answers []openaitest.Answer, vars ...string) string {
	t.Helper()
	s := openaitest.Serve(t, openaitest.Script{Answers: answers})
	home, own := filepath.Join(dir, "home"), filepath.Join(dir, "project")
	write(t, filepath.Join(home, ".adze", "settings.json"), fmt.Sprintf(`{
		"modelPricing": {"scripted": {"input": 1000, "output": 2000}},
		"hooks": {"PreToolUse": [{"matcher": "read_file", "hooks": [{"type": "command",
			"command": "echo $TRACEPARENT > %s/hooked; cat > %[1]s/input; test -z \"$OTEL_EXPORTER_OTLP_HEADERS\" || touch %[1]s/leaked"}]}]},
		"mcpServers": {"own": {"command": %q, "env": {"OTLPTEST_SERVER": %q}, "trust": true}}
	}`, dir, os.Args[0], filepath.Join(dir, "mcp")))
	write(t, filepath.Join(own, "notes.txt"), "the hidden notes\ntoken ghp_"+token+"\n")
	// a project can't name a collector
	write(t, filepath.Join(own, ".env"), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9\n")
	write(t, filepath.Join(own, ".adze", "settings.json"), `{"otel": {"endpoint": "http://127.0.0.1:9", "content": true}}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--model", "scripted", "-p", "the secret prompt")
	cmd.Dir = own
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OPENAI_BASE_URL=" + s.URL}, vars...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "all done") {
		t.Fatalf("%v\n%s%s", err, out, &problems)
	}
	return problems.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func call(id, name, args string) openaitest.Call {
	return openaitest.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

// conversation has calls of all kinds: one with a hook, one that is denied, one of an MCP server, and a subagent.
func conversation(dir string) []openaitest.Answer {
	usage := &openaitest.Usage{Input: 100, Output: 10, Cached: 40}
	return []openaitest.Answer{
		{Usage: usage, Text: "I look.", Calls: []openaitest.Call{
			call("c1", "read_file", fmt.Sprintf(`{"file_path":%q}`, filepath.Join(dir, "project", "notes.txt"))), call("c2", "write_file", `{"file_path":"/etc/adze-otlptest","content":"x"}`),
			call("c3", "own__ping", `{}`), call("c4", "task", `{"description":"count","prompt":"count to one"}`),
		}},
		{Usage: usage, When: "count to one", Text: "one"},
		{Usage: usage, Expect: []string{"hidden notes", "pong", "one"}, Text: "all done"},
	}
}

// Everything that a run does is in one trace, in the collector's own types. Texts aren't, without the user's consent.
func TestTrace(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), collect(t)
	if problems := run(t, dir, conversation(dir), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL+"/", "OTEL_EXPORTER_OTLP_HEADERS=x-team=a%20b",
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/json"); strings.Contains(problems, "telemetry can't") {
		t.Error(problems)
	}
	want := `invoke_agent adze
  turn
    chat scripted
  turn
    chat scripted
    execute_tool own__ping
    execute_tool read_file
      hook PreToolUse
    execute_tool task
      invoke_agent general-purpose
        turn
          chat scripted
    execute_tool write_file failed: execution_denied
      approval
`
	if got := c.tree(nil, ""); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	for _, s := range c.spans {
		if !bytes.Equal(s.TraceId, c.spans[0].TraceId) || s.EndTimeUnixNano < s.StartTimeUnixNano || s.StartTimeUnixNano == 0 {
			t.Errorf("%v", s)
		}
	}
	for _, text := range []string{"secret prompt", "hidden", "notes.txt", "I look", "all done", "to one", "ghp_", "/etc/adze-otlptest", dir} {
		if strings.Contains(c.raw, text) {
			t.Errorf("the collector got %q", text)
		}
	}
	chat := attributes(c.span(t, "chat scripted").Attributes)
	for name, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "scripted", "gen_ai.usage.input_tokens": "100",
		"gen_ai.usage.output_tokens": "10", "gen_ai.usage.cache_read.input_tokens": "40", "server.address": "127.0.0.1", "adze.cost": "0.08",
	} {
		if chat[name] != want {
			t.Errorf("%s is %q, want %q", name, chat[name], want)
		}
	}
	if got := attributes(c.span(t, "approval").Attributes); got["adze.decision"] != "deny" || got["adze.decision.by"] != "no-user" {
		t.Errorf("approval: %v", got)
	}
	for _, team := range c.headers {
		if team != "a b" {
			t.Errorf("header %q", team)
		}
	}
	parent := func(name string) string {
		s := c.span(t, name)
		return fmt.Sprintf("00-%x-%x-01", s.TraceId, s.SpanId)
	}
	hooked := parent("hook PreToolUse")
	if got := strings.TrimSpace(read(t, filepath.Join(dir, "hooked"))); got != hooked {
		t.Errorf("the hook got %q, want %q", got, hooked)
	}
	if got := read(t, filepath.Join(dir, "input")); !strings.Contains(got, `"traceparent":"`+hooked+`"`) {
		t.Errorf("the hook read %s", got)
	}
	if got := read(t, filepath.Join(dir, "mcp")); !strings.Contains(got, `"traceparent":"`+parent("execute_tool own__ping")+`"`) {
		t.Errorf("the server got %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "leaked")); err == nil {
		t.Error("a hook got the collector's credentials")
	}
}

// The metrics add up all requests and calls.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := collect(t)
	dir := t.TempDir()
	run(t, dir, conversation(dir), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	histogram := func(name string) (count uint64, sum float64) {
		for _, m := range c.metrics[name] {
			p := m.GetHistogram().DataPoints[0]
			var all uint64
			for _, n := range p.BucketCounts {
				all += n
			}
			if all != p.Count || len(p.BucketCounts) != len(p.ExplicitBounds)+1 ||
				m.GetHistogram().AggregationTemporality != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
				t.Errorf("%s: %v", name, m)
			}
			count, sum = count+p.Count, sum+p.GetSum()
		}
		return count, sum
	}
	if count, sum := histogram("gen_ai.client.token.usage"); count != 6 || sum != 330 {
		t.Errorf("tokens: %d, %v", count, sum)
	}
	if count, sum := histogram("gen_ai.client.operation.duration"); count != 3 || sum <= 0 {
		t.Errorf("durations: %d, %v", count, sum)
	}
	if count, _ := histogram("gen_ai.execute_tool.duration"); count != 4 {
		t.Errorf("calls: %d", count)
	}
	if cost := c.metrics["adze.cost"]; len(cost) != 1 || !cost[0].GetSum().IsMonotonic || fmt.Sprintf("%.2f", cost[0].GetSum().DataPoints[0].GetAsDouble()) != "0.24" {
		t.Errorf("cost: %v", cost)
	}
	var decisions []string
	for _, m := range c.metrics["adze.decisions"] {
		p := m.GetSum().DataPoints[0]
		of := attributes(p.Attributes)
		decisions = append(decisions, fmt.Sprintf("%s %s %s %v", of["gen_ai.tool.name"], of["adze.decision"], of["adze.decision.by"], p.GetAsDouble()))
	}
	slices.Sort(decisions)
	want := "own__ping allow trust 1, read_file allow mode 1, task allow mode 1, write_file deny no-user 1"
	if got := strings.Join(decisions, ", "); got != want {
		t.Errorf("decisions: %s", got)
	}
}

// With the user's consent, prompts, arguments and results are sent, and secrets in them are masked.
func TestContent(t *testing.T) {
	t.Parallel()
	c := collect(t)
	dir := t.TempDir()
	run(t, dir, conversation(dir), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true")
	for _, text := range []string{"the secret prompt", "notes.txt", "the hidden notes", "I look.", "all done", "count to one", "pong"} {
		if !strings.Contains(c.raw, text) {
			t.Errorf("the collector didn't get %q", text)
		}
	}
	if strings.Contains(c.raw, "ghp_"+token) {
		t.Error("the collector got a token")
	}
}

// Without a collector, or with a disabled SDK, nothing is sent, whatever a project says.
func TestDisabled(t *testing.T) {
	t.Parallel()
	c := collect(t)
	simple := []openaitest.Answer{{Text: "all done"}}
	run(t, t.TempDir(), simple)
	run(t, t.TempDir(), simple, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	if c.raw != "" {
		t.Error(c.raw)
	}
}

// A collector that isn't there, or doesn't answer, is one warning, and the run is as without it.
func TestDeadCollector(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // until Adze gives up
	}))
	defer silent.Close()
	for name, at := range map[string]string{"gone": gone.URL, "silent": silent.URL} {
		dir := t.TempDir()
		problems := run(t, dir, conversation(dir), "OTEL_EXPORTER_OTLP_ENDPOINT="+at)
		if strings.Count(problems, "telemetry can't be sent") != 1 {
			t.Errorf("%s: %s", name, problems)
		}
	}
}

// Another protocol is an error that says so.
func TestProtocol(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(program, "-p", "hi")
	cmd.Env = []string{"HOME=" + t.TempDir(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", and Adze only has http/json`) {
		t.Errorf("%v: %s", err, out)
	}
}
