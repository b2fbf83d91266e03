package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/model/openai/openaitest"
)

// The editor writes a file that a call changes. Adze restores what it doesn't keep: the mark and the line endings.
func TestWritesThroughTheEditor(t *testing.T) {
	t.Parallel()
	e := open(t)
	path := e.file("a.txt", "\ufeffone\r\ntwo\r\n")
	e.model(
		openaitest.Answer{Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path})}},
		openaitest.Answer{Calls: []openaitest.Call{call("c2", "edit", map[string]any{"file_path": path, "old_string": "two", "new_string": "three"})}},
		openaitest.Answer{Calls: []openaitest.Call{call("c3", "write_file", map[string]any{"file_path": filepath.Join(e.dir, "new.txt"), "content": "new\n"})}},
		openaitest.Answer{Text: "ok"},
	)
	var wrote []string
	e.on("fs/write_text_file", func(params map[string]any) any {
		path, text := params["path"].(string), params["content"].(string)
		wrote = append(wrote, filepath.Base(path)+" "+text)
		if err := os.WriteFile(path, []byte(plain(text)), 0o644); err != nil {
			t.Error(err)
		}
		return nil
	})
	e.choose("once")
	e.initialize(`{"fs":{"writeTextFile":true}}`)
	if got := e.say(e.session(), "go"); got != "end_turn" {
		t.Fatal(got)
	}
	if got := e.content("a.txt"); got != "\ufeffone\r\nthree\r\n" {
		t.Errorf("%q", got)
	}
	if got := e.content("new.txt"); got != "new\n" {
		t.Errorf("%q", got)
	}
	if len(wrote) != 2 || !strings.Contains(wrote[0], "three") || wrote[1] != "new.txt new\n" {
		t.Errorf("%q", wrote)
	}
}

// If the editor refuses to write, nothing is written, and the model and the user read why.
func TestRefusedWrite(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.model(
		openaitest.Answer{Calls: []openaitest.Call{call("c1", "write_file", map[string]any{"file_path": filepath.Join(e.dir, "a.txt"), "content": "x"})}},
		openaitest.Answer{Text: "ok", Expect: []string{"the user's editor didn't write it: unknown. Nothing was changed"}},
	)
	e.choose("once")
	e.initialize(`{"fs":{"writeTextFile":true}}`) // and answers the request with an error
	if got := e.say(e.session(), "go"); got != "end_turn" || e.content("a.txt") != "" {
		t.Errorf("%s, %q", got, e.content("a.txt"))
	}
	if story := e.story(); !strings.Contains(story, "toolCallId=c1 status=failed content") {
		t.Error(story)
	}
	// A replay used to lack the line of its location.
	live := e.of("tool_call_update")
	id := list(e.call("session/list", map[string]any{})["sessions"])[0]["sessionId"]
	e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	calls := e.of("tool_call")
	want, got := live[len(live)-1]["locations"], calls[len(calls)-1]["locations"]
	if diff := cmp.Diff(want, got); diff != "" || want == nil {
		t.Errorf("(-live +replayed)\n%s", diff)
	}
}

// A link with lines attaches these, even two parts of one file.
func TestLinkedLines(t *testing.T) {
	t.Parallel()
	e := open(t)
	path := e.file("my notes.txt", "l1\nl2\nl3\nl4\nl5\nl6\n")
	e.model(openaitest.Answer{
		Text: "ok", Expect: []string{"lines 2-3 of 6", `l2\nl3`, "lines 5-5 of 6", "l5"}, Absent: []string{`l1\n`, "l4", `l6`},
	})
	e.initialize(`{}`)
	link := func(lines string) map[string]any {
		return map[string]any{"type": "resource_link", "name": "n", "uri": "file://" + strings.ReplaceAll(path, " ", "%20") + lines}
	}
	e.call("session/prompt", map[string]any{"sessionId": e.session(), "prompt": []any{
		map[string]any{"type": "text", "text": "compare"}, link("#L2:3"), link("#L5"),
	}})
}

// The results of searches are shown, up to 4 KB, and the response to a prompt has the tokens. The effort is an option.
func TestResultsAndUsage(t *testing.T) {
	t.Parallel()
	e := open(t)
	path := e.file("a.txt", strings.Repeat("a needle\n", 1000))
	e.model(
		openaitest.Answer{Expect: []string{`"reasoning_effort":"high"`, "running in an editor"}, Absent: []string{"terminal"}, Usage: &openaitest.Usage{Input: 900, Output: 100},
			Calls: []openaitest.Call{call("c1", "read_file", map[string]any{"absolute_path": path}), call("c2", "grep_search", map[string]any{"pattern": "needle", "limit": 2})}},
		openaitest.Answer{Text: "ok", Usage: &openaitest.Usage{Input: 1900, Output: 10}},
	)
	e.initialize(`{}`)
	e.call("authenticate", map[string]any{"methodId": "openai"}) // of another agent
	id := e.session()
	e.call("session/set_config_option", map[string]any{"sessionId": id, "configId": "effort", "value": "high"})
	if err := e.fails("session/set_config_option", map[string]any{"sessionId": id, "configId": "effort", "value": "wild"}); err.Code != codeInvalidParams {
		t.Error(err)
	}
	got := e.call("session/prompt", prompt(id, "go"))
	if u, _ := got["usage"].(map[string]any); u["totalTokens"] != 2910.0 || u["inputTokens"] != 2800.0 || u["outputTokens"] != 110.0 {
		t.Errorf("%v", got)
	}
	shown := map[string]string{}
	for _, u := range e.of("tool_call_update") {
		out, _ := u["rawOutput"].(string)
		if out == "" {
			continue
		}
		text, _ := list(u["content"])[0]["content"].(map[string]any)["text"].(string)
		shown[u["toolCallId"].(string)] = text
		if !strings.Contains(text, out) || len(out) > maxText+100 {
			t.Errorf("%d bytes: %.200s", len(out), text)
		}
	}
	if !strings.HasPrefix(shown["c1"], "1,000 lines") || !strings.Contains(shown["c2"], "a needle") {
		t.Errorf("%.300v", shown)
	}
}

// A server of the editor that fails is shown to the user, with or without notices.
func TestFailedServerIsShown(t *testing.T) {
	for _, can := range []string{`{}`, `{"session":{"notices":{}}}`} {
		e := open(t)
		e.model(openaitest.Answer{Text: "ok"})
		e.initialize(can)
		id := e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{
			map[string]any{"name": "gone", "command": "/no/such/program", "args": []string{}, "env": []any{}},
		}})["sessionId"].(string)
		e.say(id, "go")
		kind, text := "agent_message_chunk", ""
		if can != `{}` {
			kind = "notice"
		}
		for _, u := range e.of(kind) {
			if c, ok := u["content"].(map[string]any); ok {
				text += c["text"].(string)
			} else {
				text += u["title"].(string)
			}
		}
		if strings.Count(text, "MCP server gone") != 1 || !strings.Contains(text, "/no/such/program") {
			t.Errorf("%s: %s", can, text)
		}
	}
}
