package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/cli"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/tool"
)

// person answers every question of the everything server.
func person(t *testing.T) tool.Asker {
	return func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
		d := tool.Decision{Verdict: tool.Allow}
		if r.Form != nil {
			var form struct{ Properties map[string]any }
			if err := json.Unmarshal(r.Form, &form); err != nil || len(form.Properties) == 0 {
				t.Errorf("a form of %s", r.Form)
			}
			d.Answer = json.RawMessage(`{"name":"Ada","check":true,"email":"ada@example.com"}`)
		}
		return d, nil
	}
}

func sample(context.Context, discover.Sampling) (discover.Sampled, error) {
	return discover.Sampled{Text: "sampled by Adze", Model: "test-model"}, nil
}

// The same calls over all three transports.
func TestEverything(t *testing.T) {
	for _, c := range []struct {
		name   string
		server func(*testing.T) discover.Server
	}{
		{"stdio", func(t *testing.T) discover.Server { return npmServer(t, "everything", "stdio") }},
		{"http", func(t *testing.T) discover.Server {
			return discover.Server{HTTPURL: listening(t, "streamableHttp") + "/mcp"}
		}},
		{"sse", func(t *testing.T) discover.Server { return discover.Server{URL: listening(t, "sse") + "/sse"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := c.server(t)
			conf.Roots = []string{"/home/me/project"}
			d := open(t, map[string]discover.Server{"ev": conf}, discover.Options{Sample: sample}, person(t))
			contentKinds(t, d)
			questions(t, d)
			progressAndCancel(t, d)
			promptsAndResources(t, d)
		})
	}
}

func contentKinds(t *testing.T, d *desk) {
	d.want(t, "ev__echo", `{"message":"hello"}`, "Echo: hello")
	d.want(t, "ev__get-sum", `{"a":"2","b":3}`, "5") // a number in quotes is repaired
	if o := d.call(t.Context(), "ev__get-sum", `{"a":2}`); o.Error == nil || o.Error.Type != tool.InvalidParams {
		t.Errorf("without b: %+v", o.Error)
	}
	var media []tool.Media
	for _, p := range d.want(t, "ev__get-tiny-image", `{}`, "image").Result.Content {
		if m, ok := p.(tool.Media); ok {
			media = append(media, m)
		}
	}
	if len(media) != 1 || media[0].MIMEType != "image/png" || !strings.HasPrefix(string(media[0].Data), "\x89PNG") {
		t.Errorf("%d images", len(media))
	}
	d.want(t, "ev__get-resource-links", `{"count":2}`, "Resource link: ")
	d.want(t, "ev__get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "Resource demo://resource/dynamic/text/1:\n")
	o := d.want(t, "ev__get-structured-content", `{"location":"Chicago"}`, `"temperature"`)
	if n := strings.Count(o.Result.Text(), `"temperature"`); n != 1 || strings.Contains(o.Result.Text(), "doesn't match the server's schema") {
		t.Errorf("the structured result is told %d times:\n%s", n, o.Result.Text())
	}
}

func questions(t *testing.T, d *desk) {
	d.want(t, "ev__trigger-elicitation-request", `{}`, "Ada")
	// These tools come only after the server has seen what we offer: it says that its list has changed.
	waittest.Until(t, "the tools for roots and sampling are listed", func() bool {
		_, err1 := d.registry.Lookup("ev__get-roots-list")
		_, err2 := d.registry.Lookup("ev__trigger-sampling-request")
		return err1 == nil && err2 == nil
	})
	d.want(t, "ev__trigger-sampling-request", `{"prompt":"say something","maxTokens":10}`, "sampled by Adze")
	d.want(t, "ev__get-roots-list", `{}`, "file:///home/me/project")
}

func progressAndCancel(t *testing.T, d *desk) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	began := time.Now()
	if o := d.call(ctx, "ev__trigger-long-running-operation", `{"duration":3600,"steps":3}`); o.Status != tool.StatusCancelled || time.Since(began) > time.Minute {
		t.Errorf("%s after %s", o.Status, time.Since(began))
	}
	d.want(t, "ev__echo", `{"message":"after the cancel"}`, "after the cancel")
}

func promptsAndResources(t *testing.T, d *desk) {
	if n := len(d.Prompts()); n < 4 {
		t.Errorf("%d prompts", n)
	}
	messages, err := d.Prompt(t.Context(), "ev", "args-prompt", map[string]string{"city": "Paris", "state": "Texas"})
	if err != nil || len(messages) == 0 || !strings.Contains(string(messages[0].Content[0].(tool.Text)), "Paris") {
		t.Errorf("%v %v", messages, err)
	}
	templates := 0
	for _, r := range d.Resources() {
		if r.Template {
			templates++
		}
	}
	if n := len(d.Resources()); n < 9 || templates != 2 {
		t.Errorf("%d resources, %d of them templates", n, templates)
	}
	parts, err := d.Read(t.Context(), "ev", "demo://resource/static/document/features.md")
	if err != nil || len(parts) != 1 || len(parts[0].(tool.Text)) < 100 {
		t.Errorf("%v %v", parts, err)
	}
}

// Progress is shown, and gives a call more time than it has without.
func TestProgressExtends(t *testing.T) {
	conf := npmServer(t, "everything", "stdio")
	conf.Timeout = 1000
	d := open(t, map[string]discover.Server{"ev": conf}, discover.Options{}, nil)
	var mu sync.Mutex
	var shown []discover.Progress
	d.x.Observe = func(ev tool.Event) {
		mu.Lock()
		defer mu.Unlock()
		if p, ok := ev.Display.(discover.Progress); ok {
			shown = append(shown, p)
		}
	}
	d.want(t, "ev__trigger-long-running-operation", `{"duration":3,"steps":10}`, "completed")
	mu.Lock()
	if len(shown) < 5 || shown[0].Total != 10 {
		t.Errorf("%+v", shown)
	}
	mu.Unlock()
	o := d.call(t.Context(), "ev__trigger-long-running-operation", `{"duration":30,"steps":2}`)
	if o.Error == nil || o.Error.Type != tool.ExecutionTimeout {
		t.Errorf("without progress for 15 s: %+v", o.Error)
	}
}

func TestURLElicitation(t *testing.T) {
	var mu sync.Mutex
	var opened []string
	opt := discover.Options{OpenURL: func(address string) error {
		mu.Lock()
		defer mu.Unlock()
		opened = append(opened, address)
		return nil
	}}
	d := open(t, map[string]discover.Server{"ev": npmServer(t, "everything", "stdio")}, opt, person(t))
	d.want(t, "ev__trigger-url-elicitation", `{"url":"https://example.com/consent"}`, "accept")
	mu.Lock()
	defer mu.Unlock()
	if len(opened) != 1 || opened[0] != "https://example.com/consent" {
		t.Errorf("%q", opened)
	}
}

// Without a user, the server's question is declined, and the model gets the reason.
func TestElicitationHeadless(t *testing.T) {
	d := open(t, map[string]discover.Server{"ev": npmServer(t, "everything", "stdio")}, discover.Options{}, nil)
	d.want(t, "ev__trigger-elicitation-request", `{}`, "requires approval")
}

func TestLoggingAndResourcesChanged(t *testing.T) {
	d := open(t, map[string]discover.Server{"ev": npmServer(t, "everything", "stdio")}, discover.Options{}, nil)
	before := len(d.Resources())
	d.want(t, "ev__gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain,hello","outputType":"resourceLink"}`, "x.gz")
	waittest.Until(t, "the new resource is listed", func() bool { return len(d.Resources()) > before })
	d.want(t, "ev__toggle-simulated-logging", `{}`, "ogging")
	// It logs something every five seconds, at a random level, and the lowest are filtered.
	waittest.Until(t, "the server's messages are in the log", func() bool {
		lines, err := d.Logs("ev")
		all := strings.Join(lines, "\n")
		return err == nil && (strings.Contains(all, "-level message") || strings.Contains(all, "info: ") || strings.Contains(all, "warning: ") || strings.Contains(all, "error: "))
	})
}

// A server that prints its whole environment has none of our secrets to print.
func TestEnvironmentIsSmall(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-very-secret")
	d := open(t, map[string]discover.Server{"ev": npmServer(t, "everything", "stdio")}, discover.Options{}, nil)
	if o := d.want(t, "ev__get-env", `{}`, "PATH"); strings.Contains(o.Result.Text(), "sk-very-secret") {
		t.Error("the server has seen the key")
	}
}

// The whole program with a real server: its wish for an answer is shown and answered by the session's model.
func TestSamplingThroughTheProgram(t *testing.T) {
	conf := npmServer(t, "everything", "stdio")
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"ev": conf}})
	if err != nil {
		t.Fatal(err)
	}
	call := openaitest.Answer{Calls: []openaitest.Call{{ID: "1", Name: "ev__trigger-sampling-request", Args: []byte(`{"prompt":"name a tree","maxTokens":20}`)}}}
	for _, c := range []struct{ name, typed, wanted, told string }{
		{"yes", "y\n", "name a tree", "An oak."},
		{"no", "n\n", "", "sampling denied"},
		{"headless", "", "", "only the user can approve this"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "settings.json"), raw, 0o600); err != nil {
				t.Fatal(err)
			}
			answers := []openaitest.Answer{call, {Expect: []string{c.told}, Text: "done"}}
			if c.wanted != "" {
				answers = []openaitest.Answer{call, {Expect: []string{c.wanted, `"max_tokens":20`}, Absent: []string{`"tools"`}, Text: "An oak."}, answers[1]}
			}
			model := openaitest.Serve(t, openaitest.Script{Answers: answers})
			var out, screen bytes.Buffer
			cli.Run(t.Context(), cli.Env{
				Args: []string{"-p", "go", "--model", "m", "--yolo"}, Stdin: strings.NewReader(c.typed), Stdout: &out, Stderr: &screen,
				Dir: t.TempDir(), Home: home, Terminal: c.typed != "",
				Getenv: func(name string) string {
					return map[string]string{"ADZE_HOME": home, "OPENAI_BASE_URL": model.URL}[name]
				},
			})
			if !strings.Contains(out.String(), "done") {
				t.Errorf("%s\n%s", out.String(), screen.String())
			}
			if c.typed != "" && !strings.Contains(screen.String(), "MCP server ev requests a model response (up to 20 tokens)") {
				t.Errorf("the user was not shown it:\n%s", screen.String())
			}
		})
	}
}
