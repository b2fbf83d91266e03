package peers

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/serve"
	"github.com/adze-dev/adze/tool"
)

// conformanceClient runs the scenario of a server of the conformance suite: it logs in if required and calls the tools.
func conformanceClient(url string) error {
	state, err := os.MkdirTemp("", "adze-conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	conf := discover.Server{HTTPURL: url}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "auth/basic-cimd" {
		conf.OAuth = &discover.OAuth{ClientID: "https://conformance-test.local/client-metadata.json"}
	}
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given) == nil && given.ID != "" {
		conf.OAuth = &discover.OAuth{ClientID: given.ID, ClientSecret: given.Secret}
	}
	registry := tool.NewRegistry()
	s := discover.Open(map[string]discover.Server{"suite": conf}, discover.Options{
		Registry: registry, State: state, Login: true, OpenURL: browser, Start: 2 * time.Minute, Call: 2 * time.Minute,
	})
	defer s.Close()
	if err := s.Wait(context.Background()); err != nil {
		return err
	}
	x := &tool.Executor{
		Registry: registry,
		Policy:   func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} },
		Ask: func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow, Answer: json.RawMessage(`{}`)}, nil // the defaults are filled in
		},
	}
	b := x.Batch(context.Background())
	for _, c := range conformanceCalls(registry.All()) {
		b.Add(c)
	}
	var errs []error
	for _, o := range b.Wait() {
		if o.Error != nil {
			errs = append(errs, fmt.Errorf("%s: %s", o.Name, o.Error.Message))
		}
	}
	return errors.Join(errs...)
}

// conformanceCalls returns the calls that a scenario wants: those that it names, else every tool once.
func conformanceCalls(all []tool.Declaration) []tool.Call {
	var given struct {
		Calls []struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	var calls []tool.Call
	if json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given) == nil {
		for _, c := range given.Calls {
			calls = append(calls, tool.Call{Name: c.Name, Args: c.Args})
		}
	}
	if len(calls) > 0 {
		return calls
	}
	known := map[string]string{"add_numbers": `{"a":5,"b":3}`, "valid_tool": `{"region":"us-west1"}`}
	for _, d := range all {
		if d.Name == "suite__json_schema_2020_12_tool" {
			known = map[string]string{"json_schema_echo": `{"schema":` + string(d.Parameters) + `}`}
			all = slices.DeleteFunc(all, func(d tool.Declaration) bool { return d.Name != "suite__json_schema_echo" })
			break
		}
	}
	for _, d := range all {
		args := known[strings.TrimPrefix(d.Name, "suite__")]
		if args == "" {
			args = `{}`
		}
		calls = append(calls, tool.Call{Name: d.Name, Args: json.RawMessage(args)})
	}
	return calls
}

