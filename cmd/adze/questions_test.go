package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

const asking = `{"mcpServers":{"fake":{"command":"mcpserver","env":{"ASKS":"1"}}},"permissions":{"allow":["mcp__fake"]}}`

func calls(name, args string) openaitest.Answer {
	return openaitest.Answer{Calls: []openaitest.Call{{ID: "1", Name: name, Args: []byte(args)}}}
}

// A server's sampling request is shown to the user in full, whatever rules say, and answered by the session's model
// without tools and without the conversation.
func TestSampling(t *testing.T) {
	d := newDesk(t, asking)
	model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
		calls("fake__ask_model", `{}`),
		{Expect: []string{"You are a poet.", `A line about`, `"max_tokens":8192`}, Absent: []string{"make a poem", `"tools"`, "read_file"}, Text: "Trees stand."},
		{Expect: []string{"Trees stand. by m (endTurn)"}, Text: "done"},
	}})
	d.write(t, filepath.Join(d.home, "settings.json"), strings.Replace(asking, `"mcp__fake"`, ``, 1)) // so that calls need approval, with rules to save
	out, screen := d.run(t, model, "y\ny\n", "-p", "make a poem", "--model", "m")
	has(t, out, "done")
	has(t, screen, "MCP server fake requests a model response (up to 8192 tokens)", "system: You are a poet.", `user: A line about \u202Etrees.`, "Allow? [y/n] ")
	lacks(t, screen[strings.Index(screen, "requests a model response"):], "lways", "save")
}

func TestSamplingRefused(t *testing.T) {
	for name, c := range map[string]struct {
		typed string
		want  string
	}{
		"by the user": {"n\n", "sampling denied"},
		"headless":    {"", "only the user can approve this"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, asking)
			model := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
				calls("fake__ask_model", `{}`),
				{Expect: []string{"no poem: ", c.want, "the server requested a model response and was denied"}, Text: "done"},
			}})
			out, _ := d.run(t, model, c.typed, "-p", "make a poem", "--model", "m", "--yolo")
			has(t, out, "done")
		})
	}
}

// Without a model, sampling isn't offered to servers.
func TestSamplingWithoutAModel(t *testing.T) {
	d := newDesk(t, asking)
	out, _ := d.run(t, nil, "", "tool", "call", "fake__ask_model", `{}`)
	has(t, out, "no poem: ")
}

// A form is filled in at the terminal, an address is shown and opened only after approval, and without a user both are
// declined with the reason.
func TestElicitation(t *testing.T) {
	d := newDesk(t, asking)
	out, screen := d.run(t, nil, "y\n36\nAda\n1\n", "tool", "call", "fake__ask_person", `{}`)
	has(t, screen, "MCP server fake requests input: Who are you?", "name", "age")
	has(t, out, "accept: map[age:36 name:Ada]")
	out, _ = d.run(t, nil, "n\n", "tool", "call", "fake__ask_person", `{}`)
	has(t, out, "decline: map[]")
	out, screen = d.run(t, nil, "n\n", "tool", "call", "fake__ask_person", `{"url":"https://example.com/consent"}`)
	has(t, screen, "Please agree.", "It asks to open this URL in your browser:", "https://example.com/consent")
	has(t, out, "decline: map[]")
	out, _ = d.run(t, nil, "", "tool", "call", "fake__ask_person", `{}`)
	has(t, out, "decline: map[]", "only the user can approve this")
	out, _ = d.run(t, nil, "", "tool", "call", "fake__ask_person", `{"url":"file:///etc/passwd"}`)
	has(t, out, "decline: map[]")
}

// A server gets the directories that the user's settings name for it, and no others.
func TestRootsAreOnlyThoseAgreedTo(t *testing.T) {
	d := newDesk(t, asking)
	out, _ := d.run(t, nil, "", "tool", "call", "fake__folders", `{}`)
	if strings.Contains(out, "file://") {
		t.Errorf("told of a folder unasked: %s", out)
	}
	d.write(t, filepath.Join(d.home, "settings.json"), strings.Replace(asking, `"command"`, `"roots":["/home/me/a b"],"command"`, 1))
	out, _ = d.run(t, nil, "", "tool", "call", "fake__folders", `{}`)
	has(t, out, `folders: ["file:///home/me/a%20b"]`)
}