// browser goes where a browser would go: to the login, which sends it back at once.
func browser(address string) error {
	go func() {
		resp, err := http.Get(address)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	return nil
}

// fixtureServer serves the tools that the conformance suite calls: over HTTP if ADZE_PEER_HTTP says on which address,
// else on stdio. Without a token, which the suite cannot send.
func fixtureServer() error {
	s := serve.New(serve.Options{Name: "fixture", Version: "1", Session: func(serve.Client) (*tool.Executor, func(), error) {
		return &tool.Executor{Registry: tool.NewRegistry(fixtureTools()...), Policy: func(r tool.Request) tool.Decision {
			if r.MustAsk || r.Access[0].Changes() {
				return tool.Decision{Verdict: tool.Ask, Offer: []string{"Edit(/x)"}}
			}
			return tool.Decision{Verdict: tool.Allow}
		}}, nil, nil
	}})
	address := os.Getenv("ADZE_PEER_HTTP")
	switch {
	case address == "":
		return s.Stdio(context.Background(), os.Stdin, os.Stdout)
	case os.Getenv("ADZE_PEER_TOKEN") != "":
		return s.HTTP(context.Background(), address, os.Getenv("ADZE_PEER_TOKEN"), nil)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return http.Serve(l, s.Handler(context.Background()))
}

// fixed is a tool with a given schema.
type fixed struct {
	name, schema string
	access       tool.Access
	run          func(context.Context, *tool.Live) (tool.Result, error)
}

func (f fixed) Declaration() tool.Declaration {
	schema := f.schema
	if schema == "" {
		schema = `{"type":"object","properties":{}}`
	}
	return tool.Declaration{Name: f.name, Description: "Does " + f.name + ".", Parameters: json.RawMessage(schema), Kind: tool.Other}
}

func (f fixed) Prepare(context.Context, json.RawMessage) (*tool.Invocation, error) {
	access := f.access
	if access == (tool.Access{}) {
		access = tool.Nothing
	}
	return &tool.Invocation{Description: f.name, Access: []tool.Access{access}, Run: f.run}, nil
}

func says(parts ...tool.Part) func(context.Context, *tool.Live) (tool.Result, error) {
	return func(context.Context, *tool.Live) (tool.Result, error) { return tool.Result{Content: parts}, nil }
}

// asks shows a form to the user and returns the answer.
func asks(message, form string) func(context.Context, *tool.Live) (tool.Result, error) {
	return func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		d, err := l.Ask(ctx, tool.Invocation{Description: message, Access: []tool.Access{tool.Nothing}, MustAsk: true, Form: json.RawMessage(form)})
		return tool.TextResult("User response: " + string(d.Answer)), err
	}
}

func slowly(ctx context.Context, l *tool.Live) (tool.Result, error) {
	for _, step := range []string{"0 of 100", "50 of 100", "100 of 100"} {
		l.Show(tool.Markdown(step))
		select {
		case <-time.After(60 * time.Millisecond):
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}
	return tool.TextResult("Progress was reported."), nil
}

const (
	nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	okForm   = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
)

func fixtureTools() []tool.Tool {
	png, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
	image, audio := tool.Media{MIMEType: "image/png", Data: png}, tool.Media{MIMEType: "audio/wav", Data: []byte("RIFF----WAVEfmt ")}
	pdf := tool.Media{MIMEType: "application/pdf", Data: []byte("%PDF-1.4")}
	return []tool.Tool{
		fixed{name: "test_simple_text", run: says(tool.Text("This is a simple text response for testing."))},
		fixed{name: "test_image_content", run: says(image)},
		fixed{name: "test_audio_content", run: says(audio)},
		fixed{name: "test_embedded_resource", run: says(pdf)},
		fixed{name: "test_multiple_content_types", run: says(tool.Text("Multiple content types test:"), image, pdf)},
		fixed{name: "test_tool_with_progress", run: slowly},
		fixed{name: "test_error_handling", run: func(context.Context, *tool.Live) (tool.Result, error) {
			return tool.Result{}, errors.New("This tool intentionally returns an error for testing") // the suite's own words
		}},
		fixed{name: "test_elicitation", schema: `{"type":"object","properties":{"message":{"type":"string"}}}`,
			run: asks("Please say who you are", `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)},
		fixed{name: "test_elicitation_sep1034_defaults", run: asks("Please review", `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`)},
		fixed{name: "test_elicitation_sep1330_enums", run: asks("Please choose", `{"type":"object","properties":{
			"untitledSingle":{"type":"string","enum":["option1","option2"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["Option One","Option Two"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]}}}}`)},
		// The suite's tools of versions without sessions. Those that want a model or directories of the client are omitted.
		fixed{name: "test_input_required_result_elicitation", run: asks("What is your name?", nameForm)},
		fixed{name: "test_input_required_result_request_state", run: asks("Please confirm", okForm)},
		fixed{name: "test_input_required_result_tampered_state", run: asks("Please confirm", okForm)},
		fixed{name: "test_input_required_result_multi_round", run: func(ctx context.Context, l *tool.Live) (tool.Result, error) {
			if r, err := asks("Step 1: What is your name?", nameForm)(ctx, l); err != nil {
				return r, err
			}
			return asks("Step 2: What is your favorite color?", `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)(ctx, l)
		}},
		fixed{name: "test_streaming_elicitation", run: asks("What is your name?", nameForm)},
		fixed{name: "test_logging_tool", run: says(tool.Text("nothing is logged"))},
		fixed{name: "json_schema_2020_12_tool", run: says(tool.Text("ok")),
			schema: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
				"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
				"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
				"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`},
		fixed{name: "change", access: tool.Access{Verb: tool.Writes, Target: "/x"}, run: says(tool.Text("changed"))},
	}
}
